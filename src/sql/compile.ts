import { type Column, OF_RESULT, statementTable, type Table } from '../catalog/catalog.ts'
import { existsIn } from '../plan/filters/scope.ts'
import {
  type Condition, type CountPlan, type DeletePlan, type InsertPlan, type Plan, type SelectPlan, type UpdatePlan
} from '../plan/plan.ts'
import { rowKeysOf } from '../plan/row-keys.ts'
import { integerType } from '../types/integer.ts'
import { compileWithMembers } from './compile-members.ts'
import { withoutValues, compileCount, compileSelect, confirmationsOf } from './compile-select.ts'
import { builderFor, type BuiltStatement, type StatementCounts } from './builder.ts'
import { selectedColumns } from './conditions.ts'
import { keyOf } from './statement-key.ts'
import type { CompiledStatement, Engine, Statement } from './statement.ts'
import { compileDelete, compileUpdate } from './compile-write.ts'

/**
 * Whether an update or delete can match at most one row, because its condition holds all columns of a unique key equal
 * to values.
 */
function isSingleRow ({ table, condition }: UpdatePlan | DeletePlan): boolean {
  const equal = equalColumns(condition)
  return equal.length > 0 && rowKeysOf(table).some((key) => key.every((column) => equal.includes(column)))
}

/**
 * Leaves out columns that are compared in a form other than the key's, such as JSON of MariaDB, which may equal a value
 * in several rows.
 */
function equalColumns (condition: Condition): readonly Column[] {
  switch (condition.kind) {
    case 'and':
      return condition.conditions.flatMap(equalColumns)
    case 'compare':
      return condition.operator === '=' && condition.column.type.comparedColumn === undefined ? [condition.column] : []
    case 'in':
      return !condition.negated &&
        condition.parameters.length === 1 &&
        condition.column.type.comparedColumn === undefined
        ? [condition.column]
        : []
    default:
      return []
  }
}

/** A plan with exactly one statement. Inserts are divided among statements (row-batches.ts). */
export type CompiledPlan = Exclude<Plan, InsertPlan> | CountPlan

/** Compiles a plan, or takes the cached statement of the same key, and counts which in `counts`. Never throws. */
export function compileStatement (
  plan: CompiledPlan,
  engine: Engine,
  counts: StatementCounts = { cached: 0, built: 0 }
): Statement {
  if (plan.verb === 'select' && plan.members !== undefined) return compileWithMembers(plan, engine, counts)
  const { columnKey, statementCache } = builderFor(engine, plan.table)
  const { key, parameters } = keyOf(plan, engine, columnKey)
  const cached = statementCache.get(key)
  if (cached !== undefined) {
    counts.cached++
    return withParameters(cached, parameters)
  }
  counts.built++
  const compiled = describe(plan, engine, buildStatement(plan, engine))
  statementCache.set(key, compiled)
  return withParameters(compiled, parameters)
}

function withParameters (
  { verb, table, sql, pieces, columns, assigned, confirmations, isSingle, isRelated }: CompiledStatement,
  parameters: Statement['parameters']
): Statement {
  return { verb, table, sql, pieces, columns, assigned, confirmations, isSingle, isRelated, parameters }
}

/** The text and the parameters of a plan as Kysely builds them. */
export function buildStatement (plan: CompiledPlan, engine: Engine): BuiltStatement {
  switch (plan.verb) {
    case 'select': return compileSelect(plan, engine)
    case 'count': return compileCount(plan, engine)
    case 'update': return compileUpdate(plan, engine)
    case 'delete': return compileDelete(plan, engine)
  }
}

const NONE: readonly Column[] = []
/** The column of a count, with the type that the servers send. */
const COUNT: readonly Column[] = [
  { ...OF_RESULT, name: 'count', type: integerType(64, false), declaration: 'bigint', nullable: false }
]

const STEP = 'select @@auto_increment_increment as v0'
const LAST_ID = 'select last_insert_id() as v0'
const CLOCK = "select timestampdiff(microsecond, '1970-01-01', current_timestamp(6)) as v0"

/** The number of the row that the last upsert of a session of MySQL or MariaDB has found (compile-insert.ts). */
export const compileLastId = (table: Table): Statement => compileNumber(table, LAST_ID)

/** Selects the distance between AUTO_INCREMENT numbers in a session of MySQL or MariaDB. */
export const compileStep = (table: Table): Statement => compileNumber(table, STEP)

/** Selects the time of a server, in millionths of a second since 1970. */
export const compileClock = (table: Table): Statement => compileNumber(table, CLOCK)

function compileNumber (table: Table, sql: string): Statement {
  return {
    verb: 'select',
    table: statementTable(table),
    sql,
    pieces: [sql],
    parameters: [],
    columns: COUNT,
    assigned: NONE,
    confirmations: []
  }
}

/** Without groups the list itself, by which layouts of rows are cached. */
const statementColumns = (plan: SelectPlan): readonly Column[] =>
  plan.groups === undefined ? selectedColumns(plan) : selectedColumns(plan).map(withoutValues)

/** Describes a statement for a dialect. */
function describe (plan: CompiledPlan, engine: Engine, { sql, pieces }: BuiltStatement): CompiledStatement {
  const { verb } = plan
  const table = statementTable(plan.table)
  const related = existsIn(plan.condition).map((exists) => exists.table)
  const columns = verb === 'select' ? statementColumns(plan) : verb === 'count' ? COUNT : NONE
  const assigned = verb === 'update' ? plan.assignments.map(({ column }) => column) : NONE
  // needed only for tables without transactions
  const isChange = verb === 'update' || verb === 'delete'
  const isSingle = isChange && !table.transactional && isSingleRow(plan)
  return {
    verb: verb === 'count' ? 'select' : verb,
    table,
    sql,
    pieces,
    columns,
    assigned,
    confirmations: confirmationsOf(engine, [table, ...related]),
    isSingle,
    isRelated: isChange && related.length > 0
  }
}
