/** Plans `include`: the rows of other tables in each row. The grant must see each table, and its rules apply. */
import type { Member as MemberBody } from '../../schemas/body.ts'
import { type Include } from '../../schemas/fields.ts'
import { DEFAULT_LIMIT } from '../../schemas/limits.ts'
import type { Column, Table, TableSource } from '../catalog/catalog.ts'
import { at, invalidBody, invalidOrderBy, type Path } from '../errors.ts'
import { isOne, findMemberIndex } from './relation.ts'
import { getColumn } from './columns.ts'
import { planRelation } from './filters/resolve-filters.ts'
import { createFilterScope, createRowScope, type EqualColumns } from './filters/scope.ts'
import type { PlanLimits } from './write-options.ts'
import { planAggregate } from './aggregates.ts'
import { planOrder } from './order-by.ts'
import { completeOrder, findKey } from './page-after.ts'
import type { ManyMember, Member, Order } from './plan.ts'
import { withinRules } from './rule.ts'

export interface MembersToPlan {
  readonly source: TableSource
  /** The limits, with the counts of the request's filters. */
  readonly limits: PlanLimits
}

/** The state that all members of a request share. */
interface Planning extends MembersToPlan {
  /** Members so far, on all levels. */
  count: number
}

/**
 * Plans the members of a request. @throws INVALID_BODY, COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_ORDER_BY;
 * TABLE_NOT_FOUND
 */
export function planMembers (include: Include, { source, limits }: MembersToPlan): readonly Member[] {
  return planLevel(include, { source, limits, count: 0 }, { table: source.table, path: ['include'], level: 1 })
}

/** Plans the members of the rows that a write returns. @throws as planMembers */
export const planReturnedMembers = (
  { include }: { readonly include?: Include | undefined },
  toPlan: MembersToPlan
): readonly Member[] | undefined =>
  include && planMembers(include, { ...toPlan, source: withoutViews(toPlan.source) })

/** Refuses views, because the rows that they read from cannot be locked. */
const withoutViews = (source: TableSource): TableSource => ({
  table: source.table,
  see (name, path) {
    const other = source.see(name, path)
    if (other.kind === 'view') {
      throw at(path, invalidBody(`"${name}" is a view, which is not allowed beside "returning"`))
    }
    return other
  }
})

/** The table whose rows have the members, and the path of these in the body. */
interface Level { readonly table: Table, readonly path: Path, readonly level: number }

function planLevel (include: Include, planning: Planning, { table, path, level }: Level): readonly Member[] {
  const { levels, members } = planning.limits.include ?? { levels: 0, members: 0 }
  if (levels === 0 || members === 0) {
    throw at(path, invalidBody('"include" is not allowed: the setting limits.include is 0'))
  }
  if (level > levels) throw at(path, invalidBody(`"include" can have at most ${levels} levels`))
  return Object.entries(include).map(([name, member]) => {
    const memberPath = [...path, name]
    if (++planning.count > members) {
      throw at(memberPath, invalidBody(`"include" can have at most ${members} members, on all levels together`))
    }
    if (table.columns.has(name)) {
      throw at(
        memberPath,
        invalidBody(
          `"${name}" is a column of "${table.name}": choose another name for the member, and say its "table"`
        )
      )
    }
    return planMember(name, member, planning, { table, path: memberPath, level })
  })
}

function planMember (name: string, body: MemberBody, planning: Planning, { table, path, level }: Level): Member {
  const { source, limits } = planning
  const rowScope = createRowScope({ source, table, limits, level })
  const { other, on, equalColumns, condition } = planRelation(name, body, rowScope, path)
  const common = { name, table: other, on, condition: withinRules(other, condition) }
  if (body.aggregates !== undefined) {
    const scope = createFilterScope(other, limits)
    const columns = Object.entries(body.aggregates).map(([key, call]) =>
      planAggregate(key, call, { scope, table: other, path: [...path, 'aggregates', key] })
    )
    return { kind: 'computed', ...common, columns, index: findMemberIndex(other, on, equalColumns.all, []) }
  }
  const rows = {
    ...common,
    columns: planColumns(body, other, path),
    members:
      body.include === undefined
        ? []
        : planLevel(body.include, planning, { table: other, path: [...path, 'include'], level: level + 1 })
  }
  const single = isOne(other, on, equalColumns)
  const isObject = (body.as ?? (single ? 'object' : 'list')) === 'object'
  if (isObject) refuseOfObject(body, { table: other, path })
  const order = planManyOrder(body, { ...rows, path, equalColumns })
  if (isObject && single) return { kind: 'one', ...rows }
  return {
    kind: 'many',
    ...rows,
    order,
    limit: isObject ? 1 : body.limit ?? DEFAULT_LIMIT,
    ...(isObject && { isObject: true as const }),
    index: findMemberIndex(other, on, equalColumns.all, order)
  }
}

/** Refuses the fields that only lists have; a form that the request asks for has an order. */
function refuseOfObject (body: MemberBody, { table, path }: Pick<Level, 'table' | 'path'>): void {
  const field = (['orderBy', 'limit'] as const).find(
    (each) => body[each] !== undefined && (each === 'limit' || body.as === undefined)
  )
  if (field === undefined) return
  throw at(
    [...path, field],
    invalidBody(
      body.as === undefined
        ? `"${field}" is not allowed: the columns of "on", with those that "filters" hold equal, contain a unique ` +
          `key of "${table.name}", so that there is one row at most; "as": "list" makes it a list`
        : `"${field}" is not allowed with "as": "object", which is one row`
    )
  )
}

const planColumns = ({ columns }: MemberBody, table: Table, path: Path): readonly Column[] =>
  columns?.map((name, index) => getColumn(table, name, [...path, 'columns', index])) ?? table.columnList

/**
 * The order of related rows, without their columns that are equal in all of them, because MariaDB would sort the rows
 * by them again.
 */
function planManyOrder (
  { orderBy }: MemberBody,
  { table, path, on, members, equalColumns }: Pick<ManyMember, 'table' | 'on' | 'members'> & {
    readonly path: Path
    readonly equalColumns: EqualColumns
  }
): readonly Order[] {
  const orderPath = [...path, 'orderBy']
  const asked = orderBy === undefined ? [] : planOrder(orderBy, { table, members, path: orderPath })
  const computed = asked.find(({ of }) => of?.kind === 'computed')?.of
  if (computed !== undefined) {
    throw at(
      orderPath,
      invalidOrderBy(`contains "${computed.name}", which is computed; a list can be sorted by members that are one row`)
    )
  }
  const related = table.kind === 'view' ? asked.find(({ of }) => of !== undefined)?.of : undefined
  if (related !== undefined) {
    throw at(orderPath, invalidOrderBy(`contains "${related.name}"; a list of a view is not sorted by its members`))
  }
  const order = completeOrder(asked, findKey(table) ?? [])
  const equal = new Set([...equalColumns.all, ...on.map(({ other }) => other)])
  return order.filter(({ column, of }) => of !== undefined || !equal.has(column))
}
