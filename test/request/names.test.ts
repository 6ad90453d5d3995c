import { Value } from '@sinclair/typebox/value'
import fc from 'fast-check'
import t from 'tap'
import { type Body, BodySchema } from '../../schemas/body.ts'
import { createBodyCheck } from '../../src/request/check-body.ts'
import { namedTables } from '../../src/request/related-members.ts'
import '../support/seed.ts'

const DEPTH = 32
const findError = createBodyCheck({ depth: DEPTH, conditions: 256, include: { levels: 3, members: 10 } })
const names = fc.oneof(
  fc.array(fc.constantFrom('id', 'ID', 'name', '', '__proto__', 'é', 'e\u0301'), { maxLength: 4 }),
  fc.array(fc.oneof(fc.string({ maxLength: 2 }), fc.integer(), fc.constant(null)), { maxLength: 3 }), fc.anything()
)
const body = fc.oneof(
  names.map((columns) => ({ verb: 'select', columns })),
  names.map((groupBy) => ({ verb: 'select', groupBy })),
  fc.tuple(names, names).map(([key, set]) => ({ verb: 'insert', data: {}, onConflict: { key, set } })),
  names.map((returning) => ({ verb: 'delete', filters: { id: 1 }, returning }))
)

t.test('lists of names are checked as their schema says', async () => {
  // a schema cannot say that neither names nor parts of time are repeated
  const isRepeated = (each: object): boolean => 'groupBy' in each && Array.isArray(each.groupBy) &&
    new Set(each.groupBy).size < each.groupBy.length
  fc.assert(fc.property(body, (each) =>
    (findError(each) === undefined) === (Value.Check(BodySchema, each) && !isRepeated(each))), { numRuns: 2000 })
})

t.test('repeats are found where there are many names', async (t) => {
  const columns = Array.from({ length: 4096 }, (_, index) => `c${index}`)
  t.equal(findError({ verb: 'select', columns }), undefined)
  for (const wrong of [[...columns.slice(1), 'c9'], [...columns, 'one_more']]) {
    t.match(findError({ verb: 'select', columns: wrong }), {
      code: 'INVALID_BODY', message: '"columns" must be a list of column names, not empty and without repeats'
    })
  }
})

t.test('the entries of a list are counted before one of them is read', async (t) => {
  let reads = 0
  const listOf = (entry: unknown): unknown[] => new Proxy(Array.from({ length: 5000 }, () => entry), {
    get (list, name) {
      if (/^\d+$/.test(String(name))) reads++
      return Reflect.get(list, name)
    }
  })
  const bodies: Array<[body: object, code: string, path: string]> = [
    [{ verb: 'select', orderBy: listOf({ id: 'ASC' }) }, 'INVALID_ORDER_BY', '/orderBy'],
    [
      { verb: 'select', include: { others: { orderBy: listOf({ id: 'ASC' }) } } }, 'INVALID_ORDER_BY',
      '/include/others/orderBy'
    ],
    [{ verb: 'select', filters: { $and: listOf({ id: 1 }) } }, 'INVALID_BODY', '/filters/$and/256'],
    [{ verb: 'select', columns: listOf('id') }, 'INVALID_BODY', '/columns'],
    [{ verb: 'select', groupBy: listOf('id') }, 'INVALID_BODY', '/groupBy'],
    [{ verb: 'insert', data: listOf({ id: 1 }) }, 'INVALID_BODY', '/data'],
    [{ verb: 'update', filters: {}, key: ['id'], data: listOf({ id: 1 }) }, 'INVALID_BODY', '/data']
  ]
  for (const [body, code, path] of bodies) {
    reads = 0
    t.match(findError(body), { code, details: [{ path }] })
    t.ok(reads <= 1, `${path}: ${reads} entries read`)
  }
})

t.test('filters are read as deep as the setting allows, because the planner refuses deeper ones', async (t) => {
  let reads = 0
  const deeper = (levels: number): object => ({
    get $not () {
      reads++
      return levels === 0 ? { $some: { other: {} } } : deeper(levels - 1)
    }
  })
  const body = { verb: 'select', filters: deeper(900) } as unknown as Body
  t.equal(findError(body), undefined)
  t.ok(reads <= DEPTH + 2, `${reads} reads by the check`)
  reads = 0
  t.same(namedTables(body, DEPTH), [])
  t.ok(reads <= DEPTH + 2, `${reads} reads for the tables`)
})
