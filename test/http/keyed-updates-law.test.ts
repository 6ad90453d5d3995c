// night: many random cases
/** An update of many rows is the same as single updates in its order, and two of them in opposite orders both happen. */
import fc from 'fast-check'
import t from 'tap'
import { onEachEngine } from '../support/service.ts'
import '../support/seed.ts'

let big = 10n ** 28n
const codeOf = (id: number): bigint => big + BigInt(id)
const columns = (engine: string) => `id ${engine === 'sqlite' ? 'integer' : 'bigint'} primary key, code decimal(30,0) not null unique, n int not null, v varchar(10), flag int`
const schema = (engine: string): string[] => {
  // SQLite stores a number of more digits as a double
  big = engine === 'sqlite' ? 10n ** 12n : 10n ** 28n
  return ['a', 'b'].flatMap((name) => [
    `create table ${name} (${columns(engine)})`,
    `insert into ${name} values ${Array.from({ length: 40 }, (_, id) => `(${9007199254740993n + BigInt(id)}, ${codeOf(id)}, ${id}, 'v${id}', 0)`).join(', ')}`
  ])
}

const value = {
  n: fc.oneof(fc.integer({ min: -99, max: 99 }), fc.record({ $inc: fc.integer({ min: -9, max: 9 }) })),
  v: fc.option(fc.string({ minLength: 1, maxLength: 5, unit: 'grapheme-ascii' })),
  flag: fc.integer({ min: 0, max: 3 })
}
const changes = fc.record(value, { requiredKeys: [] }).filter((each) => Object.keys(each).length > 0)
const entries = fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 50 }), changes), { minLength: 1, maxLength: 30, selector: ([id]) => id })

await onEachEngine(t, 'entries equal single updates', { schema }, async (t, { post, sql }) => {
  const rows = async (name: string) => JSON.stringify(await sql(`select cast(id as char) as id, n, v, flag from ${name} order by 1`), (_, each) => typeof each === 'bigint' ? String(each) : each)
  await fc.assert(fc.asyncProperty(entries, fc.boolean(), fc.boolean(), async (list, byId, filtered) => {
    const keyOf = (id: number) => byId ? { id: String(9007199254740993n + BigInt(id)) } : { code: String(codeOf(id)) }
    const toNumber = (key: object) => JSON.stringify(key).replace(/"(\d+)"/g, '$1')
    const filters = filtered ? { flag: { $lt: 3 } } : {}
    const data = `[${list.map(([id, values]) => `{${toNumber(keyOf(id)).slice(1, -1)},${JSON.stringify(values).slice(1, -1)}}`).join(',')}]`
    const many = await post('a', `{"verb":"update","key":["${byId ? 'id' : 'code'}"],"filters":${JSON.stringify(filters)},"data":${data}}`)
    t.equal(many.status, 200, many.text)
    let updated = 0
    for (const [id, values] of list) {
      const one = await post('b', `{"verb":"update","filters":{${toNumber(keyOf(id)).slice(1, -1)}${filtered ? ',"flag":{"$lt":3}' : ''}},"data":${JSON.stringify(values)}}`)
      updated += one.json.data.updated
    }
    t.equal(many.json.data.updated, updated)
    t.equal(await rows('a'), await rows('b'))
  }), { numRuns: 60 })
})

await onEachEngine(t, 'two clients with the same rows in opposite orders', { schema }, async (t, { post, sql }) => {
  const data = Array.from({ length: 40 }, (_, id) => ({ code: String(codeOf(id)), n: { $inc: 1 } }))
  const times = 200
  const send = async (list: typeof data) => {
    for (let count = 0; count < times; count++) t.equal((await post('a', { verb: 'update', key: ['code'], filters: {}, data: list })).status, 200)
  }
  await Promise.all([send(data), send(data.toReversed())])
  t.same((await sql('select cast(id as char) as id from a where n - (select b.n from b where b.id = a.id) <> ' + 2 * times)), [])
})

await onEachEngine(t, 'a thousand entries, with some that find nothing', { schema }, async (t, { post, sql }) => {
  await sql('delete from a')
  const rows = Array.from({ length: 1000 }, (_, index) => ({ id: index + 1, code: index + 1, n: 0 }))
  t.match(await post('a', { verb: 'insert', data: rows }), { status: 200 })
  await sql('delete from a where id % 7 = 0 and id > 300')
  const data = rows.map(({ id }) => ({ id, n: id })).reverse()
  t.match(await post('a', { verb: 'update', key: ['id'], filters: {}, data }), { status: 200, json: { data: { updated: 900 } } })
  t.match(await sql('select count(*) as n from a where id <> n'), [{ n: /^0n?$/ }])
})
