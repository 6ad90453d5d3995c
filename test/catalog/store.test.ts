import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createCatalog, type Catalog } from '../../src/catalog/catalog.ts'
import { createCatalogStore } from '../../src/catalog/store.ts'
import { stoppedClock } from '../support/clock.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const HOUR = 3_600_000

/** A store whose loading is answered by hand: `answers[n]` ends the reading that was begun as the n-th. */
function createManualStore (interval = HOUR) {
  const answers: Array<PromiseWithResolvers<Catalog>> = []
  const errors: unknown[] = []
  const store = createCatalogStore({
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
  const store = createCatalogStore({
    load: async () => {
      state.readings++
      if (state.isDown) throw new Error('down')
      return createCatalog(state.tables, state.readings)
    },
    interval: HOUR,
    onError: (error) => { errors.push(error) }
  })
  t.teardown(() => { store.stop() })
  await store.refresh()
  const missing = (): string[] => [...store.latest()?.missing?.keys() ?? []]
  return { state, store, pass, missing, errors }
}

t.test('what a reading lacks is read again after 1, 2 and 4 seconds, and then gone', async (t) => {
  const { state, store, pass, missing } = await createTickingStore(t as Test, [tableWith('a', 'x'), tableWith('b')])
  state.tables = [tableWith('a')]
  await store.refresh()
  t.same(missing(), ['a', 'b'])
  t.equal(state.readings, 3, 'twice at once')
  for (const [milliseconds, readings] of [[999, 3], [1, 4], [999, 4], [1, 5], [1999, 5]] as const) {
    await pass(milliseconds)
    t.equal(state.readings, readings)
    t.same(missing(), ['a', 'b'])
  }
  await pass(1)
  t.equal(state.readings, 6)
  t.same(missing(), [])
  await pass(60_000)
  t.equal(state.readings, 6, 'and no more')
})

t.test('readings for other reasons do not make sure that something is gone', async (t) => {
  const { state, store, pass, missing } = await createTickingStore(t as Test, [tableWith('a')])
  state.tables = []
  for (let time = 0; time < 20; time++) await store.refresh()
  t.same(missing(), ['a'])
  state.tables = [tableWith('a')]
  await pass(1000)
  t.same(missing(), [])
  const { readings } = state
  await pass(60_000)
  t.equal(state.readings, readings)
})

t.test('tables that are dropped all the time cause one reading in a second, and each is gone after three', async (t) => {
  const { state, store, pass, missing } = await createTickingStore(t as Test, Array.from({ length: 30 }, (_, index) => tableWith(`t${index}`)))
  for (let second = 0; second < 20; second++) {
    state.tables = state.tables.slice(1)
    await store.refresh()
    const { readings } = state
    t.ok(missing().length <= 4, `${missing()}`)
    await pass(1000)
    t.ok(state.readings <= readings + 1)
  }
  await pass(1000)
  for (let time = 0; time < 2; time++) await pass(2000)
  t.same(missing(), [])
})

t.test('a confirmation that fails is repeated, and is no error of a refresh', async (t) => {
  const { state, store, pass, missing, errors } = await createTickingStore(t as Test, [tableWith('a')])
  state.tables = []
  await store.refresh()
  state.isDown = true
  for (let time = 0; time < 10; time++) await pass(2000)
  t.same(missing(), ['a'])
  t.same(errors, [])
  state.isDown = false
  for (let time = 0; time < 3; time++) await pass(2000)
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

const catalogs = [1, 2, 3].map((time) => createCatalog([], time)) as [Catalog, Catalog, Catalog]

t.test('concurrent requests wait for the first catalog together', async (t) => {
  const { store, answers, answer } = createManualStore()
  const waiting = [store.current(), store.current(), store.current()]
  t.equal(answers.length, 1)
  answer(0).resolve(catalogs[0])
  t.same(await Promise.all(waiting), [catalogs[0], catalogs[0], catalogs[0]])
  t.equal(store.current(), catalogs[0], 'and kept')
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
  t.equal(store.current(), catalogs[0])
  answer(1).resolve(catalogs[1])
  t.equal(await second, catalogs[1])
  t.equal(store.current(), catalogs[1])
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
  t.equal(store.current(), catalogs[0])
  store.stop()
})

t.test('a refresh that is requested while one runs starts after it, because that one may have missed the change', async (t) => {
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
  t.equal(store.current(), catalogs[0])
  answer(2).resolve(catalogs[2])
  await clock.pass(0)
  t.equal(store.current(), catalogs[2])
  store.stop()
  await clock.pass(2 * HOUR / 1000)
  t.equal(answers.length, 3, 'and not any more when it is stopped')
})

/** Refreshes a catalog with a reading that is read again. The result is in an object, because a promise would be awaited. */
async function beginRefresh (t: Pick<Test, 'equal'>, before: Catalog, reading: Catalog) {
  const manual = createManualStore()
  const { store, answers, answer } = manual
  const first = store.current()
  answer(0).resolve(before)
  await first
  const refreshed = store.refresh()
  answer(1).resolve(reading)
  await sleep(1)
  t.equal(answers.length, 3)
  return { ...manual, refreshed }
}

t.test('a catalog that lacks a table or a key that was there is read again', async (t) => {
  const orders = tableOf({ name: 'orders', columns: [mysqlColumn('id', 'int')], uniqueKeys: [{ name: 'PRIMARY', columns: ['id'] }] })
  const facts = { ...orders, columns: orders.columnList }
  const [whole, without, withoutKey] = [createCatalog([facts], 1), createCatalog([], 2), createCatalog([{ ...facts, uniqueKeys: [] }], 3)]
  for (const [lacking, second] of [[without, whole], [withoutKey, whole], [without, without], [withoutKey, withoutKey]] as const) {
    const { store, answers, answer, refreshed } = await beginRefresh(t, whole, lacking)
    t.equal(store.latest(), whole, 'what there was goes on serving')
    answer(2).resolve(second)
    t.equal((await refreshed).tables, second.tables, 'the second reading counts')
    t.same([...(await refreshed).missing?.keys() ?? []], second === whole ? [] : ['orders'], 'what it lacks may come back')
    t.equal(answers.length, 3)
    store.stop()
  }
})

t.test('a catalog with a key of columns that its table does not have is read again', async (t) => {
  const keys = (column: string) => ({ uniqueKeys: [{ name: 'PRIMARY', columns: [column] }], foreignKeys: [{ name: 'f', columns: [column], referencedTable: 'p', referencedColumns: ['id'] }] })
  const facts = { ...tableOf({ name: 'lines', columns: [mysqlColumn('row_no', 'int')] }), columns: [mysqlColumn('row_no', 'int')] }
  const [before, after] = [createCatalog([{ ...facts, ...keys('row_no') }], 1), createCatalog([{ ...facts, columns: [mysqlColumn('line', 'int')], ...keys('line') }], 3)]
  const [withoutKey, withoutForeignKey] = [{ foreignKeys: keys('row_no').foreignKeys, uniqueKeys: keys('line').uniqueKeys }, { ...keys('row_no'), foreignKeys: keys('line').foreignKeys }]
  for (const torn of [withoutKey, withoutForeignKey].map((part) => createCatalog([{ ...facts, ...part }], 2))) {
    const { store, answers, answer } = createManualStore()
    const first = store.current()
    answer(0).resolve(torn)
    await sleep(1)
    t.equal(answers.length, 2, 'the first reading too')
    answer(1).resolve(before)
    t.equal((await first).tables, before.tables)
    const refreshed = store.refresh()
    answer(2).resolve(torn)
    await sleep(1)
    t.equal(answers.length, 4)
    answer(3).resolve(after)
    t.equal((await refreshed).tables, after.tables)
    store.stop()
  }
})

t.test('a catalog with such a key is read again also where the table or the key is new', async (t) => {
  const facts = { ...tableOf({ name: 'lines', columns: [column] }), columns: [column] }
  const withKey = (name: string) => createCatalog([{ ...facts, columns: [mysqlColumn(name, 'int')], uniqueKeys: [{ name: 'PRIMARY', columns: [name] }] }], 3)
  const torn = createCatalog([{ ...facts, uniqueKeys: [{ name: 'k', columns: ['later'] }] }], 2)
  for (const [before, after] of [[createCatalog([], 1), withKey('later')], [createCatalog([facts], 1), createCatalog([facts], 3)]] as const) {
    const { store, answer, refreshed } = await beginRefresh(t, before, torn)
    answer(2).resolve(after)
    t.equal(await refreshed, after)
    store.stop()
  }
})

t.test('keys of columns that the account never sees are no reason to read the catalog twice each time', async (t) => {
  const hidden = createCatalog([{ ...tableOf({ name: 'lines', columns: [column] }), columns: [column], uniqueKeys: [{ name: 'k', columns: ['secret'] }] }], 1)
  const { store, answers, answer } = createManualStore()
  const first = store.current()
  answer(0).resolve(hidden)
  await sleep(1)
  answer(1).resolve(hidden)
  await first
  const refreshed = store.refresh()
  answer(2).resolve(hidden)
  t.same([...(await refreshed).missing?.keys() ?? []], [])
  t.equal(answers.length, 3)
  // another such table is read twice once
  const both = createCatalog(['lines', 'notes'].map((name) => ({ ...tableOf({ name, columns: [column] }), columns: [column], uniqueKeys: [{ name: 'k', columns: ['secret'] }] })), 2)
  for (const [index, readings] of [[3, 2], [5, 1]] as const) {
    const again = store.refresh()
    for (let reading = 0; reading < readings; reading++) {
      answer(index + reading).resolve(both)
      await sleep(1)
    }
    await again
    t.equal(answers.length, index + readings)
  }
  store.stop()
})
