/**
 * A condition on a column that has become another type since the catalog was read may find other rows than it says: MariaDB finds the text `abc`
 * equal to the number 0, and a delete with it would delete that row. A result shows what its own columns are (definitions.ts); columns that
 * a statement depends on and does not show are asked for before it, once a second at most.
 */
import type { Column } from '../../../catalog/catalog.ts'
import { getOrCreate } from '../../../get-or-create.ts'
import type { Condition, Plan, SelectPlan } from '../../../plan/plan.ts'
import type { Query } from '../../../sql/aliases.ts'
import { compileDefinitions } from '../../../sql/select.ts'
import { createDefinitions, type Definitions, type Differences } from '../connection/definitions.ts'

/** How long a column counts as what it was when it was asked for, in milliseconds. */
const TRUST = 1000

/** A statement that shows the definitions of columns, and no rows. */
export interface Confirmation {
  readonly columns: readonly Column[]
  readonly query: Query
  readonly definitions: Definitions
  /** For the errors that it may meet. */
  readonly plan: SelectPlan
}

/** What is known of the results of one statement, and of what it depends on. */
export interface Expectations {
  /** Undefined for a statement that has no rows. */
  readonly definitions: Definitions | undefined
  /** What is to be asked before it; undefined where it shows all that it depends on. */
  readonly confirmation: Confirmation | undefined
}

/** By the pieces of a statement, which are one object for as long as it is kept. */
export type KnownStatements = WeakMap<readonly string[], Expectations>

export function expectationsOf (known: KnownStatements, { pieces }: Query, plan: Plan, differences: Differences): Expectations {
  return getOrCreate(known, pieces, () => ({ definitions: definitionsOf(plan, differences), confirmation: confirmationOf(plan, differences) }))
}

function definitionsOf (plan: Plan, differences: Differences): Definitions | undefined {
  if (plan.verb !== 'select') return undefined
  const { table, columns } = plan
  return createDefinitions({ table, columns, differences, expected: ({ type }) => type.selectedAs ?? type.sentAs })
}

function confirmationOf (plan: Plan, differences: Differences): Confirmation | undefined {
  const columns = dependencies(plan)
  if (columns.length === 0) return undefined
  const { table } = plan
  const definitions = createDefinitions({ table, columns, differences, expected: ({ type }) => type.sentAs })
  const shown: SelectPlan = { verb: 'select', table, columns, condition: { kind: 'constant', value: true }, order: [], limit: 0 }
  return { columns, definitions, query: compileDefinitions(table, columns), plan: shown }
}

/** Columns that the statement compares, or selects by a cast, and does not show as they are. */
function dependencies (plan: Plan): Column[] {
  if (plan.verb === 'insert') return []
  const columns = new Set(comparedColumns(plan.condition))
  if (plan.verb === 'select') {
    for (const column of plan.columns) {
      if (column.type.selected === undefined) columns.delete(column)
      else columns.add(column)
    }
  }
  return [...columns].filter(({ type }) => type.sentAs !== undefined)
}

/** IS NULL is the same for every type. */
function comparedColumns (condition: Condition): Column[] {
  switch (condition.kind) {
    case 'and':
    case 'or': return condition.conditions.flatMap(comparedColumns)
    case 'not': return comparedColumns(condition.condition)
    case 'null':
    case 'constant': return []
    default: return [condition.column]
  }
}

/** When a column was last found to be what its catalog says, on the servers of one pool. */
export type Confirmed = WeakMap<Column, number>

export function isConfirmed (confirmed: Confirmed, { columns }: Confirmation): boolean {
  const oldest = performance.now() - TRUST
  return columns.every((column) => (confirmed.get(column) ?? -Infinity) > oldest)
}

/** `since`: when it was asked. */
export function confirm (confirmed: Confirmed, { columns }: Confirmation, since: number): void {
  for (const column of columns) confirmed.set(column, since)
}
