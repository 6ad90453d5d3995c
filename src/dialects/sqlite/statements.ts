/** The caller is responsible for time limits and COMMIT. */
import { mayFire } from '../../catalog/catalog.ts'
import { findAssigned, type Statement, bindCells } from '../../sql/statement.ts'
import type { StatementResult, RowSink } from '../dialect.ts'
import type { Value } from '../../types/column-type.ts'
import { systemClock } from '../../types/moment.ts'
import type { Session } from './session.ts'

/**
 * Runs a select until its last row or until `sink` is full. `limit`: the maximum size of its texts and blobs, in bytes;
 * `paused`: what the next row must wait for. @throws SqliteError; what the sink throws
 */
export async function runSelect (
  session: Session,
  { sql, parameters, columns, table: { version } }: Statement,
  sink: RowSink,
  { limit = sink.maxBytes, paused = () => undefined }: {
    readonly limit?: number
    readonly paused?: () => Promise<void> | undefined
  } = {}
): Promise<StatementResult> {
  sink.begin(columns)
  const isWhole = await session.read(
    { sql, parameters: bindCells(parameters, systemClock), limit, version },
    (row) => {
      const waiting = sink.row(row) ?? paused()
      return waiting === undefined ? !sink.full : waiting.then(paused).then(() => !sink.full)
    }
  )
  if (!isWhole && !sink.full) sink.overflow()
  return { rows: sink.count, changed: 0 }
}

/** Runs an insert, update or delete. `begin`: whether it begins a transaction. @throws SqliteError */
export async function runWrite (session: Session, unbound: Statement, begin: boolean): Promise<StatementResult> {
  const statement = { ...unbound, parameters: bindCells(unbound.parameters, systemClock) }
  const { sql, parameters, verb, rows, assigned, isIdle = false } = statement
  const { changes, duplicates, insertId, untouched, existingId } = await session.ask({
    kind: 'run',
    sql,
    parameters,
    version: statement.table.version,
    begin,
    rows: rows === undefined ? undefined : { count: rows, cells: assigned.length, isIdle }
  })
  // a row that a trigger has skipped has no number, and SQLite would report the number of an earlier insert
  const isCertain =
    verb === 'insert' && insertId !== undefined && changes !== 0 && !(await hasOtherKey(session, statement, insertId))
  return {
    rows: 0,
    changed: changes as number,
    duplicates,
    insertId: isCertain ? insertId : undefined,
    untouched,
    existingId
  }
}

/** An AFTER INSERT trigger has changed the key. */
async function hasOtherKey (session: Session, statement: Statement, insertId: string): Promise<boolean> {
  const { table, table: { identity } } = statement
  if (identity === undefined || !mayFire(table, 'insert', 'after')) return false
  const key = findAssigned(statement, identity) as Value | null | undefined ?? BigInt(insertId)
  const sql = `select 1 from ${quoted(table.name)} where ${quoted(identity.name)} = ?`
  let exists = false
  await session.read({ sql, parameters: [key], limit: Infinity }, () => {
    exists = true
    return false
  })
  return !exists
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
