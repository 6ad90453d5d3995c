/** Batches of rows: their bounds, how far the stream is read, and bytes that are no text. */
import { Readable } from 'node:stream'
import t from 'tap'
import { type Batch, BatchReader, MAX_BYTES } from '../../src/imports/batch-reader.ts'
import { type CsvCells, CsvParser } from '../../src/imports/csv-parser.ts'

const LIMITS = { rowSize: 1_000_000, rows: Infinity, timeout: 10_000 }

const read = (chunks: Iterable<Buffer | string>, limits: Partial<typeof LIMITS> = {}): BatchReader<CsvCells> =>
  new BatchReader(Readable.from(chunks, { objectMode: false }), new CsvParser(), { ...LIMITS, ...limits })

async function all (reader: BatchReader<CsvCells>): Promise<Array<Batch<CsvCells>>> {
  const batches = []
  for (let batch = await reader.next(); batch !== undefined; batch = await reader.next()) batches.push(batch)
  return batches
}

t.test('a batch has at most 1000 rows and 256 KiB, and a larger row is alone', async (t) => {
  const rows = Array.from({ length: 2500 }, (_, index) => `${index},x\n`)
  const batches = await all(read(['a,b\n', ...rows]))
  t.strictSame(batches.map(({ rows: { length }, first, lastLine }) => [length, first, lastLine]), [
    [1000, 0, 1001], [1000, 1000, 2001], [500, 2000, 2501]
  ])
  const [small, large] = ['s'.repeat(100_000), 'l'.repeat(300_000)]
  const sizes = await all(read(['a\n', ...[small, small, small, large, small].map((text) => `${text}\n`)]))
  t.strictSame(sizes.map(({ rows: { length } }) => length), [2, 1, 1, 1])
  const half = `${'h'.repeat(MAX_BYTES / 2 - 1)}\n`
  const counts = async (...rows: string[]): Promise<number[]> =>
    (await all(read(['a\n', ...rows]))).map(({ rows: { length } }) => length)
  t.strictSame(await counts(half, half, 's\n'), [2, 1], 'exactly 256 KiB')
  t.strictSame(await counts(half, `h${half}`, 's\n'), [1, 2])
  t.strictSame(await all(read(['a\n'])), [])
})

t.test('the stream is read only while a batch is waited for', async (t) => {
  let given = 0
  function * source (): Generator<Buffer> {
    yield Buffer.from('a,b\n')
    for (; given < 1000; given++) yield Buffer.from('1,2\n'.repeat(16_384))
  }
  const reader = read(source())
  await reader.next()
  await new Promise((resolve) => setTimeout(resolve, 50))
  const before = given
  t.ok(before < 20, `${before} chunks`)
  for (let count = 0; count < 40; count++) await reader.next()
  t.ok(given < before + 20)
  reader.fail(new Error('enough'))
  await t.rejects(reader.next(), { message: 'enough' })
})

t.test('a large chunk is read in turns with other work of the process', async (t) => {
  const reader = read([Buffer.from(`a\n"${'""'.repeat(2_000_000)}"\n`)], { rowSize: 5_000_000 })
  let turns = 0
  let hasRow = false
  const count = (): void => {
    turns++
    if (!hasRow) setImmediate(count)
  }
  count()
  const batch = await reader.next()
  hasRow = true
  t.equal(batch?.rows[0]?.[0]?.length, 2_000_000)
  t.ok(turns > 10, `${turns} turns`)
})

t.test('characters that chunks divide are whole, and one mark of the byte order is skipped', async (t) => {
  const bytes = Buffer.from('\ufeffa,b\n"é€😀",\ufeffx\n')
  for (let size = 1; size <= 7; size++) {
    const chunks = Array.from(
      { length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size)
    )
    t.strictSame((await all(read(chunks)))[0]?.rows, [['é€😀', '\ufeffx']])
  }
})

for (const [bytes, line] of [
  [Buffer.from('a,b\n1,2\n3,\xff\n5,6\n', 'latin1'), 3],
  [Buffer.from('a,b\n1,2\n3,\xc3', 'latin1'), 3],
  [Buffer.from('a,b\r1,2\r3,\xe2\x82\r5,6\r', 'latin1'), 3],
  [Buffer.from('\xffa,b\n', 'latin1'), 1],
  [Buffer.concat([Buffer.from(`a,b\n${'1,2\n'.repeat(20_000)}`), Buffer.from('\xed\xa0\x80,1\n', 'latin1')]), 20_002]
] as const) {
  t.test(`bytes that are not UTF-8 are refused at line ${line}`, async (t) => {
    await t.rejects(all(read([bytes])), { code: 'INVALID_BODY', message: /UTF-8/, details: [{ line }] })
  })
}

t.test('an error before the bytes that are not UTF-8 comes first', async (t) => {
  await t.rejects(all(read([Buffer.from('a,b\n1\n3,\xff\n', 'latin1')])), {
    code: 'INVALID_BODY', details: [{ line: 2, path: '/data/0' }]
  })
})

t.test('a row that is too large, one row too many, and a client that sends nothing are refused', async (t) => {
  await t.rejects(all(read(['a\n', 'x'.repeat(2000)], { rowSize: 1999 })), {
    code: 'BODY_TOO_LARGE', statusCode: 413, details: [{ line: 2 }]
  })
  await t.resolves(all(read(['a\n', 'x'.repeat(1999)], { rowSize: 1999 })))
  await t.rejects(all(read(['a\n', 'é'.repeat(1000)], { rowSize: 1999 })), { code: 'BODY_TOO_LARGE' })
  await t.rejects(all(read(['a\n1\n2\n3\n'], { rows: 2 })), { code: 'BODY_TOO_LARGE', details: [{ line: 4 }] })
  const silent = new BatchReader(new Readable({ read () {} }), new CsvParser(), { ...LIMITS, timeout: 20 })
  await t.rejects(silent.next(), { code: 'REQUEST_TIMEOUT' })
})
