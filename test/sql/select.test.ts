/** The SQL of selects that golden/*.sql do not show. */
import t from 'tap'
import type { Condition, ManyMember } from '../../src/plan/plan.ts'
import { compileStatement } from '../../src/sql/statement-cache.ts'
import { compileRelated, type OnValues } from '../../src/sql/related-rows.ts'
import { orders } from '../support/sql.ts'

t.test('a condition that is always true can be compiled', async (t) => {
  const table = orders.mysql
  const always: Condition = { kind: 'constant', value: true }
  t.equal(compileStatement({ verb: 'delete', table, condition: { kind: 'not', condition: always } }, 'mysql')
    .sql, 'delete from `orders` where not (1 = 1)')
})

/** How many values each part of a statement has, and how many parts there are. */
const VALUES = 9000
const PARTS = 40

for (const engine of ['mysql', 'sqlite'] as const) {
  await t.test('the statements of a member whose filters have many values are not built at once, ' +
    `which blocked the process for seconds (${engine})`, async (
    t
  ) => {
    const table = orders[engine]
    const [id, name] = [...table.columns.values()] as [ManyMember['columns'][0], ManyMember['columns'][0]]
    const member: ManyMember = {
      kind: 'many',
      name: 'orders',
      table,
      on: [{ column: name, other: name }],
      condition: {
        kind: 'in', column: id, negated: false, parameters: Array.from({ length: VALUES }, (_, index) => index)
      },
      columns: [id],
      members: [],
      order: [{ column: id, direction: 'asc' }],
      limit: 10,
      index: undefined
    }
    let taken = 0
    const onValues = {
      * [Symbol.iterator] (): Generator<OnValues> {
        for (; taken < PARTS; taken++) yield { id: taken, values: [`name ${taken}`] }
      }
    }
    const parts: number[] = []
    for (const { parameters, sql } of compileRelated(member, onValues as unknown as readonly OnValues[], {
      engine, counts: { cached: 0, built: 0 }
    })) {
      const count = sql.split(' union all ').length
      parts.push(count)
      t.equal(parameters.length, count * (VALUES + 3))
      t.ok(parameters.length <= 30_000)
      t.ok(taken <= parts.reduce((sum, each) => sum + each) + 1, 'later parts have not been looked at')
    }
    t.equal(parts.reduce((sum, each) => sum + each), PARTS)
  })
}
