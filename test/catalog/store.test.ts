import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createCatalog, type Catalog } from '../../src/catalog/catalog.ts'
import { createCatalogCache } from '../../src/databases/catalog-cache.ts'
import { stoppedClock } from '../support/clock.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const HOUR = 3_600_000

type Settings = Parameters<typeof createCatalogCache>[0]

function createStore ({ onRead, ...settings }: Omit<Settings, 'onRead'> & Partial<Settings>) {
  let latest: Catalog | undefined
  const store = createCatalogCache({
    ...settings,
    onRead: (catalog, isCertain) => {
      latest = catalog
      onRead?.(catalog, isCertain)
    }
  })
  return { ...store, latest: () => latest }
}

/** A store whose loading is answered by hand: `answers[n]` ends the reading that was begun as the n-th. */
function createManualStore (interval = HOUR) {
  const answers: Array<PromiseWithResolvers<Catalog>> = []
  const errors: unknown[] = []
  const store = createStore({
    load: () => {
      const answer = Promise.withResolvers<Catalog>()
      answers.push(answer)
      return answer.promise
    },
    interval,
    onError: (error) => { errors.push(error) }
  })
  const answer = (index: number) => answers[index] as PromiseWithResolvers<Catalog>
  return { store, answers, answer, errors }
}

const column = mysqlColumn('id', 'int')
const tableWith = (name: string, ...columns: string[]) => {
  const table = tableOf({ name, columns: [column, ...columns.map((each) => mysqlColumn(each, 'int'))] })
  return { ...table, columns: table.columnList }
}

/** A store whose readings return what `tables` is then; the clock moves by `pass`. */
async function createTickingStore (t: Test, tables: ReturnType<typeof tableWith>[]) {
  const { pass } = stoppedClock(t)
  const state = { tables, readings: 0, isDown: false }
  const errors: unknown[] = []
  const told: string[] = []
  const store = createStore({
    load: async () => {
      state.readings++
      if (state.isDown) throw new Error('down')
      return createCatalog(state.tables, state.readings)
    },
    interval: HOUR,
    onError: (error) => { errors.push(error) },
    onRead: ({ tables }, isCertain) => { if (isCertain) told.push([...tables.keys()].join()) }
  })
  t.teardown(() => { store.stop() })
  await store.refresh()
  const missing = (): string[] => [...store.latest()?.missing?.keys() ?? []]
  return { state, store, pass, missing, errors, told }
}

const namesIn = (store: ReturnType<typeof createManualStore>['store']): string[] => [
  ...store.latest()?.tables.keys() ?? []
]

t.test('what a reading lacks that a request has asked for is missing until a second ' +
  'reading, and then gone', async (t) => {
  const { state, store, pass, missing } = await createTickingStore(t as Test, [tableWith('a', 'x'), tableWith('b')])
  state.tables = [tableWith('a')]
  await store.refresh()
  t.same(missing(), ['a', 'b'])
  t.equal(state.readings, 2)
  await pass(999)
  t.same(missing(), ['a', 'b'])
  await pass(1)
  t.equal(state.readings, 3)
  t.same(missing(), [])
  t.same([namesIn(store), store.latest()?.tables.get('a')?.columns.has('x')], [['a'], false])
  await pass(60_000)
  t.equal(state.readings, 3, 'and no more')
})

t.test('those who watch are told of what is certain: not that a table is gone for a moment, ' +
  'or there again', async (t) => {
  const { state, store, pass, told } = await createTickingStore(t as Test, [tableWith('a'), tableWith('b')])
  state.tables = [tableWith('a')]
  await store.refresh()
  await pass(800)
  store.look()
  await pass(199)
  t.same(told, ['a,b'])
  await pass(1)
  t.same(told, ['a,b', 'a'])
})

t.test('a reading in the background takes nothing away; a second one does', async (t) => {
  const { state, store, pass, missing } = await createTickingStore(t as Test, [tableWith('a', 'x'), tableWith('b')])
  state.tables = [tableWith('a'), tableWith('c')]
  await pass(HOUR)
  t.same([missing(), namesIn(store), store.latest()?.tables.get('a')?.columns.has('x')], [[], ['a', 'c', 'b'], true])
  state.tables = [tableWith('a'), tableWith('b'), tableWith('c')]
  await pass(1000)
  t.same(
    [namesIn(store), store.latest()?.tables.get('a')?.columns.has('x')], [['a', 'b', 'c'], false], 'b was there again'
  )
  await pass(60_000)
  t.equal(state.readings, 3)
})

t.test('readings for other reasons do not make sure that something is gone', async (t) => {
  const { state, store, pass, missing } = await createTickingStore(t as Test, [tableWith('a')])
  state.tables = []
  for (let time = 0; time < 20; time++) await store.refresh()
  t.same(missing(), ['a'])
  state.tables = [tableWith('a')]
  await pass(1000)
  t.same([missing(), namesIn(store)], [[], ['a']])
  const { readings } = state
  await pass(60_000)
  t.equal(state.readings, readings)
})

t.test('tables that are dropped all the time cause one further reading in a second, and each ' +
  'is gone after two', async (t) => {
  const { state, store, pass, missing } = await createTickingStore(
    t as Test, Array.from({ length: 30 }, (_, index) => tableWith(`t${index}`))
  )
  for (let second = 0; second < 20; second++) {
    state.tables = state.tables.slice(1)
    await store.refresh()
    const { readings } = state
    t.ok(missing().length <= 2, `${missing()}`)
    await pass(1000)
    t.ok(state.readings <= readings + 1)
  }
  await pass(2000)
  t.same([missing(), namesIn(store).length], [[], 10])
})

t.test('a second reading that fails is repeated, and is no error of a refresh', async (t) => {
  const { state, store, pass, missing, errors } = await createTickingStore(t as Test, [tableWith('a')])
  state.tables = []
  await store.refresh()
  state.isDown = true
  for (let time = 0; time < 10; time++) await pass(1000)
  t.same(missing(), ['a'])
  t.same(errors, [])
  state.isDown = false
  await pass(1000)
  t.same(missing(), [])
  state.tables = [tableWith('c')]
  await store.refresh()
  state.tables = []
  await store.refresh()
  store.stop()
  const { readings } = state
  await pass(10_000)
  t.equal(state.readings, readings, 'none after the end')
})

t.test('a key of columns that its table lacks in a reading is read again, unless the ' +
  'account never sees them', async (t) => {
  const withKey = (name: string, key: string) => ({ ...tableWith(name), uniqueKeys: [{ name: 'k', columns: [key] }] })
  const { state, store, pass, missing } = await createTickingStore(t as Test, [tableWith('a')])
  for (const tables of [[withKey('a', 'later')], [withKey('a', 'later'), withKey('b', 'later')]]) {
    const { readings } = state
    state.tables = tables
    await store.refresh()
    await pass(60_000)
    t.equal(state.readings, readings + 2, 'once')
    await store.refresh()
    await pass(60_000)
    t.equal(state.readings, readings + 3)
  }
  state.tables = [withKey('a', 'id'), withKey('b', 'id')]
  await store.refresh()
  state.tables = [tableWith('a'), withKey('b', 'id')]
  await store.refresh()
  t.same(missing(), ['a'], 'without its key')
  await pass(1000)
  t.same(missing(), [])
})

const catalogs = [1, 2, 3].map((time) => createCatalog([], time)) as [Catalog, Catalog, Catalog]

t.test('concurrent requests wait for the first catalog together', async (t) => {
  const { store, answers, answer } = createManualStore()
  const waiting = [store.current(), store.current(), store.current()]
  t.equal(answers.length, 1)
  answer(0).resolve(catalogs[0])
  t.same(await Promise.all(waiting), [catalogs[0], catalogs[0], catalogs[0]])
  t.equal(await store.current(), catalogs[0], 'and kept')
  t.equal(answers.length, 1)
  store.stop()
})

t.test('if the first read fails, its waiters get the error, and the next request starts another read', async (t) => {
  const { store, answers, answer } = createManualStore()
  const first = store.current()
  answer(0).reject(new Error('down'))
  await t.rejects(Promise.resolve(first), { message: 'down' })
  const second = store.current()
  answer(1).resolve(catalogs[1])
  t.equal(await second, catalogs[1])
  t.equal(answers.length, 2)
  store.stop()
})

t.test('the old catalog is used while a refresh runs', async (t) => {
  const { store, answer } = createManualStore()
  const first = store.refresh()
  answer(0).resolve(catalogs[0])
  await first
  const second = store.refresh()
  t.equal(await store.current(), catalogs[0])
  answer(1).resolve(catalogs[1])
  t.equal(await second, catalogs[1])
  t.equal(await store.current(), catalogs[1])
  store.stop()
})

t.test('a refresh that fails keeps the old catalog', async (t) => {
  const { store, answer } = createManualStore()
  const first = store.refresh()
  answer(0).resolve(catalogs[0])
  await first
  const second = store.refresh()
  answer(1).reject(new Error('down'))
  await t.rejects(second, { message: 'down' })
  t.equal(await store.current(), catalogs[0])
  store.stop()
})

t.test('a refresh that is requested while one runs starts after it, because that one may have ' +
  'missed the change', async (t) => {
  const { store, answers, answer } = createManualStore()
  const first = store.refresh()
  const later = [store.refresh(), store.refresh(), store.refresh()]
  t.equal(answers.length, 1, 'one at a time')
  answer(0).resolve(catalogs[0])
  t.equal(await first, catalogs[0])
  t.equal(answers.length, 2, 'and one for all that waited')
  answer(1).resolve(catalogs[1])
  t.same(await Promise.all(later), [catalogs[1], catalogs[1], catalogs[1]])
  const last = store.refresh()
  answer(2).resolve(catalogs[2])
  t.equal(await last, catalogs[2])
  t.equal(answers.length, 3)
  store.stop()
})

t.test('a waiting refresh also starts if the previous one fails', async (t) => {
  const { store, answer } = createManualStore()
  const first = store.refresh()
  const second = store.refresh()
  answer(0).reject(new Error('down'))
  await t.rejects(first, { message: 'down' })
  answer(1).resolve(catalogs[1])
  t.equal(await second, catalogs[1])
  store.stop()
})

t.test('the catalog is read again after every interval, one read at a time', async (t) => {
  const clock = stoppedClock(t)
  const { store, answers, answer, errors } = createManualStore(HOUR / 1000)
  const first = store.current()
  await clock.pass(2 * HOUR / 1000)
  t.equal(answers.length, 1, 'a slow database is not asked again')
  answer(0).resolve(catalogs[0])
  await first
  await clock.pass(HOUR / 1000)
  t.equal(answers.length, 2)
  answer(1).reject(new Error('down'))
  await clock.pass(HOUR / 1000)
  t.equal(answers.length, 3)
  t.match(errors, [{ message: 'down' }], 'a failure in the background is told')
  t.equal(await store.current(), catalogs[0])
  answer(2).resolve(catalogs[2])
  await clock.pass(0)
  t.equal(await store.current(), catalogs[2])
  store.stop()
  await clock.pass(2 * HOUR / 1000)
  t.equal(answers.length, 3, 'and not any more when it is stopped')
})

t.test('what looks for something waits for one reading, and a reading counts for a second', async (t) => {
  const { store, answers, answer } = createManualStore()
  const first = createCatalog([tableWith('a')], 0)
  const second = createCatalog([tableWith('b')], 0)
  const looks = [store.look(), store.look()]
  t.equal(answers.length, 1)
  answer(0).resolve(first)
  t.same(await Promise.all(looks), [first, first])
  t.equal(await store.look(), first, 'a reading that has just begun')
  t.equal(answers.length, 1)
  await sleep(1010)
  const again = store.look()
  t.equal(answers.length, 2)
  answer(1).resolve(second)
  t.equal((await again).tables.has('b'), true)
  store.stop()
})
