/**
 * Plans the rows after a position. The condition is an OR that compares column by column: `a > ? or (a = ? and id > ?)`. With it, both servers read
 * an index from the position on; with `(a, id) > (?, ?)` they would read it from its beginning. NULL is the lowest
 * value, which it is for every engine by default (src/sql/order.ts).
 */
import type { Column, Table } from '../catalog/catalog.ts'
import { at, invalidBody, invalidValue } from '../errors.ts'
import type { Positions, Value } from '../types/column-type.ts'
import { readValue } from './columns.ts'
import { combine } from './filters/constants.ts'
import type { Condition, Operator, Order } from './plan.ts'

/** Plans the rows of a table after a position; all rows after null. @throws INVALID_BODY if it has other columns than the order, INVALID_VALUE */
export function planPosition (after: Readonly<Record<string, unknown>> | null, order: readonly Order[], { engine }: Pick<Table, 'engine'>): Condition {
  if (after === null) return { kind: 'constant', value: true }
  const names = order.map(({ column }) => column.name)
  const other = Object.keys(after).find((name) => !names.includes(name)) ?? names.find((name) => !Object.hasOwn(after, name))
  if (other !== undefined) throw at(['after', other], invalidBody(`"after" must have the columns of the order and no others: ${names.join(', ')}`))
  const behind = order.reduceRight<Condition>((rest, { column, direction }) => {
    const place = readPlace(column, after[column.name])
    return combine('or', [isBeyond(column, place, direction), combine('and', [isAt(column, place), rest])])
  }, { kind: 'constant', value: false })
  return engine === 'sqlite' ? combine('and', [boundOf(behind), behind]) : behind
}

/**
 * Returns `a >= ?`, which must accompany the condition on SQLite: it does not know that both values of `a` are the same, and would read the index from
 * its beginning. NULLs, which come last in descending order, have no such bound.
 */
function boundOf (behind: Condition): Condition {
  const [first] = behind.kind === 'or' ? behind.conditions : []
  if (first?.kind !== 'compare') return { kind: 'constant', value: true }
  return { ...first, operator: first.operator === '>' ? '>=' : '<=' }
}

/** Converts a value of a position; null is allowed in nullable columns. @throws INVALID_VALUE */
function readPlace (column: Column, given: unknown): Value | null {
  const path = ['after', column.name]
  if (given !== null) return readValue(column, given, path, positionsOf(column)?.read)
  if (!column.nullable) throw at(path, invalidValue(column.name, 'is NOT NULL, so that no row has this position'))
  return null
}

/** How positions hold the values of the column, if it can have others than those of its type. A rowid is always an integer. */
const positionsOf = ({ type, autoIncrement }: Column): Positions | undefined => autoIncrement ? undefined : type.positions

/** Compares with a value of a position. */
function compare (column: Column, operator: Operator, parameter: Value): Condition {
  return { kind: 'compare', column, operator, parameter, ...positionsOf(column) !== undefined && { isPlace: true as const } }
}

/** Whether the column has the value of the position. Ties follow the collation of the column, as the order does. */
function isAt (column: Column, value: Value | null): Condition {
  return value === null ? { kind: 'null', column, negated: false } : compare(column, '=', value)
}

/** Whether the column has a value that comes later in this direction. */
function isBeyond (column: Column, value: Value | null, direction: Order['direction']): Condition {
  if (value === null) return direction === 'asc' ? { kind: 'null', column, negated: true } : { kind: 'constant', value: false }
  const greater = compareTo(column, value, direction)
  return direction === 'desc' && column.nullable ? combine('or', [greater, { kind: 'null', column, negated: false }]) : greater
}

function compareTo (column: Column, value: Value, direction: Order['direction']): Condition {
  const { ranking } = column.type
  const operator = direction === 'asc' ? '>' : '<'
  if (ranking === undefined) return compare(column, operator, value)
  if (ranking.values === undefined) return { kind: 'compare', column, operator, parameter: ranking.rank(value) }
  const place = ranking.values.indexOf(value)
  const parameters = direction === 'asc' ? ranking.values.slice(place + 1) : ranking.values.slice(0, place)
  return parameters.length === 0 ? { kind: 'constant', value: false } : { kind: 'in', column, negated: false, parameters }
}
