// night: waits for real time limits
/** Streams that nobody reads: they end by their time limit, and release what they have. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createClient } from '../../src/client/index.ts'
import { numbers } from '../support/numbers.ts'
import { onEachEngine, TOKEN, type Schema } from '../support/service.ts'
import { until } from '../support/until.ts'

const million = "create view million as select a.i * 1000 + b.i as id, 'a name of some length that is the same in " +
  "each row' as name from n a join n b"
const schema: Schema = (engine) => [
  `create table n (i ${engine === 'sqlite' ? 'integer' : 'int'} primary key)`, `insert into n ${numbers(1000)}`, million
]
const grant = { permissions: ['select' as const] }

await onEachEngine(t, 'a stream reaches its time limit while nobody reads, and the client notices ' +
  'that rows are missing', {
  schema, database: { streamTimeout: 2000, pool: { size: 2 } }
}, async (t, { server: { rows, app } }) => {
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/api`
  const db = createClient({ url, token: TOKEN }).database('shop')
  const stream = (limit?: number): AsyncGenerator => rows.stream({
    database: 'shop', table: 'million', body: { verb: 'select', ...limit !== undefined && { limit } }, grant
  })
  const codeOf = (reading: Promise<unknown>): Promise<string> =>
    reading.then(() => 'none', ({ code, name }: { code: string, name: string }) => code ?? name)
  const slowly = async (reading: AsyncGenerator): Promise<void> => {
    await reading.next()
    await sleep(3000)
    await Array.fromAsync(reading)
  }
  t.equal(await codeOf(slowly(stream())), 'QUERY_TIMEOUT')
  await until('its place is free', async () => await codeOf(Array.fromAsync(stream(1))) === 'none')
  t.equal(await codeOf(slowly(db.rows('million'))), 'NO_ANSWER')
})

const MEGABYTE = 1_048_576
await onEachEngine(t, 'iterators that the app has dropped release their memory for answers', {
  schema, options: { limits: { answerMemory: 4 * MEGABYTE } }, database: { streamTimeout: 1000, pool: { size: 4 } }
}, async (t, { server: { rows } }) => {
  /** Reads one row. Returns whether there was a place and memory for the stream. */
  const drop = (limit: number): Promise<boolean> => rows.stream({
    database: 'shop', table: 'million', body: { verb: 'select', limit }, grant
  }).next().then(() => true, (error) => {
    if (error.code !== 'OVERLOADED') throw error
    return false
  })
  // the database is read to the last row by the first ones, and by the others until their time limit
  for (const limit of [1000, 1_000_000]) {
    for (let each = 0; each < 6; each++) await until(`a stream of ${limit} rows begins`, () => drop(limit))
  }
})
