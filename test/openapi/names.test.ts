import t from 'tap'
import { createNames, pascalCase } from '../../src/openapi/names.ts'

const cases: Array<[text: string, name: string]> = [
  ['orders', 'Orders'],
  ['order_items', 'OrderItems'],
  ['orderItems', 'OrderItems'],
  ['ORDER-ITEMS', 'OrderItems'],
  ['HTTPLogs', 'HttpLogs'],
  ['log2024', 'Log2024'],
  ['2024_logs', 'Table2024Logs'],
  ['Größe täglich', 'GroETaglich'],
  ['名前', 'Table'],
  ['', 'Table'],
  ['__proto__', 'Proto'],
  ['a.b/c d', 'ABCD']
]

for (const [text, name] of cases) {
  t.test(`${JSON.stringify(text)} becomes ${name}`, async (t) => { t.equal(pascalCase(text), name) })
}

t.test('a name is reserved with all endings, case-insensitively, and numbered if in use', async (t) => {
  const names = createNames(['OrdersRow'])
  t.equal(names.take('Orders', ['Row', 'Insert']), 'Orders2')
  t.equal(names.take('orders', ['Insert', 'Update']), 'orders')
  t.equal(names.take('ORDERS', ['Update']), 'ORDERS2')
  t.equal(names.take('Other'), 'Other')
  t.equal(names.take('Other'), 'Other2')
  t.equal(names.take('Other'), 'Other3')
})

t.test('hundreds of equal names cost no more than others', async (t) => {
  const names = createNames([])
  const endings = ['Row', 'Insert', 'Update']
  let asked = 0
  const counting = { map: (each: (ending: string) => string) => endings.map((ending) => { asked++; return each(ending) }) } as unknown as string[]
  const taken = Array.from({ length: 1000 }, () => names.take(pascalCase('名前'), counting))
  t.equal(new Set(taken).size, 1000)
  t.ok(asked < 10_000, `${asked} candidates`)
})
