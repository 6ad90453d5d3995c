import t from 'tap'
import { onEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const select = { verb: 'select', columns: ['id'] }

await onEachEngine(t, 'with serverTiming, answers have the durations of planning, the database and the whole request', { schema: shop, options: { serverTiming: true } }, async (t, { post }) => {
  const timing = async (body: unknown) => {
    const header = String((await post('customers', body)).headers['server-timing'])
    const [, plan, db, total] = /^plan;dur=(\d+\.\d{3}), db;dur=(\d+\.\d{3}), total;dur=(\d+\.\d{3})$/.exec(header) ?? []
    return { plan: Number(plan), db: Number(db), total: Number(total) }
  }
  const { plan, db, total } = await timing(select)
  t.ok(plan > 0 && db > 0 && plan + db <= total + 0.002, JSON.stringify({ plan, db, total }))
  const refused = await timing({ ...select, columns: ['nope'] })
  t.ok(refused.plan > 0 && refused.db === 0 && refused.plan <= refused.total, JSON.stringify(refused))
  t.match(await timing('{'), { plan: 0, db: 0, total: Number })
})

await onEachEngine(t, 'without serverTiming there is no Server-Timing header', { schema: shop, only: ['sqlite'] }, async (t, { post }) => {
  t.notOk('server-timing' in (await post('customers', select)).headers)
})
