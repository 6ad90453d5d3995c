import { spawnSync } from 'node:child_process'
import t from 'tap'
import { toDateTime, toSeconds } from '../../src/demo/calendar.ts'
import { PERSONS } from '../../src/demo/names.ts'
import { createRandom } from '../../src/demo/random.ts'
import { createRows } from '../../src/demo/rows.ts'

const json = (seed: number) => JSON.stringify(createRows(createRandom(seed)))
const isWholeCents = (amount: number) => Math.round(amount * 100) / 100 === amount

t.test('the rows depend on the seed alone', async (t) => {
  t.equal(json(7), json(7))
  t.not(json(7), json(8))
})

t.test('the rows are the same in another zone and language', async (t) => {
  const url = (name: string) => JSON.stringify(new URL(`../../src/demo/${name}.ts`, import.meta.url).href)
  const script = `
    import { createRandom } from ${url('random')}
    import { createRows } from ${url('rows')}
    process.stdout.write(JSON.stringify(createRows(createRandom(7))))`
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    env: { ...process.env, TZ: 'Pacific/Chatham', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' }
  })
  t.equal(child.stdout, json(7))
})

t.test('every seed makes a shop that holds together', async (t) => {
  for (let seed = 0; seed < 50; seed++) {
    const { customers, products, orders, order_items: items } = createRows(createRandom(seed))
    const ok = [
      new Set(customers.map((row) => row.email)).size === 60,
      new Set(products.map((row) => row.sku)).size === 40,
      products.every((row) => row.sku.length <= 20 && row.price > 0 && isWholeCents(row.price)),
      items.every((row) => isWholeCents(row.unit_price)),
      orders.every((row) => isWholeCents(row.total) && row.ordered_at >= (customers[row.customer_id - 1]?.created_at ?? '~')),
      items.length > 280 && items.length < 420
    ]
    t.strictSame(ok, ok.map(() => true), `seed ${seed}`)
  }
})

t.test('names keep their letters and addresses are plain, unique and reach nobody', async (t) => {
  const addresses = PERSONS.map((person) => person.email)
  t.equal(new Set(addresses).size, PERSONS.length)
  t.strictSame(addresses.filter((email) => !/^[a-z]+\.[a-z]+@example\.com$/.test(email)), [])
  t.strictSame(PERSONS.filter((person) => person.name.includes('/')), [])
  t.match(PERSONS.find((person) => person.email === 'hana.sato@example.com'), { name: '佐藤 花', country: 'JP' })
  t.match(PERSONS.find((person) => person.email === 'lukasz.wojcik@example.com'), { name: 'Łukasz Wójcik' })
})

t.test('a time is written in UTC and read back', async (t) => {
  t.equal(toDateTime(0), '1970-01-01 00:00:00')
  t.equal(toSeconds('2024-02-29 23:59:58'), Date.UTC(2024, 1, 29, 23, 59, 58) / 1000)
  t.equal(toDateTime(toSeconds('2024-02-29 23:59:58')), '2024-02-29 23:59:58')
})
