// night: reads values of tens of megabytes
/** Values of megabytes: written in pieces, whole and in their order, in every kind of answer. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { onEachEngine, TOKEN, type EngineName, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const MEGABYTE = 1_048_576
const LENGTH = 3 * MEGABYTE

/** SQL of a text of `LENGTH` characters, made of one character. */
const repeated = (engine: EngineName, character: string): string => engine === 'sqlite'
  ? `replace(hex(zeroblob(${LENGTH / 2})), '0', '${character}')`
  : `repeat('${character}', ${LENGTH})`
const document = (engine: EngineName): string => engine === 'sqlite'
  ? `'["' || ${repeated(engine, 'j')} || '", 1.50]'`
  : `concat('["', ${repeated(engine, 'j')}, '", 1.5]')`
const schema = (engine: EngineName): string[] => [
  `create table wide (id integer primary key, text ${engine === 'sqlite' ? 'text' : 'longtext'},
    raw ${engine === 'sqlite' ? 'blob' : 'longblob'}, doc json, parent integer)`,
  'create index by_parent on wide (parent)',
  "insert into wide values (1, 'short', null, '[1]', null)",
  `insert into wide values
    (2, ${repeated(engine, '"')}, null, null, 1),
    (3, null, cast(${repeated(engine, 'x')} as ${engine === 'sqlite' ? 'blob' : 'binary'}), null, 1),
    (4, 'between', null, '"text"', 1), (5, null, null, ${document(engine)}, 3)`,
  "insert into wide values (6, 'last', null, null, 3)"
]
const DOCUMENT = ['j'.repeat(LENGTH), 1.5]
const texts = [null, 'short', '"'.repeat(LENGTH), null, 'between', null, 'last']
const raw = Buffer.alloc(LENGTH, 'x').toString('base64')
const docs = [null, [1], null, null, 'text', DOCUMENT, null]
const parents = [null, null, 1, 1, 1, 3, 3]
const rows = [1, 2, 3, 4, 5, 6].map(
  (id) => ({ id, text: texts[id], raw: id === 3 ? raw : null, doc: docs[id], parent: parents[id] })
)

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')
const stream = async ({ post }: Service, accept: string, body: object): Promise<string> =>
  (await post('wide', { verb: 'select', orderBy: 'id', ...body }, { headers: { accept } })).text
const lines = (text: string): unknown[] => text.trimEnd().split('\n').map((line) => JSON.parse(line))
const database = { resultLimit: 40 * MEGABYTE }
const options = { limits: { answerMemory: 160 * MEGABYTE } }

await onEachEngine(t, 'long values are whole and in their ' +
  'order in every answer', { schema, options, database }, async (t, service) => {
  const { post, operate } = service
  const { json } = await post('wide', { verb: 'select', orderBy: 'id' })
  t.strictSame(hashOf(JSON.stringify(json.data.rows)), hashOf(JSON.stringify(rows)), 'JSON')
  t.match(await post('wide', { verb: 'select', orderBy: 'id', after: null, limit: 3, columns: ['id', 'raw'] }), {
    json: { data: { count: 3, next: { id: 3 } } }
  }, 'a page')

  const related = (row: { parent?: number | null | undefined }) => rows.find(({ id }) => id === row.parent) ?? null
  const include = {
    up: { table: 'wide', on: { parent: 'id' } }, down: { table: 'wide', on: { id: 'parent' }, limit: 5 }
  }
  const nested = rows.map((row) => ({ ...row, up: related(row), down: rows.filter(({ parent }) => parent === row.id) }))
  const { json: { data } } = await post('wide', { verb: 'select', orderBy: 'id', include })
  t.equal(hashOf(JSON.stringify(data.rows)), hashOf(JSON.stringify(nested)), 'members')

  const { json: { data: { results } } } = await operate([{ table: 'wide', verb: 'select', orderBy: 'id' }, {
    table: 'wide', verb: 'update', filters: { id: [1, 2] }, data: { parent: 6 }, returning: ['id', 'text']
  }])
  t.equal(hashOf(JSON.stringify(results[0].rows)), hashOf(JSON.stringify(rows)), 'operations')
  t.same(results[1].rows.map(({ text }: { text: string }) => text.length), [5, LENGTH], 'returning')
})

await onEachEngine(t, 'long values are whole and in their ' +
  'order in every stream', { schema, options, database }, async (t, service) => {
  t.equal(hashOf(JSON.stringify(lines(await stream(service, 'application/x-ndjson', {})))), hashOf(
    JSON.stringify(rows)
  ), 'NDJSON')
  const include = { up: { table: 'wide', on: { parent: 'id' } } }
  const columns = ['id', 'parent']
  const small = rows.map(({ id, parent }) => ({ id, parent, up: rows.find((row) => row.id === parent) ?? null }))
  t.equal(
    hashOf(JSON.stringify(lines(await stream(service, 'application/x-ndjson', { columns, include })))),
    hashOf(JSON.stringify(small)), 'with members'
  )
  const csv = await stream(service, 'text/csv', {})
  const json = service.engine === 'sqlite'
    ? `"[""${'j'.repeat(LENGTH)}"", 1.50]"`
    : `"[""${'j'.repeat(LENGTH)}"", 1.5]"`
  const expected = [
    'id,text,raw,doc,parent', '1,short,,[1],', `2,"${'"'.repeat(2 * LENGTH)}",,,1`, `3,,${raw},,1`,
    '4,between,,"""text""",1', `5,,,${json},3`, '6,last,,,3', ''
  ]
  t.equal(hashOf(csv), hashOf(expected.join('\r\n')), 'CSV')
  const members = (await stream(service, 'text/csv', {
    columns: ['id'],
    include: { up: { table: 'wide', on: { parent: 'id' }, columns: ['text'] } },
    filters: { id: [1, 4, 5] }
  })).split('\r\n')
  t.equal(
    hashOf(members.join('\n')),
    hashOf(['id,up', '1,', '4,"{""text"":""short""}"', '5,"{""text"":null}"', ''].join('\n')), 'CSV with members'
  )
  const [, long] = (await stream(service, 'text/csv', {
    columns: ['id'], filters: { id: 5 }, include: { up: { table: 'wide', on: { parent: 'id' }, columns: ['raw'] } }
  })).split('\r\n')
  t.equal(hashOf(long as string), hashOf(`5,"{""raw"":""${raw}""}"`), 'CSV with a long member')
})

await onEachEngine(t, 'a connection that has sent a long value that is too large is used again', {
  schema, options, database: { resultLimit: 2 * LENGTH, pool: { size: 1 } }
}, async (t, service) => {
  for (let each = 0; each < 3; each++) {
    t.match(await service.post('wide', { verb: 'select', orderBy: 'id' }), {
      status: 422, json: { error: { code: 'RESULT_TOO_LARGE' } }
    })
    t.match(await service.post('wide', { verb: 'select', filters: { id: 6 } }), {
      json: { data: { rows: [{ text: 'last' }] } }
    })
  }
})

await onEachEngine(t, 'clients that leave while a long value is ' +
  'written keep nothing', { schema, options, database: { pool: { size: 1 } } }, async (t, service) => {
  const { server: { app }, post } = service
  await app.listen({ host: '127.0.0.1', port: 0 })
  for (const accept of ['application/json', 'text/csv']) {
    for (let pause = 0; pause < 6; pause++) {
      const leaving = new AbortController()
      const asked = fetch(`${app.listeningOrigin}/api/shop/wide`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept },
        body: '{"verb":"select"}',
        signal: leaving.signal
      })
      setTimeout(() => leaving.abort(), pause * 15)
      await asked.then((answer) => answer.arrayBuffer()).catch(() => {})
    }
    await until(
      'the connection is free', async () => (await post('wide', { verb: 'select', filters: { id: 6 } })).status === 200
    )
  }
  t.match(await post('wide', { verb: 'select', orderBy: 'id' }), { status: 200, json: { data: { count: 6 } } })
})
