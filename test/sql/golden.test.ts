/**
 * The statements that leave src/sql are those of the golden files, which
 * `npm test -- --sqlite-only --write test/sql/golden.test.ts` renews.
 */
import t from 'tap'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Engine } from '../../src/catalog/traits.ts'
import { type Cell, isMoment } from '../../src/types/column-type.ts'
import { WRITE } from '../protocol.ts'
import { type Sent, sentBy } from '../support/sent-statements.ts'
import { type Case, cases } from './golden/cases.ts'
import { createTables } from './golden/tables.ts'

const HEAD = `\
-- The statements of src/sql for tables of users, by the requests of test/sql/golden/cases.ts. Placeholders are
-- followed by the values of the statement. The row of an insert or an update of many rows is repeated by the dialect
-- of MySQL, and run for each row by that of SQLite.
-- Renewed by: npm test -- --sqlite-only --write test/sql/golden.test.ts
`

const WIDTH = 120

/** What stands between blanks or up to a comma that are not in quotes. */
const ATOMS = /(?:`[^`]*`|"[^"]*"|'[^']*'|[^\s`"',])+,?|,|\s+/g

/** Breaks a line that is too long where it has blanks or commas; `begin` is that of the lines that follow. */
function wrap (line: string, begin: string): string {
  if (line.length <= WIDTH) return line
  const lines = ['']
  for (const atom of line.match(ATOMS) ?? []) {
    const last = lines.at(-1) as string
    if (last.length + atom.length > WIDTH) lines.push(begin + atom.trimStart())
    else lines.push(`${lines.pop()}${atom}`)
  }
  return lines.map((each) => each.trimEnd()).join('\n')
}

const CLAUSES = 'from|where|group by|having|order by|limit|left join|inner join|straight_join|join|values(?= )|set|' +
  'on conflict|on duplicate key update|union all|do update|for update|lock in'
const PARTS = new RegExp(`\`[^\`]*\`|"[^"]*"|'[^']*'|[()]|(?<!delete|left|inner) (?=(?:${CLAUSES})\\b)`, 'g')

/** With a line for each clause that is not inside of parentheses. */
function breakAtClauses (sql: string): string {
  let depth = 0
  return sql.replace(PARTS, (part) => {
    if (part === '(') depth++
    if (part === ')') depth--
    return part === ' ' && depth === 0 ? '\n' : part
  })
}

function textOf (cell: Cell): string {
  if (typeof cell === 'string') return `'${cell}'`
  if (typeof cell === 'symbol') return 'default'
  if (Buffer.isBuffer(cell)) return `x'${cell.toString('hex')}'`
  return isMoment(cell) ? 'now' : String(cell)
}

function show (sent: Sent): string {
  if (typeof sent === 'string') return `-- ${sent}\n`
  const { sql, parameters, rows } = sent
  const values = parameters.length === 0 ? '' : `${wrap(`-- ${parameters.map(textOf).join(', ')}`, '--   ')}\n`
  const clauses = breakAtClauses(`${sql};`).split('\n').map((clause) => wrap(clause, '  '))
  return `${clauses.join('\n')}\n${values}${rows === undefined || rows === 1 ? '' : `-- ${rows} rows\n`}`
}

async function showCase (engine: Engine, { title, only: _, traits, confirms, ...request }: Case): Promise<string> {
  const sent = await sentBy({ engine, catalog: createTables(engine, traits), ...request })
  const shown = confirms === true ? sent.flatMap((each) => typeof each === 'string' ? [] : each.confirmations) : sent
  const asked = wrap(`-- ${request.table}: ${JSON.stringify(request.body)}`, '--   ')
  return `-- ${title}\n${asked}\n\n${shown.map(show).join('\n')}`
}

for (const engine of ['mysql', 'sqlite'] as const) {
  t.test(`the statements of src/sql are those of the golden file (${engine})`, async (t) => {
    const file = join(import.meta.dirname, `golden/${engine}.sql`)
    const parts = [HEAD]
    for (const [heading, list] of Object.entries(cases)) {
      const shown = list.filter(({ only = engine }) => only === engine)
      if (shown.length > 0) parts.push(`-- ========== ${heading}\n`)
      for (const each of shown) parts.push(await showCase(engine, each))
    }
    const text = parts.join('\n')
    if (process.env[WRITE] !== undefined) writeFileSync(file, text)
    t.equal(text, readFileSync(file, 'utf8'))
  })
}
