/** Plans an update of many rows: a list of entries, each with the key of its row and values of its own. */
import type { UpdateBody } from '../../schemas/body.ts'
import type { Column, Table, TableSource } from '../catalog/catalog.ts'
import { at, invalidBody, invalidValue, missingColumn, type Path, type ServiceError } from '../errors.ts'
import type { Parameter } from '../types/column-type.ts'
import { planAssignments, refuseNulls } from './assignments.ts'
import { readValue } from './columns.ts'
import { combine } from './filters/scope.ts'
import { planFilters } from './filters/resolve-filters.ts'
import { planKey } from './inserted-rows.ts'
import { planReturnedMembers } from './members.ts'
import type { KeyedUpdates, UpdatePlan } from './plan.ts'
import { type References, ResultReference, toReference } from './columns.ts'
import { restrictUpdate } from './row-rules.ts'
import { withinRules, withTouched } from './rule.ts'
import { counting, planChangeOptions, type PlanLimits, refuseWritten } from './write-options.ts'

export type UpdateOfMany = UpdateBody & {
  readonly data: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly key: readonly string[]
}

/** Whether the update has a list, with which the check of the body requires a key. */
export const isOfMany = (body: UpdateBody): body is UpdateOfMany => Array.isArray(body.data)

/**
 * @throws INVALID_BODY for a key that is not unique or nullable, and for an entry that changes nothing; MISSING_COLUMN
 * for one without the key; the errors of an update, with the path of the entry
 */
export function planKeyedUpdates (body: UpdateOfMany, source: TableSource, given: PlanLimits): UpdatePlan {
  const { table } = source
  const { verb, data, filters } = body
  const limits = counting(given)
  const condition = planFilters(filters, source, limits)
  const key = planKey(body.key, table, ['key'])
  const nullable = key.find((column) => column.nullable)
  if (nullable !== undefined) {
    throw at(['key'], invalidBody(`"${nullable.name}" may be NULL, so that the key does not find each row`))
  }
  const planned = data.map((entry, index) => planEntry({ entry, path: ['data', index], key, table }, limits.references))
  const members = planReturnedMembers(body, { source, limits })
  const entries = planned.map(({ values, update }, index) => ({ values, update: restrictEntry(update, index) }))
  for (const [index, { update }] of entries.entries()) refuseNulls(update.assignments, ['data', index])
  const plan = { verb, table, condition: withinRules(table, condition), assignments: [], keyed: { key, entries } }
  const complete: UpdatePlan = { ...plan, ...planChangeOptions(body, { ...limits, table, members }) }
  refuseWritten({ verb, table, condition, assignments: [] }, source, limits.counted)
  return Object.freeze(complete)
}

interface Entry {
  readonly entry: Readonly<Record<string, unknown>>
  readonly path: Path
  readonly key: readonly Column[]
  readonly table: Table
}

function planEntry ({ entry, path, key, table }: Entry, references?: References): KeyedUpdates['entries'][number] {
  const values = key.map((column) => readKeyValue(column, entry, [...path, column.name], references))
  const named = new Set(key.map(({ name }) => name))
  const changes = Object.fromEntries(Object.entries(entry).filter(([name]) => !named.has(name)))
  if (Object.keys(changes).length === 0) throw at(path, invalidBody('an entry must have a column besides the key'))
  const assignments = planAssignments(changes, table, path, references)
  return { values, update: { verb: 'update', table, condition: combine('and', []), assignments } }
}

function readKeyValue (column: Column, entry: Entry['entry'], path: Path, references?: References): Parameter {
  const { name } = column
  const given = Object.hasOwn(entry, name) ? entry[name] : null
  if (given === null) throw at(path, missingColumn(`"${name}"`))
  const value = toReference(given, column, references, path)
  if (value instanceof ResultReference && value.value === null) {
    throw at(path, invalidValue(name, 'the reference leads to null'))
  }
  return readValue(column, value, path)
}

/** Applies the rules of the grant to the values of an entry. @throws PERMISSION_DENIED */
function restrictEntry (update: UpdatePlan, index: number): UpdatePlan {
  try {
    return withTouched(restrictUpdate(update))
  } catch (error) {
    const { code, details } = error as ServiceError
    throw code === 'PERMISSION_DENIED' && details.length === 0 ? at(['data', index], error as ServiceError) : error
  }
}
