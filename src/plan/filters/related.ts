/** Plans `$some` and `$none`: whether a row of another table is related to the row and passes filters of its own. */
import type { Related } from '../../../schemas/body.ts'
import { at, invalidBody, type Path } from '../../errors.ts'
import { findMemberIndex, planRelation } from '../relation.ts'
import { withinRules } from '../rule.ts'
import { combine } from './constants.ts'
import { countCondition, countTable, type FilterScope, type Relating } from './scope.ts'
import type { Condition } from '../plan.ts'

export interface MembersToPlan {
  /** The members by name, whose form has been checked (src/request/related-filters.ts). */
  readonly members: unknown
  readonly negated: boolean
  readonly scope: FilterScope
  readonly path: Path
  /** Plans the filters of a member. */
  readonly planFilters: (filters: unknown, scope: FilterScope, path: Path) => Condition
}

/** A row must satisfy all members. @throws INVALID_BODY, COLUMN_NOT_FOUND, INVALID_VALUE; TABLE_NOT_FOUND */
export function planRelated ({ members, scope, path, ...how }: MembersToPlan): Condition {
  const { relating } = scope
  if (relating === undefined) throw at(path, invalidBody(`"${path.join('.')}" is not allowed here: "$some" and "$none" select rows`))
  const { level, levels } = relating
  if (level > levels) throw at(path, invalidBody(levels === 0 ? `"${path.at(-1)}" is not allowed: the setting limits.include.levels is 0` : `"$some", "$none" and "include" can have at most ${levels} levels together`))
  return combine('and', Object.entries(members as Readonly<Record<string, Related>>).map(([name, member]) => planMember(name, member, { ...how, scope, relating, path: [...path, name] })))
}

type MemberToPlan = Omit<MembersToPlan, 'members'> & { readonly relating: Relating }

function planMember (name: string, member: Related, { negated, scope, relating, path, planFilters }: MemberToPlan): Condition {
  countCondition(scope, path)
  const { filters = {} } = member
  const { other, on, held } = planRelation(name, member, { ...relating, path })
  if (countTable(scope, other.name)) throw at(path, invalidBody('"$some" and "$none" of a request can name at most 10 different tables'))
  const inner = planFilters(filters, { ...scope, table: other, relating: { ...relating, table: other, level: relating.level + 1 } }, [...path, 'filters'])
  if (inner.kind === 'constant' && !inner.value) return { kind: 'constant', value: negated }
  // rules of a grant are not filters, so they are not folded
  return { kind: 'exists', negated, table: other, on, condition: withinRules(other, inner), index: findMemberIndex(other, on, held.all, [])?.index }
}
