import type { SelectBody } from '../../schemas/body.ts'
import type { Include, MemberColumn } from '../../schemas/fields.ts'
import { DEFAULT_LIMIT } from '../../schemas/limits.ts'
import type { Column, Table, TableSource } from '../catalog/catalog.ts'
import { at, invalidBody, invalidValue, mayBeNew, type Path } from '../errors.ts'
import { describeType } from '../types/column-type.ts'
import { planAggregate, resultColumn } from './aggregates.ts'
import { type ColumnScope, getColumn, getRelatedColumn } from './columns.ts'
import { planGroup } from './filters/resolve-filters.ts'
import { createRowScope, counting } from './filters/scope.ts'
import { planMembers } from './members.ts'
import { planOrder, planPage } from './order.ts'
import type { ComputedColumn, Member, OneMember, RelatedColumn, SelectPlan } from './plan.ts'
import type { PlanLimits } from './limits.ts'

/** @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_ORDER_BY, INVALID_BODY */
export function planGroups (body: SelectBody, source: TableSource, given: PlanLimits): SelectPlan {
  const { table } = source
  const limits = counting(given)
  const { filters = {}, groupBy = [], aggregates = {}, having = {}, limit = DEFAULT_LIMIT, orderBy, include } = body
  const rows = createRowScope({ source, table, limits, level: 1 })
  const scope = { ...rows, isSearchable: undefined }
  const ofResult = { ...scope, relating: undefined, isTimeless: true as const, standIns: undefined }
  const condition = planGroup(filters, rows, ['filters'])
  const members = include === undefined ? [] : planGroupMembers(include, source, limits)
  const by = groupBy.map((entry, index) =>
    typeof entry === 'string'
      ? planGroupColumn(getColumn(table, entry, ['groupBy', index]), ['groupBy', index])
      : planNamed(entry, ['groupBy', index], { table, members })
  )
  const computed = Object.entries(aggregates).map(([name, call]) =>
    planAggregate(name, call, { scope, table, members, path: ['aggregates', name] })
  )
  const columns = [...by, ...computed]
  const result: ColumnScope = {
    name: table.name,
    columns: new Map(columns.map((column) => [column.name, column])),
    isResult: true
  }
  const plan: SelectPlan = {
    verb: 'select',
    table,
    columns,
    condition,
    groups: {
      by,
      aggregates: computed,
      ...members.length > 0 && { members },
      having: planGroup(having, { ...ofResult, table: result }, ['having'])
    },
    order: orderBy === undefined ? [] : planOrder(orderBy, { table: result }),
    limit
  }
  return Object.freeze(body.offset === undefined ? plan : planPage(body, plan, limits))
}

function planGroupColumn (column: Column, path: Path): Column {
  if (!column.type.sortable) {
    throw at(path, invalidValue(column.name, `rows cannot be grouped by ${describeType(column)}`))
  }
  return column
}

/** Groups use columns of these members. @throws as planMembers; INVALID_BODY for one of many rows */
function planGroupMembers (include: Include, source: TableSource, limits: PlanLimits): readonly OneMember[] {
  const members = planMembers(include, { source, limits })
  requireOnes(members, ['include'])
  return members
}

function requireOnes (members: readonly Member[], parent: Path): asserts members is readonly OneMember[] {
  for (const member of members) {
    const path = [...parent, member.name]
    if (member.kind === 'one') requireOnes(member.members, [...path, 'include'])
    else {
      throw at(
        path,
        mayBeNew(invalidBody(
          `"${member.name}" can have many rows, so that it is not allowed beside "groupBy" and "aggregates": the ` +
          `columns of "on", with those that "filters" hold equal, must contain a unique key of "${member.table.name}"`
        ))
      )
    }
  }
}

/**
 * `{"month": {"$month": "created_at"}}` or `{"country": {"customer": "country"}}`: each object has one key, and the
 * members are named (src/request/check-groups.ts).
 */
function planNamed (
  entry: Exclude<NonNullable<SelectBody['groupBy']>[number], string>,
  parent: Path,
  { table, members }: { readonly table: Table, readonly members: readonly OneMember[] }
): ComputedColumn | RelatedColumn {
  const [[name, part]] = Object.entries(entry) as [[string, MemberColumn]]
  const [[key, operand]] = Object.entries(part) as [[string, string]]
  if (!key.startsWith('$')) {
    const { column, path } = getRelatedColumn(members, part, [...parent, name], name)
    planGroupColumn(column.origin, path)
    return column
  }
  const path = [...parent, name, key]
  const source = getColumn(table, operand, path)
  const computation = source.type.parts?.get(key)
  if (computation === undefined) throw at(path, invalidValue(operand, `${describeType(source)} has no ${key}`))
  return resultColumn(name, key, computation, source)
}
