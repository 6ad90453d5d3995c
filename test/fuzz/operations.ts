/** Random operations on a small table, and a model that says what becomes of them. */
import fc, { type Arbitrary } from 'fast-check'

export type Value = number | null | { readonly $ref: string }

export interface Operation {
  readonly table: string
  readonly verb: string
  readonly data?: Record<string, Value | { readonly $inc: number } | string>
  readonly filters?: Record<string, Value>
  readonly columns?: readonly string[]
  readonly expect?: number
  readonly lock?: boolean
}

export interface Row { readonly id: number, readonly n: number | null }
export type Rows = ReadonlyMap<number, Row>

export const schema = {
  sqlite: ['create table cells (id int not null primary key, n integer null)'],
  mysql: [
    'create table cells (id int not null primary key, n int null)'
  ]
}

const ids = fc.integer({ min: 1, max: 8 })
const references: Arbitrary<Value> = fc.tuple(fc.integer({ min: 0, max: 6 }), fc.constantFrom(
  '/id', '/rows/0/id', '/rows/0/n', '/count', '/updated', '/inserted', '/deleted', '/nothing', '/rows', ''
))
  .map(([index, path]) => ({ $ref: `/${index}${path}` }))
const idValues: Arbitrary<Value> = fc.oneof({ weight: 4, arbitrary: ids as Arbitrary<Value> }, {
  weight: 1, arbitrary: references
})
const numbers: Arbitrary<Value> = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: -5, max: 50 }) as Arbitrary<Value> },
  { weight: 1, arbitrary: fc.constant<Value>(null) }, { weight: 2, arbitrary: references }
)
const expected = fc.option(fc.integer({ min: 0, max: 1 }), { freq: 3, nil: undefined })

const table = 'cells'
const valid: Arbitrary<Operation> = fc.oneof(
  fc.record({ id: idValues, n: numbers }).map((data): Operation => ({ table, verb: 'insert', data })),
  fc.record({
    id: idValues, n: fc.oneof(numbers, fc.integer({ min: -3, max: 3 }).map(($inc) => ({ $inc }))), expect: expected
  })
    .map(({ id, n, expect }): Operation => ({
      table, verb: 'update', data: { n }, filters: { id }, ...expect !== undefined && { expect }
    })),
  fc.record({ id: idValues, expect: expected }).map(
    ({ id, expect }): Operation => ({ table, verb: 'delete', filters: { id }, ...expect !== undefined && { expect } })
  ),
  fc.record({ id: idValues, lock: fc.boolean() }).map(
    ({ id, lock }): Operation => ({ table, verb: 'select', filters: { id }, columns: ['id', 'n'], ...lock && { lock } })
  )
)
const broken: Arbitrary<Operation> = fc.constantFrom<Operation>(
  { table: 'nowhere', verb: 'select' }, { table, verb: 'drop' }, { table, verb: 'select', filters: { nothing: 1 } },
  { table, verb: 'insert', data: { id: 'x' } }, { table, verb: 'delete' },
  { table, verb: 'delete', filters: { id: 1 }, lock: true }, { table, verb: 'insert', data: { n: 1 } },
  { table, verb: 'insert', data: { id: 1, n: { $inc: 1 } } }
)

export const operationLists: Arbitrary<Operation[]> = fc.array(
  fc.oneof({ weight: 40, arbitrary: valid }, { weight: 1, arbitrary: broken }), { minLength: 1, maxLength: 7 }
)

const KNOWN = new Set(['insert', 'update', 'delete', 'select'])

/** What the operations do to the rows; undefined if they are refused. */
export function applyAll (
  rows: Rows, operations: readonly Operation[]
): { readonly rows: Rows, readonly results: readonly object[] } | undefined {
  const state = new Map(rows)
  const results: object[] = []
  for (const operation of operations) {
    const result = isBroken(operation) ? undefined : apply(state, operation, results)
    if (result === undefined) return undefined
    results.push(result)
  }
  return { rows: state, results }
}

function isBroken ({ table: name, verb, data, filters, lock }: Operation): boolean {
  if (name !== table || !KNOWN.has(verb) || (lock === true && verb !== 'select')) return true
  if (verb === 'insert') return data?.['id'] === undefined || data['id'] === 'x' || isIncrement(data['n'])
  return filters === undefined || filters['id'] === undefined
}

const isIncrement = (value: unknown): value is { $inc: number } => typeof value === 'object' && value !== null &&
  '$inc' in value

/** Undefined for a reference that finds no whole number and not null. */
function resolve (value: unknown, results: readonly object[]): number | null | undefined {
  if (typeof value !== 'object' || value === null) return value as number | null
  const [, index, ...steps] = (value as { $ref: string }).$ref.split('/')
  let found: any = results[Number(index)]
  for (const step of steps) {
    found = typeof found === 'object' && found !== null &&
    Object.hasOwn(found, step)
      ? found[step]
      : undefined
  }
  return found === null || Number.isInteger(found) ? found : undefined
}

function apply (
  state: Map<number, Row>, { verb, data = {}, filters = {}, expect }: Operation, results: readonly object[]
): object | undefined {
  const n = isIncrement(data['n']) ? data['n'] : resolve(data['n'] ?? null, results)
  const id = resolve(verb === 'insert' ? data['id'] : filters['id'], results)
  if (n === undefined || id === undefined || id === null) return undefined
  const row = state.get(id)
  if (expect !== undefined && expect !== (row === undefined ? 0 : 1)) return undefined
  switch (verb) {
    case 'insert':
      if (row !== undefined) return undefined
      state.set(id, { id, n: n as number | null })
      return { inserted: 1, id }
    case 'update': {
      if (row === undefined) return { updated: 0 }
      const next = isIncrement(n) ? row.n === null ? null : row.n + n.$inc : n
      state.set(id, { id, n: next })
      return { updated: next === row.n ? 0 : 1 }
    }
    case 'delete': return { deleted: Number(state.delete(id)) }
    default: return { rows: row === undefined ? [] : [row], count: row === undefined ? 0 : 1 }
  }
}
