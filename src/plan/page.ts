/** Plans `after`, `offset` and `total`: the rows of a page, in an order in which no two rows are equal. */
import type { SelectBody } from '../../schemas/body.ts'
import type { Column, Table } from '../catalog/catalog.ts'
import { at, invalidBody, invalidOrderBy, unsupported } from '../errors.ts'
import { keepsOrder } from '../types/collations.ts'
import type { PlanLimits } from './limits.ts'
import type { Order, Page, SelectPlan } from './plan.ts'
import { planPosition } from './position.ts'
import { findColumns } from './row-keys.ts'
import { planRange } from './row-range.ts'

/** Adds the page and the total to a plan. @throws INVALID_BODY, INVALID_VALUE, INVALID_ORDER_BY, NOT_SUPPORTED */
export function planPage ({ after, offset, total, expect }: SelectBody, plan: SelectPlan, limits: PlanLimits): SelectPlan {
  return {
    ...plan,
    ...expect !== undefined && { expect: planRange(expect) },
    ...after !== undefined && planAfter(after, plan, limits),
    ...offset !== undefined && planOffset(offset, plan, limits),
    // the count and the page must come from one snapshot
    ...total !== undefined && { total: { limit: total === true ? undefined : total as number }, inTransaction: true as const }
  }
}

type Paged = Pick<SelectPlan, 'order'> & { readonly page: Page }

function planAfter (after: Readonly<Record<string, unknown>> | null, { table, columns, order: asked }: SelectPlan, limits: PlanLimits): Paged {
  const ofMember = asked.find(({ of }) => of !== undefined)
  if (ofMember !== undefined) throw at(['orderBy'], invalidOrderBy(`contains a column of the member "${ofMember.of?.name}", which is not possible with "after": use "offset"`))
  requirePlaced(asked)
  const key = findKey(table)
  if (key === undefined) throw unsupported('/after', `table "${table.name}" has no primary key and no unique key of NOT NULL columns that the token sees: use "offset", or add such a key`)
  const order = completeOrder(asked, key)
  requirePlaced(order)
  // servers take seconds for an order of hundreds of columns
  if (order.length > limits.conditions) throw at(['orderBy'], invalidBody(`"orderBy" can have at most ${limits.conditions} columns together with "after"`))
  const hidden = order.map(({ column }) => column).filter((column) => !columns.includes(column))
  return { order, page: { by: 'position', after: planPosition(after, order, table), hidden } }
}

/** @throws INVALID_ORDER_BY for a column whose values have no place that filters can name */
function requirePlaced (order: readonly Order[]): void {
  const unplaced = order.map(({ column }) => column).find((column) => !isPlaced(column))
  if (unplaced === undefined) return
  const { name, declaration, collation } = unplaced
  const why = isKept(unplaced) ? `the type ${declaration}` : `the collation ${collation}, because the database sorts its texts in another way than it compares them`
  throw at(['orderBy'], invalidOrderBy(`contains "${name}"; "after" is not possible with ${why}`))
}

/** Whether filters can name a place in the order of the column. */
export const isPlaced = (column: Column): boolean => !column.type.structured && column.type.unplaced !== true && isKept(column)

/** ENUMs are sorted by the index of their members. */
const isKept = ({ type, collation }: Column): boolean => collation === undefined || type.ranking !== undefined || keepsOrder(collation)

/** Plans `offset`. The rows of groups have the columns of `groupBy` as their key. */
function planOffset (offset: number, { table, order: asked, groups }: SelectPlan, limits: PlanLimits): Paged {
  if (offset > limits.offset) throw at(['offset'], invalidBody(`"offset" must be from 0 to ${limits.offset}; use "after" for pages behind that`))
  return { order: completeOrder(asked, groups?.by ?? findKey(table) ?? []), page: { by: 'offset', offset } }
}

/** Appends the missing columns of the key in the direction of the last term, so that an index can be read in one direction. */
export function completeOrder (order: readonly Order[], key: readonly Column[]): readonly Order[] {
  const direction = order.at(-1)?.direction ?? 'asc'
  const columns = new Set(order.filter(({ of }) => of === undefined).map(({ column }) => column))
  return [...order, ...key.filter((column) => !columns.has(column)).map((column) => ({ column, direction }))]
}

/**
 * The columns that identify a row: the primary key, or else the unique key with the fewest columns, all NOT NULL; the first one if there are several.
 * A key with a column that the table does not show is not used.
 */
export function findKey (table: Table): readonly Column[] | undefined {
  const primary = findSortable(table, table.primaryKey)
  if (primary !== undefined) return primary
  const keys = table.indexes.flatMap(({ unique, parts }) => {
    const columns = unique ? findSortable(table, parts.map(({ column }) => column)) : undefined
    return columns?.every(({ nullable }) => !nullable) === true ? [columns] : []
  })
  return keys.reduce<readonly Column[] | undefined>((best, key) => best !== undefined && best.length <= key.length ? best : key, undefined)
}

/** The key by which pages can be read with `after`. */
export function findPageKey (table: Table): readonly Column[] | undefined {
  const key = findKey(table)
  return key?.every(isPlaced) === true ? key : undefined
}

function findSortable ({ columns }: Table, names: ReadonlyArray<string | null>): readonly Column[] | undefined {
  const key = findColumns(columns, names)
  return key?.every(({ type }) => type.sortable) === true ? key : undefined
}
