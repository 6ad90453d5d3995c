// night: streams of megabytes
/** What a stream holds, and when it lets the database wait. */
import { once } from 'node:events'
import { Writable } from 'node:stream'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { UNLIMITED, ResponseBudget } from '../../src/response/budget.ts'
import { RowStream } from '../../src/response/row-stream.ts'
import { createStreamRows, type StreamFormat } from '../../src/response/csv-ndjson-rows.ts'
import type { RowSource } from '../../src/dialects/dialect.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { planStream } from '../../src/verbs/select.ts'
import { until } from '../support/until.ts'
import { LIMITS, orders } from '../support/sql.ts'

const MEGABYTE = 1_048_576

/** A stream of orders (columns are those of the table), and what it has done to its source. */
function createStream ({
  format = 'ndjson' as StreamFormat, limit = 16 * MEGABYTE, most = undefined as number
  | undefined, budget = UNLIMITED
} = {}) {
  const plan = planStream({ verb: 'select', columns: ['name'] }, alone(orders.mysql), { limits: LIMITS })
  const stream = new RowStream({ rows: createStreamRows(plan, format), maxBytes: limit, most, budget })
  const told = { isPaused: false, started: 0, stopped: 0, forgotten: 0, taking: undefined as Promise<void> | undefined }
  const source: RowSource = {
    pause: () => { told.isPaused = true },
    resume: () => { told.isPaused = false },
    started: () => { told.started++ },
    stop: () => { told.stopped++ },
    forget: () => { told.forgotten++ }
  }
  stream.from(source)
  stream.begin(plan.columns)
  /** A row of MySQL's text protocol with one text. */
  const add = (length: number, text = 'x'): number => {
    const row = Buffer.concat([
      Buffer.from([0xfd, length & 0xff, (length >> 8) & 0xff, length >> 16]), Buffer.alloc(length, text)
    ])
    told.taking = stream.textRow(row, 0, row.length, 1)
    return length + '{"name":""}\n'.length
  }
  return { stream, source, told, add }
}

t.test('a stream that nobody reads holds less than 1 MiB and a row', async (t) => {
  for (const length of [1, 100, 40_000, 60_000, 3 * MEGABYTE]) {
    const { stream, told, add } = createStream()
    let held = 0
    let row = 0
    while (!told.isPaused) {
      held += row = add(length)
      await told.taking
    }
    t.ok(held < MEGABYTE + row, `${held} bytes in rows of ${row}`)
    t.equal(stream.readable.readableLength + 0, stream.bytes, 'they are one chunk, and the rows behind it')
    stream.drop()
    t.ok(told.stopped > 0)
  }
})

t.test('what takes the chunks of a stream may keep them', async (t) => {
  const { stream, told } = createStream()
  const kept: Buffer[] = []
  const keeper = new Writable({ write: (chunk: Buffer, _encoding, done) => { setTimeout(done, kept.push(chunk) % 5) } })
  stream.readable.pipe(keeper)
  for (let row = 0; row < 30_000; row++) {
    const text = String(row).padStart(99, '.')
    stream.textRow(Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]), 0, 100, 1)
    while (told.isPaused) await turn()
  }
  stream.end()
  await once(keeper, 'finish')
  t.same(
    Buffer.concat(kept).toString(),
    Array.from({ length: 30_000 }, (_, row) => `{"name":"${String(row).padStart(99, '.')}"}\n`).join('')
  )
})

t.test('a stream goes on as it is read, and holds no more in the end', async (t) => {
  const { stream, told, add } = createStream()
  let [sent, read, most] = [0, 0, 0]
  const reading = (async () => { for await (const chunk of stream.readable) read += (chunk as Buffer).length })()
  while (sent < 20 * MEGABYTE) {
    if (told.isPaused) await turn()
    else sent += add(1000)
    most = Math.max(most, sent - read)
  }
  stream.end()
  await reading
  t.equal(read, sent)
  t.ok(most < MEGABYTE, `${most} bytes at most`)
  t.equal(told.started, 1)
  t.ok(told.forgotten > 100, 'the memory that was read into is used again')
  t.match(stream, { bytes: sent, passed: stream.count, failure: undefined })
})

t.test('a row does not wait long for others', async (t) => {
  const { stream, add } = createStream()
  add(10)
  await stream.started
  await until('it is passed on', () => stream.readable.readableLength > 0)
  t.equal(String(stream.readable.read()), '{"name":"xxxxxxxxxx"}\n')
  stream.drop()
})

t.test('what was read before an error is read before it', async (t) => {
  const { stream, add } = createStream({ most: 3 })
  for (let row = 0; row < 3; row++) add(2)
  t.throws(() => add(2), { code: 'RESULT_TOO_LARGE', reason: 'STREAM_ROWS' })
  stream.fail(new Error('cut'))
  let text = ''
  await t.rejects((async () => { for await (const chunk of stream.readable) text += chunk })(), { message: 'cut' })
  t.equal(text, '{"name":"xx"}\n'.repeat(3))
})

t.test('rows that a first run has discarded are taken from the next one, unless the stream has ended', async (t) => {
  const { stream, source, add } = createStream()
  stream.discard()
  t.ok(stream.full)
  stream.from(source)
  t.notOk(stream.full)
  add(2)
  stream.end()
  t.same((await Array.fromAsync(stream.readable)).join(''), '{"name":"xx"}\n')
  stream.from(source)
  t.ok(stream.full, 'it has been read')
  const failed = createStream()
  failed.add(2)
  failed.stream.fail(new Error('shutdown'))
  failed.stream.from(source)
  t.ok(failed.stream.full, 'it was cut off')
  failed.stream.drop()
})

t.test('a row that is too large is an error, and no part of it is sent', async (t) => {
  for (const format of ['ndjson', 'csv'] as const) {
    const { stream, add } = createStream({ format, limit: 100_000 })
    add(2)
    t.throws(() => add(200_000), { code: 'RESULT_TOO_LARGE' })
    stream.fail(new Error('cut'))
    t.equal(String(stream.readable.read()), format === 'csv' ? 'name\r\nxx\r\n' : '{"name":"xx"}\n')
    stream.drop()
  }
})

t.test('a stream takes its memory from that of answers, and gives it back', async (t) => {
  const budget = new ResponseBudget(4 * MEGABYTE)
  const first = createStream({ budget })
  const add = async ({ add, told }: typeof first, megabytes: number): Promise<unknown> => {
    add(megabytes * MEGABYTE)
    return await told.taking
  }
  await add(first, 2.5)
  const second = createStream({ budget })
  await t.rejects(add(second, 2.5), { code: 'OVERLOADED' }, 'also for a large row')
  await t.rejects(add(first, 3.5), { code: 'RESULT_TOO_LARGE' }, 'one that never fits is too large')
  for (const { stream } of [first, second]) stream.drop()
  await sleep(0)
  const streams = Array.from({ length: 4 }, () => createStream({ budget }).stream)
  t.throws(() => createStream({ budget }), { code: 'OVERLOADED' })
  for (const stream of streams) stream.drop()
  await sleep(0)
  createStream({ budget }).stream.drop()
})

t.test('a long row is taken between turns of the event loop, and is whole or not there', async (t) => {
  const text = 3 * MEGABYTE
  const taken = createStream()
  taken.add(2)
  taken.add(text)
  await sleep(30) // rows are passed on after some milliseconds, but not in the middle of one
  await taken.told.taking
  t.equal(String(taken.stream.readable.read()), `{"name":"xx"}\n{"name":"${'x'.repeat(text)}"}\n`)
  taken.stream.drop()

  const cut = createStream()
  cut.add(2)
  cut.add(text)
  cut.stream.fail(new Error('cut'))
  await cut.told.taking
  t.equal(String(cut.stream.readable.read()), '{"name":"xx"}\n')
  t.equal(cut.stream.readable.read(), null)
  cut.stream.drop()
})

t.test('memory that was read into is given back within a row only: between two rows the driver may have ' +
  'the beginning of one', async (t) => {
  const { stream, told, add } = createStream()
  add(10)
  await until('the row is passed on', () => stream.readable.readableLength > 0)
  t.equal(told.forgotten, 0)
  while (!told.isPaused) add(1000)
  const before = told.forgotten
  stream.readable.read()
  add(10)
  await sleep(50)
  stream.end()
  t.equal(told.forgotten, before)
  stream.drop()
})

t.test('a stream that was cut off does not end as if it were whole', async (t) => {
  const { stream, told, add } = createStream()
  add(2)
  stream.fail(new Error('shutdown'))
  t.equal(told.stopped, 1, 'its statement ends at once')
  stream.end()
  let text = ''
  await t.rejects((async () => { for await (const chunk of stream.readable) text += chunk })(), { message: 'shutdown' })
  t.equal(text, '{"name":"xx"}\n')
})

t.test('a stream that begins again and then fails tells its reader why', async (t) => {
  const { stream, add } = createStream()
  add(2)
  stream.begin(orders.mysql.columnList)
  stream.fail(new Error('lost'))
  await t.rejects(Array.fromAsync(stream.readable), { message: 'lost' })
})

t.test('ends of lines in texts are escaped, in rows of any size, and count for the limit', async (t) => {
  const text = 'ü\u2028\x85'
  const bytes = Buffer.byteLength(text)
  for (const times of [1, 100, 9000, 200_000]) {
    const { stream, told, add } = createStream()
    const read = Array.fromAsync(stream.readable)
    for (let row = 0; row < 3; row++) {
      add(bytes * times, text)
      await told.taking
    }
    stream.end()
    t.equal(
      Buffer.concat(await read).toString(), `{"name":"${'ü\\u2028\\u0085'.repeat(times)}"}\n`.repeat(3),
      `${times} times`
    )
  }
  const { stream, add } = createStream({ limit: MEGABYTE })
  add(MEGABYTE * 0.6, 'x')
  t.throws(() => add(MEGABYTE * 0.6, '\u2028'), { code: 'RESULT_TOO_LARGE' })
  stream.drop()
})
