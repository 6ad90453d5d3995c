/**
 * Compiles statements that insert rows or update rows that exist. The text is built for one row: MySQL's dialect repeats the row in it
 * (src/dialects/mysql/literal.ts), SQLite's runs it for each row. So it depends neither on the number of rows nor on which of them omit
 * a column.
 */
import { statementTable, type Column } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'
import { knownDefault } from '../plan/known-default.ts'
import { DEFAULT, type Cell, type Value } from '../types/column-type.ts'
import { builderFor, type TableBuilder } from './kysely-builder.ts'
import type { RowBatch } from './row-batches.ts'
import { addParameters, assignmentsKey, conditionKey } from './shape.ts'
import type { StatementCounts } from './statement-cache.ts'
import type { CompiledStatement, Engine, Statement } from './statement.ts'
import { buildInsert } from './upsert.ts'
import { skipsUnchanged } from './write.ts'

const NONE: readonly Column[] = []

/** Compiles a batch, or takes the cached statement of the same shape. Never throws. */
export function compileInsert (batch: RowBatch, engine: Engine, counts: StatementCounts): Statement {
  const { mark, statementCache } = builderFor(engine, batch.table)
  const parameters = cellsOf(batch, engine)
  const key = keyOf(batch, engine, { mark, parameters })
  // SQLite's statement compares the new values with the stored ones (upsert.ts)
  const { assignments, written } = batch.conflict ?? { assignments: [], written: NONE }
  if (engine === 'sqlite' && skipsUnchanged(batch.table, assignments, written)) for (const assignment of assignments) addParameters(assignment, parameters)
  const kept = statementCache.get(key)
  counts[kept === undefined ? 'built' : 'kept']++
  const compiled = kept ?? describe(batch, engine)
  if (kept === undefined) statementCache.set(key, compiled)
  const { verb, table, sql, pieces, columns, assigned, confirmation, isUpsert, probe } = compiled
  return { verb, table, sql, pieces, columns, assigned, confirmation, isUpsert, probe, parameters, rows: batch.isList ? batch.rows.length : undefined }
}

function describe (batch: RowBatch, engine: Engine): CompiledStatement {
  const { table, columns, conflict } = batch
  return { verb: 'insert', table: statementTable(table), ...buildInsert(batch, engine), columns: NONE, assigned: columns, confirmation: undefined, isUpsert: conflict !== undefined }
}

/** The values of all rows. */
function cellsOf ({ columns, rows }: RowBatch, engine: Engine): Cell[] {
  // created with its length, because a growing array is copied repeatedly
  const cells = new Array<Cell>(rows.length * columns.length)
  let next = 0
  const known = new Map<readonly Column[], readonly number[]>()
  for (const { columns: given, parameters } of rows) {
    if (given === columns) {
      for (const parameter of parameters) cells[next++] = parameter
      continue
    }
    const places = getOrCreate(known, given, () => columns.map((column) => given.indexOf(column)))
    for (let index = 0; index < places.length; index++) {
      const place = places[index] as number
      cells[next++] = place < 0 ? fallbackOf(columns[index] as Column, engine) : parameters[place] as Cell
    }
  }
  return cells
}

/** In sessions with NO_AUTO_VALUE_ON_ZERO, DEFAULT would store 0 in an AUTO_INCREMENT column. SQLite has no DEFAULT for a single value. */
function fallbackOf (column: Column, engine: Engine): Cell {
  if (column.autoIncrement) return null
  return engine === 'sqlite' ? knownDefault(column) as Value | null : DEFAULT
}

/** Adds the parameters of the changes of existing rows, and of the rules that these must satisfy, with which MySQL's statement begins. */
function keyOf ({ columns, conflict }: RowBatch, engine: Engine, { mark, parameters }: { readonly mark: TableBuilder['mark'], readonly parameters: Cell[] }): string {
  const marks = (list: readonly Column[]): string => {
    let all = ''
    for (const column of list) all += mark(column)
    return all
  }
  const key = `i${marks(columns)}`
  if (conflict === undefined) return key
  // SQLite's statement has no condition if it changes nothing
  const within = engine === 'mysql' || conflict.written.length + conflict.assignments.length > 0 ? conflict.within : undefined
  const guard = (): string => within === undefined ? '' : `?${conditionKey(within, { mark, parameters })}`
  const set = (): string => `=${marks(conflict.written)}:${assignmentsKey(conflict.assignments, { mark, parameters })}`
  const [first, second] = engine === 'mysql' ? [guard(), set()] : [set(), guard()]
  return `${key}${first}${second}^${marks(conflict.key)}${conflict.identity === undefined ? '' : '#'}`
}
