// alone: measures memory
// night: measures memory
/** The plans that named requests keep are bounded, however many kinds of calls and callers there are. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createGrant } from '../../src/access/grant.ts'
import { findGrantedTable } from '../../src/access/granted-table.ts'
import { BoundedMap } from '../../src/bounded-map.ts'
import { alone, createCatalog, type Table } from '../../src/catalog/catalog.ts'
import { bindCall } from '../../src/named/call.ts'
import { readRequests } from '../../src/named/definition.ts'
import { PlansOfCall } from '../../src/named/plans.ts'
import { createRandom } from '../support/random.ts'
import { seed } from '../support/seed.ts'
import { compilePlan, LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const REQUESTS = 500
const TOKENS = 100
const CALLS = 300_000
/** Of each request (src/named/plans.ts). */
const KEPT = 32

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** The plans that are kept in each map, and in all of them. */
const sizes = new WeakMap<object, number>()
let kept = 0
let most = 0
const { set, delete: remove } = BoundedMap.prototype
const isPlans = (value: unknown): boolean => typeof value === 'object' && value !== null && 'parts' in value
const change = (map: object, by: number): void => {
  const size = (sizes.get(map) ?? 0) + by
  sizes.set(map, size)
  kept += by
}
BoundedMap.prototype.delete = function (key) {
  if (isPlans(this.get(key))) change(this, -1)
  remove.call(this, key)
}
BoundedMap.prototype.set = function (key, value) {
  set.call(this, key, value)
  if (isPlans(value)) change(this, 1)
  most = Math.max(most, sizes.get(this) ?? 0)
}

const optional = Array.from({ length: 6 }, (_, index) => `p${index}`)
const table = tableOf({
  name: 'orders',
  columns: [
    mysqlColumn('id', 'int', { nullable: false }), mysqlColumn('tenant', 'int', { nullable: false }),
    ...optional.map((name) => mysqlColumn(name, 'varchar(20)'))
  ],
  primaryKey: ['id']
})
const { columnList, ...facts } = table
const catalog = createCatalog([{ ...facts, columns: columnList }] as never, 0)
const orders = catalog.tables.get('orders') as Table
const limits = { ...LIMITS, include: { levels: 3, members: 10 }, operations: 10, importRow: 1024 }

const define = (index: number): object => {
  const value = (name: string): object => ({ $param: name })
  const each = (form: (name: string) => unknown): object =>
    Object.fromEntries(optional.map((name) => [name, form(name)]))
  const bodies = [
    { verb: 'select', filters: { id: { $gt: value('id') }, ...each((name) => ({ $gte: value(name) })) } },
    { verb: 'insert', data: { id: value('id'), ...each(value) } },
    { verb: 'update', filters: { id: value('id') }, data: each(value) }
  ]
  return {
    database: 'shop',
    table: 'orders',
    parameters: { id: {}, ...each(() => ({ optional: true })) },
    body: bodies[index % bodies.length]
  }
}

t.test(`${CALLS} calls of ${REQUESTS} requests by ${TOKENS} tokens`, async (t) => {
  const errors: string[] = []
  const requests = [...readRequests(errors, Object.fromEntries(
    Array.from({ length: REQUESTS }, (_, index) => [`r${index}`, define(index)])
  ) as never, {
    databases: new Set(['shop']), requestRoles: new Map(), otherRoles: new Map(), isInvalidRole: () => false, limits
  }).values()]
  t.same(errors, [])
  const sources = Array.from({ length: TOKENS }, (_, tenant) => {
    const grant = createGrant(`token ${tenant}`, {
      permissions: ['select', 'insert', 'update'],
      databases: { shop: { orders: { rows: { tenant: { $claim: '/tenant' } } } } },
      claims: { tenant }
    })
    return alone(findGrantedTable({ grant, database: 'shop', catalog }, orders) as Table)
  })
  const random = createRandom(seed)
  const heaps: number[] = []
  for (let call = 1; call <= CALLS; call++) {
    const request = requests[random(REQUESTS)]
    const tenant = random(TOKENS)
    const given = 1 + random(2 ** optional.length - 1)
    const values = Object.fromEntries([
      ['id', call], ...optional.filter((_name, bit) => (given & 2 ** bit) !== 0).map((name) => [name, `${call}`])
    ])
    const bound = bindCall(request as never, { values, isText: false }, limits)
    const [found] = new PlansOfCall(bound, limits).find([sources[tenant] as never]) ?? []
    const { parameters } = compilePlan(found?.plan as never, 'mysql')
    const own = parameters.map(String)
    if (!own.includes(`${call}`) || !own.includes(`${tenant}`)) t.fail(`call ${call} has ${own.join()}`)
    if (call % (CALLS / 4) === 0) {
      collectGarbage()
      heaps.push(process.memoryUsage().heapUsed)
    }
  }
  const mib = heaps.map((bytes) => (bytes / 2 ** 20).toFixed(1))
  t.comment(`${kept} plans are kept, at most ${most} of a request; heap after each quarter: ${mib.join(', ')} MiB`)
  t.equal(most, KEPT)
  t.ok(kept <= REQUESTS * KEPT)
  t.ok((heaps[3] as number) < (heaps[1] as number) * 1.02, 'the heap does not grow')
})
