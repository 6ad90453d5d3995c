/**
 * A column that a grant does not see is one that does not exist, wherever a body may name one: in each place of each
 * body of test/plan/bodies, by what the planner makes of it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BODIES } from '../../schemas/body.ts'
import { VERBS } from '../../schemas/grants.ts'
import { createGrant, type Grant } from '../../src/access/grant.ts'
import { bodyFiles, DEFAULTS, everything, FOLDER, outcomeOf } from '../support/body-files.ts'
import { describedCatalog, SERVERS, type ServerName } from '../support/described-tables.ts'
import { bodiesOf, joined, ShownErrors } from '../support/golden-bodies.ts'

/** Names of one length, and like no other. */
const [HIDDEN, ABSENT] = ['zzqh', 'zzqa']
const limits = { ...DEFAULTS }
const errors = new ShownErrors()

/** The tables of a file, each with a hidden column of each type, and the number of the type of each other column. */
function withHidden (text: string): { tables: string, types: Map<string, number>, hidden: string[] } {
  const declarations = Array.from(text.matchAll(/^ {2}(\w+) (\w+(?:\([^)]*\))?)/gm)).filter(
    ([, name]) => !/^(?:index|unique|primary|foreign|fulltext|trigger|engine)$/.test(name as string)
  )
  const list = [...new Set(declarations.map(([, , type]) => type as string))]
  const lines = list.map((type, index) => `  ${HIDDEN}${index} ${type}\n`).join('')
  return {
    tables: text.replaceAll(/^(?:table|view) .*\n/gm, (line) => line + lines),
    types: new Map(declarations.map(([, name, type]) => [name as string, list.indexOf(type as string)])),
    hidden: list.map((_type, index) => `${HIDDEN}${index}`)
  }
}

/** In `key`, a hidden column is refused as what is no key. */
const WITHOUT_NAMES = ['key', 'verb', 'limit', 'offset', 'total', 'expect', 'outcomes', 'dryRun']

/** The body with another name in place of that of a column: in one place, and in all of them. */
function * namings (body: string, name: string, type: number): Generator<(other: string) => string> {
  const places = Array.from(body.matchAll(new RegExp(`(?<=[" ])${name}(?=[" ,])`, 'g')), ({ index }) => index)
  const naming = (chosen: readonly number[]) => (other: string): string =>
    chosen.reduceRight((text, index) => text.slice(0, index) + other + type + text.slice(index + name.length), body)
  for (const place of places) yield naming([place])
  if (places.length > 1) yield naming(places)
}

/** The fields in which two bodies differ. */
function fieldsIn (one: string, other: string): string[] {
  const [first, second] = [JSON.parse(one), JSON.parse(other)]
  return Object.keys(first).filter((field) => JSON.stringify(first[field]) !== JSON.stringify(second[field]))
}

t.test('a hidden column is like one that does not exist, in each place of each body', async (t) => {
  const told = new Set<string>()
  for (const file of bodyFiles()) {
    const [text = '', ...sections] = readFileSync(join(FOLDER, file), 'utf8').split(/^(?=# )/m)
    const { tables, types, hidden } = withHidden(text)
    const catalogs = SERVERS.map((server: ServerName) => describedCatalog(tables, server))
    /** What grants see, without rules and with one on a hidden column of numbers. */
    const grants = [{}, { rows: { [hidden[0] as string]: 1 } }].map((rules) => createGrant('narrow', {
      permissions: [...VERBS],
      databases: {
        shop: Object.fromEntries(Array.from(catalogs[0]?.tables ?? [], ([name, { columnList }]) => {
          const seen = columnList.map((column) => column.name).filter((column) => !hidden.includes(column))
          return [name, { columns: { select: seen, insert: seen, update: seen }, ...rules }]
        }))
      }
    }))
    const lines = sections.filter((section) => !/^(?:grant|limits) /m.test(section)).flatMap(bodiesOf)
    for (const line of lines) {
      const [, verb = '', table = '', body = ''] =
        /^(select|insert|update|delete) (\S+) (\{.*)$/s.exec(joined(line)) ?? []
      for (const [name, type] of types) {
        for (const naming of namings(body, name, type)) {
          const fields = fieldsIn(body, naming(HIDDEN))
          for (const catalog of catalogs) {
            const plan = (other: string, grant: Grant): string =>
              outcomeOf(errors, catalog, verb, table, naming(other), { grant, limits }).replaceAll(ABSENT, HIDDEN)
            const whole = plan(HIDDEN, everything)
            for (const grant of grants) {
              const [hiddenOne, absentOne] = [plan(HIDDEN, grant), plan(ABSENT, grant)]
              if (hiddenOne !== absentOne) t.equal(hiddenOne, absentOne, `${verb} ${table} ${naming(HIDDEN)}`)
              if (hiddenOne !== whole) for (const field of fields) told.add(`${verb}.${field}`)
            }
          }
        }
      }
    }
  }
  const fields = Object.entries(BODIES).flatMap(([verb, { properties }]) =>
    Object.keys(properties).filter((field) => !WITHOUT_NAMES.includes(field)).map((field) => `${verb}.${field}`))
  t.same(fields.filter((field) => !told.has(field)), [], 'a new field needs a body that names a column')
})
