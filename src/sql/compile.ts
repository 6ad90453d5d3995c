import { type Column, OF_RESULT, statementTable, type Table } from '../catalog/catalog.ts'
import type { Engine } from '../catalog/traits.ts'
import { cellsOf, haveView } from '../plan/cells.ts'
import { matchesIn } from '../plan/filters/match.ts'
import { existsIn, groupTables } from '../plan/filters/scope.ts'
import {
  type Condition, type CountPlan, type DeletePlan, type InsertPlan, isRelated, type Plan, type UpdatePlan
} from '../plan/plan.ts'
import { rowKeysOf } from '../plan/row-keys.ts'
import { integerType } from '../types/integer.ts'
import { compileRows, describeCells } from './compile-members.ts'
import { compileCount, compileSelect, confirmationsOf } from './compile-select.ts'
import type { BuiltStatement } from './builder.ts'
import { selectedColumns } from './conditions.ts'
import { fill, findTemplate, keyOf, type StatementCounts } from './statement-cache.ts'
import type { Statement, Template } from './statement.ts'
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
  const { key, values } = keyOf(plan)
  const template = findTemplate(plan, { engine, counts, key }, (withSlots) => describe(withSlots, engine))
  const statement = { ...template, parameters: fill(template, values) }
  return template.isSearch === true ? { ...statement, textPath: matchesIn(plan.condition)[0]?.path } : statement
}

/** The text and the parameters of a plan as Kysely builds them. */
export function buildStatement (plan: CompiledPlan, engine: Engine): BuiltStatement {
  switch (plan.verb) {
    case 'select': return plan.members === undefined ? compileSelect(plan, engine) : compileRows(plan, engine)
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

/** Compiles a plan with slots, and describes the statement for a dialect. */
function describe (plan: CompiledPlan, engine: Engine): Template {
  const { verb, condition } = plan
  const built = buildStatement(plan, engine)
  if (verb === 'select' && plan.members !== undefined) {
    const conditions = [condition, ...plan.page?.by === 'position' ? [plan.page.after] : []]
    const { table, order } = plan
    return describeCells({ table, cells: cellsOf(plan), conditions, order, engine }, built)
  }
  const table = statementTable(plan.table)
  const groups = verb === 'select' ? plan.groups : undefined
  const grouped = groups === undefined ? [] : groupTables(groups)
  const related = [...existsIn(condition).map((exists) => exists.table), ...grouped]
  const columns = verb === 'select' ? selectedColumns(plan) : verb === 'count' ? COUNT : NONE
  // needed only for tables without transactions
  const isChange = verb === 'update' || verb === 'delete'
  return {
    verb: verb === 'count' ? 'select' : verb,
    table,
    ...built,
    columns,
    ...columns.some(isRelated) && {
      sources: columns.map((each) => isRelated(each) ? statementTable(each.member.table) : table)
    },
    assigned: verb === 'update' ? plan.assignments.map(({ column }) => column) : NONE,
    confirmations: confirmationsOf(engine, [table, ...related]),
    isSingle: isChange && !table.transactional && isSingleRow(plan),
    isSearch: matchesIn(plan.condition).length > 0,
    isRelated: isChange && related.length > 0,
    readsView: haveView([table, ...related])
  }
}
