/** Reads the members of rows that take statements of their own, in the transaction of these rows. */
import type { LinkCells } from '../plan/cells.ts'
import type { AnswerSink } from '../response/answer-sink.ts'
import type { Links } from '../response/links.ts'
import { MemberRows } from '../response/member-rows.ts'
import type { RowWriter } from '../response/row-writer.ts'
import type { Statement } from '../sql/statement.ts'
import { compileLinked, type LinkValues } from '../sql/linked-rows.ts'
import type { Runner } from './runner.ts'

/** Different values of `on` in one step: MariaDB reads an IN of a thousand values as a join, and MySQL leaves the index. */
const STEP = 250

interface Reading {
  readonly runner: Runner
  readonly answer: AnswerSink
  readonly rows: Map<LinkCells, MemberRows>
}

/** Reads the members and puts them into the rows of the answer. Returns how many rows were read. @throws what the session throws; why the answer takes no more rows */
export async function readMembers (runner: Runner, answer: AnswerSink): Promise<number> {
  const { writer } = answer
  if (writer === undefined || writer.links.size === 0) return 0
  const reading: Reading = { runner, answer, rows: new Map() }
  try {
    await readLinks(reading, writer)
    answer.insertMembers(reading.rows)
    if (answer.refusal !== undefined) throw answer.refusal
    return Array.from(reading.rows.values()).reduce((sum, { rows }) => sum + rows, 0)
  } finally {
    for (const rows of reading.rows.values()) rows.free()
  }
}

async function readLinks (reading: Reading, { links }: RowWriter): Promise<void> {
  for (const [link, values] of links) {
    const rows = new MemberRows(link, reading.answer, reading.runner.engine === 'sqlite')
    reading.rows.set(link, rows)
    for (let from = 0; from < values.values.length; from += STEP) await readStep(reading, { link, rows }, toLinked(values, from))
    await readLinks(reading, rows.writer)
  }
}

const toLinked = ({ values }: Links, from: number): LinkValues[] => values.slice(from, from + STEP).map((each, index) => ({ place: from + index, values: each }))

async function readStep (reading: Reading, { link: { member }, rows }: { readonly link: LinkCells, readonly rows: MemberRows }, linked: readonly LinkValues[]): Promise<void> {
  const { engine, database } = reading.runner
  for (const statement of compileLinked(member, linked, engine, database.statements)) {
    rows.expect()
    await run(reading, statement, rows)
  }
}

async function run ({ runner, answer }: Reading, statement: Statement, rows: MemberRows): Promise<void> {
  await runner.read(statement, rows)
  if (answer.refusal !== undefined) throw answer.refusal
}
