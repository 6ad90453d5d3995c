/** Bodies are planned without the optional parameters that a call leaves out. */
import type { BodyInTransaction, Body, OperationsBody } from '../../schemas/body.ts'
import { OPERATORS } from '../../schemas/filters.ts'
import { type Path, pointer } from '../errors.ts'
import { BoundedMap, getOrCreate } from '../bounded-map.ts'
import { copyTree, type Declared, type NamedRequest } from './definition.ts'
import type { Place } from './places.ts'

/** Bodies of a request, by the optional parameters that calls leave out. */
const KEPT = 32

const bodies = new WeakMap<NamedRequest, BoundedMap<string, NamedRequest['body']>>()

export interface FieldValue { readonly place: Place, readonly value: unknown }

/** `fields`: the values of parameters that are fields. `keepsData`: only conditions and fields are left out. */
export function bodyOf (
  request: NamedRequest,
  omitted: ReadonlySet<string>,
  fields: readonly FieldValue[],
  keepsData = false
): NamedRequest['body'] {
  const body = omitted.size === 0 ? request.body : withoutOptional(request, omitted, keepsData)
  return fields.reduce((tree, { place, value }) => withValue(tree, place.path, value) as NamedRequest['body'], body)
}

export const bodiesIn = (
  { table }: NamedRequest,
  body: NamedRequest['body']
): ReadonlyArray<readonly [BodyInTransaction, Path]> => table === undefined
  ? (body as OperationsBody).operations.map((each, index) => [each, ['operations', index]])
  : [[body as Body, []]]

/** An update of which every column was left out. */
export function findEmptied (request: NamedRequest, body: NamedRequest['body']): string | undefined {
  for (const [each, path] of bodiesIn(request, body)) {
    if (each.verb !== 'update') continue
    const { data, key = [] } = each
    const rows = Array.isArray(data) ? data : [data]
    const emptied = rows.findIndex((row) => Object.keys(row).every((name) => key.includes(name)))
    if (emptied >= 0) return pointer(...path, 'data', ...Array.isArray(data) ? [emptied] : [])
  }
  return undefined
}

function withoutOptional (
  request: NamedRequest,
  omitted: ReadonlySet<string>,
  keepsData: boolean
): NamedRequest['body'] {
  const cache = getOrCreate(bodies, request, () => new BoundedMap<string, NamedRequest['body']>(KEPT))
  const key = `${keepsData} ${[...omitted].sort().join()}`
  const cached = cache.get(key)
  if (cached !== undefined) return cached
  const body = copyTree(request.body)
  for (const name of omitted) takeAway(body, request.parameters.get(name) as Declared, keepsData)
  cache.set(key, body)
  return body
}

/** A condition without an operator goes as well. */
function takeAway (body: object, { places }: Declared, keepsData: boolean): void {
  for (const { path, operator, isData, column } of places) {
    if (isData && keepsData) continue
    const steps = operator === '$match' ? path.slice(0, -1) : path
    const holder = holderOf(body, steps)
    delete holder[steps.at(-1) as string]
    const isOperator = !isData && column !== undefined && operator === steps.at(-1)
    if (isOperator && !Object.keys(holder).some((name) => Object.hasOwn(OPERATORS, name))) {
      delete holderOf(body, steps.slice(0, -1))[steps.at(-2) as string]
    }
  }
}

const holderOf = (body: object, path: Path): Record<string, unknown> =>
  path.slice(0, -1).reduce<any>((holder, step) => holder[step], body)

function withValue (tree: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value
  const copy = Array.isArray(tree) ? [...tree as unknown[]] : { ...tree as object }
  const inner: unknown = (tree as Record<string, unknown>)[step]
  return Object.assign(copy, { [step]: withValue(inner, rest, value) })
}
