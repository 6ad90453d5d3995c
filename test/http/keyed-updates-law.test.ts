// night: many random cases
/**
 * An update of many rows is the same as single updates in its order, and two of them in opposite orders both happen.
 */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { onEachEngine, type Service } from '../support/service.ts'
import { seed } from '../support/seed.ts'
import { declare, groupsOn, sampleOf } from '../support/typed-columns.ts'

let big = 10n ** 28n
const codeOf = (id: number): bigint => big + BigInt(id)
const schema = (engine: string): string[] => {
  // SQLite stores a number of more digits as a double
  big = engine === 'sqlite' ? 10n ** 12n : 10n ** 28n
  return ['a', 'b'].flatMap((name) => [
    `create table ${name} (id ${engine === 'sqlite' ? 'integer' : 'bigint'} primary key,
      code decimal(30,0) not null unique, n int not null, v varchar(10), flag int)`,
    `insert into ${name} values ${Array.from(
      { length: 40 }, (_, id) => `(${9007199254740993n + BigInt(id)}, ${codeOf(id)}, ${id}, 'v${id}', 0)`
    ).join(', ')}`
  ])
}

const value = {
  n: fc.oneof(fc.integer({ min: -99, max: 99 }), fc.record({ $inc: fc.integer({ min: -9, max: 9 }) })),
  v: fc.option(fc.string({ minLength: 1, maxLength: 5, unit: 'grapheme-ascii' })),
  flag: fc.integer({ min: 0, max: 3 })
}
const changes = fc.record(value, { requiredKeys: [] }).filter((each) => Object.keys(each).length > 0)
const entries = fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 50 }), changes), {
  minLength: 1, maxLength: 30, selector: ([id]) => id
})

await onEachEngine(t, 'entries equal single updates', { schema }, async (t, { post, sql }) => {
  const rows = async (name: string) => JSON.stringify(
    await sql(`select cast(id as char) as id, n, v, flag from ${name} order by 1`),
    (_, each) => typeof each === 'bigint' ? String(each) : each
  )
  await fc.assert(fc.asyncProperty(entries, fc.boolean(), fc.boolean(), async (list, byId, filtered) => {
    const keyOf = (id: number) => byId ? { id: String(9007199254740993n + BigInt(id)) } : { code: String(codeOf(id)) }
    const toNumber = (key: object) => JSON.stringify(key).replace(/"(\d+)"/g, '$1')
    const filters = filtered ? { flag: { $lt: 3 } } : {}
    const fieldsOf = (id: number) => toNumber(keyOf(id)).slice(1, -1)
    const data = list.map(([id, values]) => `{${fieldsOf(id)},${JSON.stringify(values).slice(1, -1)}}`).join(',')
    const many = await post(
      'a', `{"verb":"update","key":["${byId ? 'id' : 'code'}"],"filters":${JSON.stringify(filters)},"data":[${data}]}`
    )
    t.equal(many.status, 200, many.text)
    let updated = 0
    for (const [id, values] of list) {
      const one = await post('b', `{"verb":"update","data":${JSON.stringify(values)},` +
        `"filters":{${fieldsOf(id)}${filtered ? ',"flag":{"$lt":3}' : ''}}}`)
      updated += one.json.data.updated
    }
    t.equal(many.json.data.updated, updated)
    t.equal(await rows('a'), await rows('b'))
  }), { numRuns: 60 })
})

await onEachEngine(t, 'two clients with the same rows in opposite orders', { schema }, async (t, { post, sql }) => {
  const data = Array.from({ length: 8 }, (_, id) => ({ code: String(codeOf(id)), n: { $inc: 1 } }))
  const times = 1000
  const send = async (list: typeof data) => {
    for (let count = 0; count < times; count++) {
      t.equal((await post('a', { verb: 'update', key: ['code'], filters: {}, data: list })).status, 200)
    }
  }
  await Promise.all([send(data), send(data.toReversed())])
  t.same((await sql('select cast(id as char) as id from a where n - (select b.n from b where b.id = a.id) <> ' +
    'case when code < ' + codeOf(8) + ' then ' + 2 * times + ' else 0 end')), [])
})

const ROWS = 25

await onEachEngine(t, 'values of every type are written as by single updates', {
  schema: (engine) => groupsOn(engine).flatMap((columns, number) => ['one', 'many'].map(
    (name) => `create table ${name}${number} (id integer primary key, ${declare(engine, columns)})`
  )),
  options: { bodyLimit: 16_000_000 }
}, async (t, { engine, post, operate, statements }) => {
  const joined: string[] = []
  for (const [number, columns] of groupsOn(engine).entries()) {
    for (const name of ['one', 'many']) {
      t.equal((await post(`${name}${number}`, {
        verb: 'insert', data: Array.from({ length: ROWS }, (_, id) => ({ id }))
      })).status, 200)
    }
    const read = async (name: string) => (await post(`${name}${number}`, { verb: 'select', orderBy: 'id' })).text
    for (const [index, column] of columns.entries()) {
      const { declaration } = column
      const sample = (offset: number) => sampleOf(column, ROWS, index + offset)
      // twice, so that the second one leaves some rows as they are
      for (const texts of [sample(0), sample(0).map((text, row) => row % 3 === 0 ? text : sample(1)[row])]) {
        statements()
        const entries = texts.map((text, id) => `{"c${index}":${text},"id":${id}}`).join()
        const many = await post(`many${number}`, `{"verb":"update","key":["id"],"filters":{},"data":[${entries}]}`)
        if (statements().some((sql) => sql.includes('straight_join'))) joined.push(declaration)
        const single = await operate(`{"operations":[${texts.map((text, id) =>
          `{"table":"one${number}","verb":"update","filters":{"id":${id}},"data":{"c${index}":${text}}}`).join()}]}`)
        if (many.status !== 200) { t.fail(`${declaration}: ${many.text}`, { seed }); continue }
        const updated = single.json.data.results.reduce(
          (sum: number, { updated }: { updated: number }) => sum + updated, 0
        )
        t.equal(many.json.data.updated, updated, `${declaration}, seed ${seed}`)
        t.equal(await read('many'), await read('one'), `${declaration}, seed ${seed}`)
      }
    }
  }
  t.equal(joined.length > 50, engine !== 'sqlite', `by one statement: ${joined.join(', ')}`)
})

const MANY = 1000
const wide = (engine: string): string[] => ['many', 'one'].flatMap((name) => [
  `create table ${name} (id ${engine === 'sqlite' ? 'integer' : 'bigint'} primary key,
    sku varchar(20) collate ${engine === 'sqlite' ? 'nocase' : 'utf8mb4_general_ci'} not null unique,
    tenant int not null, number int not null, n int not null, v varchar(20), meta json, unique (tenant, number))`,
  `insert into ${name} (id, sku, tenant, number, n) values ${Array.from(
    { length: MANY }, (_, id) => `(${id}, 's${id}', ${id % 3}, ${id}, ${id})`
  ).join(', ')}`
])

/**
 * A thousand entries of five shapes: by number, in different columns, by operators, by text in other letters, by two
 * columns.
 */
const shapes: ReadonlyArray<[name: string, key: string[], entry: (id: number) => object]> = [
  ['the same columns', ['id'], (id) => ({ id, n: id * 7, v: id % 5 === 0 ? null : `v${id}` })],
  [
    'different columns', ['id'],
    (id) => ({ id, ...id % 2 === 0 ? { n: -id } : { v: `w${id}` }, ...id % 3 === 0 && { meta: { id } } })
  ],
  [
    'operators', ['id'],
    (id) => ({ id, n: { $inc: id % 4 - 1 }, ...id % 2 === 0 && { meta: { $merge: { [`k${id % 3}`]: id } } } })
  ],
  ['keys equal by collation, which are written', ['sku'], (id) => ({ sku: `S${id}`, v: `x${id}`, number: id + 5000 })],
  ['two columns', ['number', 'tenant'], (id) => ({ tenant: id % 3, number: id + 5000, v: 'same', n: id % 2 })]
]

const sendOne = async (t: Test, { operate }: Service, operations: object[]): Promise<number> => {
  let updated = 0
  for (let from = 0; from < operations.length; from += 50) {
    const { status, json, text } = await operate({ operations: operations.slice(from, from + 50) })
    if (status !== 200) t.fail(text)
    updated += json.data.results.reduce((sum: number, { updated }: { updated: number }) => sum + updated, 0)
  }
  return updated
}

await onEachEngine(t, 'a thousand entries in five shapes equal a thousand single ' +
  'updates on a copy', { schema: wide }, async (t, service) => {
  const read = async (name: string) => {
    const texts = []
    for (const tenant of [0, 1, 2]) {
      texts.push((await service.post(name, { verb: 'select', filters: { tenant }, orderBy: 'id', limit: 1000 })).text)
    }
    return texts
  }
  for (const [name, key, entry] of shapes) {
    // some have no row
    const data = Array.from(
      { length: MANY }, (_, index) => entry((index * 387) % MANY + (index % 50 === 0 ? 20_000 : 0))
    ) as Array<Record<string, unknown>>
    const many = await service.post('many', { verb: 'update', key, filters: { tenant: { $ne: 1 } }, data })
    if (many.status !== 200) { t.fail(many.text); return }
    const updated = await sendOne(t, service, data.map((each) => ({
      table: 'one',
      verb: 'update',
      filters: { tenant: { $ne: 1 }, $and: [Object.fromEntries(key.map((column) => [column, each[column]]))] },
      data: Object.fromEntries(Object.entries(each).filter(([column]) => !key.includes(column)))
    })))
    t.equal(many.json.data.updated, updated, name)
    t.ok(updated > 400, `${name}: ${updated}`)
    t.strictSame(await read('many'), await read('one'), name)
  }
})
