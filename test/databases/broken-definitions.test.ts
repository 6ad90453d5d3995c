import t from 'tap'
import { SchemaMoved } from '../../src/dialects/dialect.ts'
import { BrokenDefinitions, toUnresolved } from '../../src/databases/broken-definitions.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const table = (name: string, declaration = 'int') => tableOf({ name, columns: [mysqlColumn('a', declaration)] })

t.test('a broken definition is known for five seconds, for the same table with the same error', async (t) => {
  let now = 0
  const broken = new BrokenDefinitions(() => now)
  t.notOk(broken.has([table('t')], 'why'))
  broken.note([table('t')], 'why')
  t.ok(broken.has([table('t')], 'why'), 'another reading that says the same')
  t.notOk(broken.has([table('t')], 'another'))
  t.notOk(broken.has([table('t', 'bigint')], 'why'))
  broken.note([table('t')], 'another')
  now = 4999
  t.ok(broken.has([table('t')], 'why'))
  now = 5000
  t.notOk(broken.has([table('t')], 'why'))
})

t.test('an error without a reason is not remembered', async (t) => {
  const broken = new BrokenDefinitions()
  broken.note([table('t')], undefined)
  t.notOk(broken.has([table('t')], undefined))
})

t.test('the latest thousand tables are remembered', async (t) => {
  const broken = new BrokenDefinitions()
  for (let index = 0; index <= 1000; index++) broken.note([table(`t${index}`)], 'why')
  t.notOk(broken.has([table('t0')], 'why'))
  t.ok(broken.has([table('t1')], 'why'))
  t.ok(broken.has([table('t1000')], 'why'))
})

t.test('an error that may pass is permanent once it has lasted for four seconds, for the same table with the same error', async (t) => {
  let now = 0
  const broken = new BrokenDefinitions(() => now)
  const leftAfter = (milliseconds: number, ...args: [name?: string, declaration?: string, reason?: string]): number => {
    const [name = 't', declaration = 'int', reason = 'why'] = args
    now += milliseconds
    return broken.suspect([table(name, declaration)], reason)
  }
  t.same([leftAfter(0), leftAfter(1000), leftAfter(3000)], [4000, 3000, 0])
  t.same([leftAfter(0, 't', 'int', 'another'), leftAfter(0, 'u')], [4000, 4000])
  t.ok(leftAfter(14_999) < 0)
  t.equal(leftAfter(15_000), 4000, 'it has begun anew')
  t.equal(leftAfter(1000, 't', 'bigint'), 4000, 'the table has changed')
  for (let index = 0; index < 1000; index++) leftAfter(0, `t${index}`)
  t.equal(leftAfter(4000, 't', 'bigint'), 4000, 'of a thousand others it is forgotten')
})

t.test('the time of the clock was once rounded into the time that is left, so that Retry-After was 5', async (t) => {
  const clocks = Array.from({ length: 1000 }, (_, index) => 7 * index + index / 3)
  t.same(clocks.filter((now) => new BrokenDefinitions(() => now).suspect([table('t')], 'why') !== 4000), [])
})

t.test('a table that was rebuilt is no broken definition', async (t) => {
  const broken = new BrokenDefinitions()
  const tables = [table('t')]
  const answer = (isRebuilt: boolean) => toUnresolved({ broken, latestCatalog: () => undefined }, { moved: new SchemaMoved('why', { isRebuilt }), before: tables, tables })
  t.match(answer(true), { code: 'DATABASE_UNAVAILABLE', reason: 'why' })
  t.notOk(broken.has(tables, 'why'))
  t.match(answer(false), { code: 'BROKEN_DEFINITION', reason: 'why' })
})
