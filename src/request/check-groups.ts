/** Checks groups: their names, the functions of aggregates, and that they use all members beside them and no others. */
import type { AggregateCall, SelectBody } from '../../schemas/body.ts'
import { FIELDS, followMembers, type Include, type MemberColumn } from '../../schemas/fields.ts'
import { didYouMean, type Path, type ServiceError } from '../errors.ts'
import { refuse } from './field-errors.ts'

/** INVALID_BODY, not thrown. */
export const findGroupsError = (groupBy?: GroupBy, aggregates?: SelectBody['aggregates']): ServiceError | undefined =>
  findRepeat(groupBy) ?? findFunctionError(aggregates) ?? findTaken(groupBy, aggregates)

type GroupBy = NonNullable<SelectBody['groupBy']>
const isName = (entry: GroupBy[number]): entry is string => typeof entry === 'string'
const nameOf = (entry: GroupBy[number]): string => isName(entry) ? entry : Object.keys(entry)[0] as string

function findRepeat (groupBy: GroupBy = []): ServiceError | undefined {
  const names = groupBy.map(nameOf)
  if (new Set(names).size === names.length) return undefined
  const repeated = groupBy.findIndex(
    (entry, index) => !isName(entry) && names.indexOf(nameOf(entry)) !== names.lastIndexOf(names[index] as string)
  )
  if (repeated < 0) return refuse(['groupBy'], `"groupBy" must be ${FIELDS.groupBy.expected}`)
  return refuse(['groupBy', repeated, names[repeated] as string], `"${names[repeated]}" is already a name of "groupBy"`)
}

/** Requires exactly one function for each aggregate of a select or a member. */
export function findFunctionError (
  aggregates: Readonly<Record<string, object>> = {},
  path: Path = ['aggregates']
): ServiceError | undefined {
  for (const name in aggregates) {
    const { filters, ...call } = aggregates[name] as Partial<AggregateCall>
    if (Object.keys(call).length !== 1) {
      return refuse([...path, name], `"aggregates" must be ${FIELDS.aggregates.expected}`)
    }
  }
  return undefined
}

function findTaken (groupBy: GroupBy = [], aggregates: SelectBody['aggregates'] = {}): ServiceError | undefined {
  const taken = groupBy.find((entry) => Object.hasOwn(aggregates, nameOf(entry)))
  if (taken === undefined) return undefined
  const name = nameOf(taken)
  return refuse(['aggregates', name], `"${name}" is already ${isName(taken) ? 'a column' : 'a name'} of "groupBy"`)
}

function namedColumns ({ groupBy = [], aggregates = {} }: SelectBody): Array<{ path: Path, reference: MemberColumn }> {
  const groups = groupBy.flatMap((entry, index) => {
    const [[name, reference]] = isName(entry) ? [['', '']] : Object.entries(entry) as [[string, MemberColumn]]
    return isOfMember(reference) ? [{ path: ['groupBy', index, name], reference }] : []
  })
  const computed = Object.entries(aggregates).flatMap(([name, { filters, ...call }]) => {
    const [[key, reference]] = Object.entries(call) as [[string, string | MemberColumn]]
    return isOfMember(reference) ? [{ path: ['aggregates', name, key], reference }] : []
  })
  return [...groups, ...computed]
}

/** Whether it is no column of the table, and no part of time, which begins with `$`. */
const isOfMember = (given: string | MemberColumn): given is MemberColumn =>
  typeof given !== 'string' && !(Object.keys(given)[0] as string).startsWith('$')

/** Every member beside groups is used by one of them or an aggregate, and they use no others. */
export function findUnused (body: SelectBody): ServiceError | undefined {
  const used = new Set<string>()
  for (const { path, reference } of namedColumns(body)) {
    let level: Include = body.include ?? {}
    const names: string[] = []
    for (const name of followMembers(reference).members) {
      names.push(name)
      if (!Object.hasOwn(level, name)) {
        const hint = didYouMean(name, Object.keys(level))
        return refuse([...path, ...names], `"${name}" is not a member of "include"${hint}`)
      }
      used.add(names.join('.'))
      level = level[name]?.include ?? {}
    }
  }
  return findIdle(body.include, used)
}

function findIdle (
  include: Include = {},
  used: ReadonlySet<string>,
  path: Path = ['include'],
  outer = ''
): ServiceError | undefined {
  for (const [name, member] of Object.entries(include)) {
    const place = [...path, name]
    if (!used.has(outer + name)) {
      return refuse(
        place,
        `"${name}" is not used: beside "groupBy" and "aggregates" a member is named there, such as {"name": {"${name}` +
        '": "<column>"}}, and does not stand in the rows'
      )
    }
    const error = findIdle(member.include, used, [...place, 'include'], `${outer}${name}.`)
    if (error !== undefined) return error
  }
  return undefined
}
