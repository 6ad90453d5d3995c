// night: large documents and answers
/** Rows from the wire as bytes, and their plain twin by mysql2's public ways: the same answers to the byte. */
import fc from 'fast-check'
import t from 'tap'
import { writeStatement } from '../../src/dialects/mysql/statement-command.ts'
import { ResponseSink } from '../../src/response/response-sink.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { connect, readTables, run, selectAll, senders, sendStatement, textOf } from '../support/mysql.ts'
import { seed } from '../support/seed.ts'
import { onEachEngine } from '../support/service.ts'
import { mysqlGroups } from '../support/typed-columns.ts'

const ROWS = 60

for (const engine of await engines()) {
  t.test(`both readers write the same bytes for every type (${engine.name})`, async (t) => {
    for (const [group, all] of Object.entries(mysqlGroups)) {
      const columns = all.filter(({ only }) => only === undefined || only === engine.name)
      if (columns.length === 0) continue
      const database = await createTestDatabase(
        engine,
        [`create table one (id integer not null primary key,
          ${columns.map(({ declaration }, index) => `c${index} ${declaration} null`).join(', ')})`]
      )
      const connection = await connect(database.url)
      t.teardown(async () => {
        connection.destroy()
        await database.drop()
      })
      const table = (await readTables(database.url)).get('one')
      if (table === undefined) throw new Error('no table')
      for (let row = 0; row < ROWS; row++) {
        const parameters = columns.map(({ values }, index) => {
          const [text] = fc.sample(fc.option(values, { freq: 10, nil: 'null' }), {
            numRuns: 1, seed: seed + row * 100 + index
          })
          const value = JSON.parse(text as string, (_key: string, each: unknown, { source }: { source?: string }) =>
            typeof each === 'number' ? JSON.rawJSON(source as string) : each)
          return value === null ? null : table.columnList[index + 1]?.type.read(value) ?? null
        })
        const pieces = [`insert into one values (${row}, `, ...columns.slice(1).map(() => ', '), ')']
        await sendStatement(
          connection, textOf(writeStatement({ pieces, parameters })), new ResponseSink([], 0), senders.plain
        )
      }
      const { bytes, plain } = senders
      const [fast, slow] = [await selectAll(connection, table, bytes), await selectAll(connection, table, plain)]
      t.equal(fast.sink.count, ROWS)
      t.equal(fast.answer.toString(), slow.answer.toString(), group)
      t.doesNotThrow(() => JSON.parse(fast.answer.toString()), `${group}: the answer is JSON`)
    }
  })

  t.test(`both readers read values of any length (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table big (id int not null primary key, body longtext ' +
      'null, raw longblob null, tail varchar(10) null, doc json null)'])
    await database.query('set global max_allowed_packet = 67108864')
    const connection = await connect(database.url, { compress: false })
    const squeezed = await connect(database.url, { compress: true })
    t.teardown(async () => {
      connection.destroy()
      squeezed.destroy()
      await database.drop()
    })
    // A connection made after the limit was raised. The borders of length-coded integers, and a row wider than one
    // packet of 16 MB.
    const lengths = [0, 1, 31, 32, 33, 250, 251, 252, 511, 512, 513, 65_535, 65_536, 1_000_000, 16_777_216]
    for (const [id, length] of lengths.entries()) {
      await run(
        connection, "insert into big values (?, repeat(?, ?), null, ?, json_quote(repeat('b', least(?, 100000))))",
        [id, id % 2 === 0 ? 'a' : '"', length, 'end', length]
      )
    }
    await run(connection, 'insert into big values (100, null, repeat(char(255), 100000), null, null)')
    const table = (await readTables(database.url)).get('big')
    if (table === undefined) throw new Error('no table')
    for (const target of [connection, squeezed]) {
      const { bytes, plain } = senders
      const [fast, slow] = [await selectAll(target, table, bytes), await selectAll(target, table, plain)]
      t.ok(fast.answer.equals(slow.answer))
      const { rows } = JSON.parse(fast.answer.toString()).data
      t.same(rows.map((row: { body: string | null }) => row.body?.length), [...lengths, undefined])
      t.same(rows.map((row: { doc: string | null }) => row.doc?.length), [
        ...lengths.map((length) => Math.min(length, 100_000)), undefined
      ])
    }
  })

  t.test(`an answer that becomes too large is ended once (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, [
      'create table many (id int not null primary key, body varchar(100) not null)'
    ])
    const connection = await connect(database.url)
    t.teardown(async () => {
      connection.destroy()
      await database.drop()
    })
    await database.query(
      `insert into many values ${Array.from({ length: 500 }, (_, id) => `(${id}, repeat('x', 100))`).join(', ')}`
    )
    const table = (await readTables(database.url)).get('many')
    if (table === undefined) throw new Error('no table')
    const { tooLarge, sink } = await selectAll(connection, table, senders.bytes, 1000)
    t.equal(tooLarge, 1)
    t.ok(sink.full)
    t.equal(sink.count, 9)
  })

  t.test(`an error in the middle of the rows is an error (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, [
      'create table few (id int not null primary key)', 'insert into few values (1), (2), (3)'
    ])
    const connection = await connect(database.url)
    t.teardown(async () => {
      connection.destroy()
      await database.drop()
    })
    const table = (await readTables(database.url)).get('few')
    if (table === undefined) throw new Error('no table')
    const failing = sendStatement(
      connection, 'select if(id < 3, id, (select id from few)) from few', new ResponseSink(table.columnList, 1000),
      senders.bytes
    )
    await t.rejects(failing, { code: 'ER_SUBQUERY_NO_1_ROW' })
    t.equal(
      String((await selectAll(connection, table, senders.bytes)).answer),
      '{"success":true,"data":{"rows":[{"id":1},{"id":2},{"id":3}],"count":3}}', 'the connection goes on'
    )
  })
}

const wide = 'create table wide (id int not null primary key, body text not null)'
const filled =
  `insert into wide values ${Array.from({ length: 300 }, (_, id) => `(${id}, '${'y'.repeat(100)}')`).join(', ')}`

await onEachEngine(t, 'an answer larger than the limit is refused, and the next one is complete', {
  schema: () =>
    [wide, filled],
  database: { resultLimit: 2000 }
}, async (t, { post }) => {
  const { status, json } = await post('wide', { verb: 'select', limit: 1000 })
  t.equal(status, 422)
  t.equal(json.error.code, 'RESULT_TOO_LARGE')
  t.match(json.error.message, /2000 bytes/)
  const small = await post('wide', { verb: 'select', limit: 3, columns: ['id'] })
  t.same(small.json, { success: true, data: { rows: [{ id: 0 }, { id: 1 }, { id: 2 }], count: 3 } })
})
