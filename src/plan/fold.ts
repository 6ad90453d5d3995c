/** Functions that traverse whole conditions and plans. */
import type { Table } from '../catalog/catalog.ts'
import type { Condition, Exists, Member, Plan } from './plan.ts'

/** A condition that contains no other conditions on the same row. */
export type Leaf = Exclude<Condition, { readonly kind: 'and' | 'or' } | { readonly kind: 'not' }>

/** The leaves of a condition, in their order. */
export function leavesOf (condition: Condition): Leaf[] {
  switch (condition.kind) {
    case 'and':
    case 'or': return condition.conditions.flatMap(leavesOf)
    case 'not': return leavesOf(condition.condition)
    default: return [condition]
  }
}

/** A copy of a condition with its leaves changed. */
export function mapLeaves (condition: Condition, change: (leaf: Leaf) => Condition): Condition {
  switch (condition.kind) {
    case 'and':
    case 'or': return { ...condition, conditions: condition.conditions.map((each) => mapLeaves(each, change)) }
    case 'not': return { ...condition, condition: mapLeaves(condition.condition, change) }
    default: return change(condition)
  }
}

/** The `exists` conditions in a condition, outer ones first. */
export function existsIn (condition: Condition): Exists[] {
  return leavesOf(condition).flatMap((leaf) => leaf.kind === 'exists' ? [leaf, ...existsIn(leaf.condition)] : [])
}

/** All tables that a plan uses, its own first. */
export function tablesOf (plan: Plan): readonly Table[] {
  if (plan.verb === 'insert') return [plan.table]
  const { members = [] } = plan.verb === 'select' ? plan : {}
  return [plan.table, ...existsIn(plan.condition).map(({ table }) => table), ...members.flatMap(memberTables)]
}

const memberTables = (member: Member): Table[] =>
  [member.table, ...existsIn(member.condition).map(({ table }) => table), ...member.kind === 'computed' ? [] : member.members.flatMap(memberTables)]
