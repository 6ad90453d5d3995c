/** Reads the members that need statements of their own, in the transaction of their rows. */
import type { LinkCells } from '../plan/cells.ts'
import type { ManyMember } from '../plan/plan.ts'
import type { AnswerSink } from '../response/answer-sink.ts'
import type { Links } from '../response/links.ts'
import { MemberRows } from '../response/member-rows.ts'
import type { RowWriter } from '../response/row-writer.ts'
import type { Statement } from '../sql/statement.ts'
import { RELATED_TEXT } from '../types/column-type.ts'
import { compileFirst, compileLinked, type LinkValues } from '../sql/linked-rows.ts'
import type { Runner } from './runner.ts'

/** The number of different values of `on` in one step: MariaDB reads an IN of a thousand values as a join, and MySQL does not use the index. */
const STEP = 250

interface Reading {
  readonly runner: Runner
  readonly answer: AnswerSink
  readonly rows: Map<LinkCells, MemberRows>
}

/** Reads the members and puts them into the rows of the answer. Returns the number of rows that were read. @throws what the session throws; the refusal of the answer */
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
    for (let from = 0; from < values.values.length; from += STEP) await readStep(reading, { link, rows, values }, toLinked(values, from))
    await readLinks(reading, rows.writer)
  }
}

const toLinked = ({ values }: Links, from: number): LinkValues[] => values.slice(from, from + STEP).map((each, index) => ({ place: from + index, values: each }))

interface Step { readonly link: LinkCells, readonly rows: MemberRows, readonly values: Links }

async function readStep (reading: Reading, step: Step, linked: readonly LinkValues[]): Promise<void> {
  const { link: { member }, rows } = step
  const { engine, database } = reading.runner
  // MariaDB takes an IN of one value for an equality, but sorts all rows of it by the value nevertheless
  const left = engine === 'mysql' && member.kind === 'many' && linked.length > 1 && isListed(member) ? await readFirst(reading, step, member, linked) : linked
  if (left.length === 0) return
  for (const statement of compileLinked(member, left, engine, database.statementCounts)) {
    rows.expect()
    await run(reading, statement, rows)
  }
}

/** Whether the service can compare the values itself, and the servers read a list of them by the index. */
const isListed = ({ on }: ManyMember): boolean => on.length === 1 && on[0]?.other.type.relatedAs !== RELATED_TEXT

/**
 * Reads the rows related to all values at once, because most values have few. Stops after four rows for each value plus the limit of one, and returns the
 * values that need a part of their own, so that a value with a million related rows costs no more.
 */
async function readFirst (reading: Reading, { rows, values }: Step, member: ManyMember, linked: readonly LinkValues[]): Promise<readonly LinkValues[]> {
  const most = 4 * linked.length + member.limit + 1
  rows.expect(values)
  await run(reading, compileFirst(member, linked, most, reading.runner.database.statementCounts), rows)
  return rows.count < most ? [] : linked.filter(({ place }) => !rows.hasAll(place))
}

async function run ({ runner, answer }: Reading, statement: Statement, rows: MemberRows): Promise<void> {
  await runner.read(statement, rows)
  if (answer.refusal !== undefined) throw answer.refusal
}
