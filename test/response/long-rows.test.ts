// night: values and rows of megabytes
/** Long rows: the same bytes as by the ordinary way, in pieces between which others are served. */
import { spawnSync } from 'node:child_process'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { Column } from '../../src/catalog/catalog.ts'
import type { RowSink } from '../../src/dialects/dialect.ts'
import { allOf, inPieces, type LongWork } from '../../src/in-pieces.ts'
import type { Cells } from '../../src/plan/members.ts'
import { ResponseSink } from '../../src/response/response-sink.ts'
import { CsvRows } from '../../src/response/csv-ndjson-rows.ts'
import { JsonRows, type RowFormat } from '../../src/response/json-rows.ts'
import { Output } from '../../src/response/output.ts'
import { MemberRows } from '../../src/response/member-rows.ts'
import type { DriverValue } from '../../src/types/column-type.ts'
import { geometryType } from '../../src/types/geometry.ts'
import { mysqlType } from '../../src/types/mysql.ts'
import { mysqlColumn, sqliteColumn } from '../support/tables.ts'

/** More than a part of a value, and more than a row that is written at once. */
const LENGTH = 140_000
const LONG = 2_000_000
const facts = { length: null, bytes: null, scale: null, charset: 'utf8mb4', srid: null, json: false }
const typed = (name: string, rest: object = {}): Column => ({
  ...mysqlColumn('c', name), type: mysqlType({ name, declaration: name, ...facts, ...rest })
})
const [text, blob, json, mariadbJson, geometry] = [
  typed('longtext'), typed('longblob'), typed('json'), typed('longtext', { json: true }), typed('geometry')
]
const [sqliteText, sqliteBlob, sqliteJson, sqliteTime] = ['text', 'blob', 'json', 'datetime'].map(
  (declaration) => sqliteColumn('c', declaration)
) as [Column, Column, Column, Column]

const repeat = (part: string, length = LENGTH): string => part.repeat(Math.ceil(length / part.length))
const list = (part: string): string => `[${repeat(`${part},`)}${part}]`
const shapes = geometryType({ only: null, srid: null })
const points = Array.from({ length: 10_000 }, (_, index) => [index / 8, -index])
const geometries: object[] = [
  { type: 'LineString', coordinates: points },
  { type: 'MultiPoint', coordinates: points },
  { type: 'MultiPolygon', coordinates: Array.from({ length: 3000 }, () => [points.slice(0, 4)]) },
  {
    type: 'GeometryCollection',
    geometries: [{ type: 'Point', coordinates: [1, 2] }, {
      type: 'GeometryCollection', geometries: [{ type: 'LineString', coordinates: points }]
    }]
  },
  { type: 'LineString', coordinates: points, crs: { type: 'name', properties: { name: 'EPSG:4326' } } }
]

/**
 * Texts that are long, or short beside long ones, with what must be escaped or quoted at their ends and at the borders
 * of their parts.
 */
const texts = [
  repeat('x'), repeat('"'), repeat('\n\u0000'), repeat('ħ中'), `x${repeat('😀')}`, `xyz${repeat('😀')}`,
  ` ${repeat('x')}`, `${repeat('x')} `, `${repeat('x')},`, repeat('\\u00e9'), '', 'short'
]
const documents = [
  list('{"a":[1,-2.5e3,true,null,"b\\"\\\\c"]}'), `"${repeat('a \\u00e9\\n')}"`, `"${repeat('\\\\')}"`,
  `${' '.repeat(LENGTH)}[]`, list(`"${'y'.repeat(70_000)}"`), repeat('7'), '{"a":1}', '"a"', 'null', 'true'
]
const noDocuments = [
  `"${repeat('a')}`, `${list('1')},`, list('1').replace(']', ''), `"${repeat('x')}\\q"`, list('1.'), repeat('[')
]

const cases: Array<readonly [why: string, column: Column, values: readonly DriverValue[]]> = [
  ['LONGTEXT', text, texts.map((each) => Buffer.from(each))],
  ['bytes in a LONGTEXT that are no UTF-8', text, [Buffer.alloc(65_534, 0x80)]],
  ['LONGBLOB', blob, [LENGTH, LENGTH + 1, LENGTH + 2, 0, 5].map((length) => Buffer.alloc(length, 'abc\xff'))],
  ['JSON of MySQL', json, documents.map((each) => Buffer.from(each))],
  ['JSON of MariaDB', mariadbJson, [...documents, ...noDocuments].map((each) => Buffer.from(each))],
  ['geometry', geometry, geometries.map((each) => shapes.read(each) as Buffer)],
  ['TEXT of SQLite', sqliteText, [...texts, Buffer.alloc(LENGTH, 7), 7n, 1.5]],
  ['BLOB of SQLite', sqliteBlob, [new Uint8Array(LENGTH), repeat('x')]],
  ['JSON of SQLite', sqliteJson, [...documents, ...noDocuments]],
  ['another text in a DATETIME of SQLite', sqliteTime, [repeat('x')]]
]

/** Calls `onStep` after each part. */
function run (work: LongWork, onStep = (): void => {}): void {
  while (work.next().done !== true) onStep()
}

const columnsOf = (column: Column): Column[] => [{ ...column, name: 'first' }, { ...column, name: 'second' }]
const formats: ReadonlyArray<readonly [name: string, create: (columns: readonly Column[]) => RowFormat]> = [
  ['JSON', (columns) => new JsonRows({ from: 0, columns })],
  ['CSV', (columns) => new CsvRows({ row: { from: 0, columns, members: [] }, links: [] })]
]

function write (
  create: (columns: readonly Column[]) => RowFormat, columns: readonly Column[],
  work: (rows: RowFormat, output: Output) => unknown
): Buffer {
  const [rows, output] = [create(columns), new Output()]
  rows.begin(columns)
  work(rows, output)
  return Buffer.from(output.bytes.subarray(0, output.length))
}

for (const [why, column, values] of cases) {
  t.test(`${why}: a long row has the bytes of an ordinary one`, async (t) => {
    const columns = columnsOf(column)
    for (const [index, value] of values.entries()) {
      for (const [format, create] of formats) {
        for (const row of [[value, null], [null, value]]) {
          const ordinary = write(create, columns, (rows, output) => allOf(rows.values(output, row)))
          const long = write(create, columns, (rows, output) => run(rows.values(output, row)))
          t.ok(
            long.equals(ordinary),
            `${format} of value ${index}: ${long.subarray(0, 40)}… ${long.length} and ${ordinary.subarray(0, 40)}… ` +
              `${ordinary.length}`
          )
        }
      }
    }
  })
}

t.test('no step of a long row takes more than a part of it', async (t) => {
  for (const [why, column, values] of cases.filter(([, { type }]) => type.long !== undefined)) {
    for (const [index, value] of values.entries()) {
      for (const [format, create] of formats) {
        let length = 0
        let most = 0
        write(create, [column], (rows, output) => {
          run(rows.values(output, [value]), () => {
            most = Math.max(most, output.length - length)
            length = output.length
          })
        })
        // a control character has six characters in JSON
        t.ok(most <= 6 * 65_536 + 100, `${why} ${index} in ${format}: ${most}`)
      }
    }
  }
})

const joined = (column: Column): Cells => {
  const row = { from: 1, columns: [column], members: [] }
  return {
    cells: [],
    joined: [],
    links: [],
    row: {
      from: 0,
      columns: [column],
      members: [{ kind: 'joined', name: 'one', before: ',"one":', presence: 1, row } as never]
    }
  }
}

t.test('members of a long row are long as well', async (t) => {
  const value = Buffer.from(repeat('a "b" '))
  for (const values of [[value, value], [value, null], [Buffer.from('x'), value]]) {
    const forms: Array<() => RowFormat> = [() => new MemberRows(joined(text)), () => new CsvRows(joined(text))]
    for (const create of forms) {
      const ordinary = write(create, [text, text], (rows, output) => allOf(rows.values(output, values)))
      const long = write(create, [text, text], (rows, output) => run(rows.values(output, values)))
      t.ok(long.equals(ordinary), String(ordinary.subarray(-60)))
    }
  }
})

t.test('others are served while a long row is written', async (t) => {
  const sink = new ResponseSink([text], Infinity)
  sink.begin([text])
  const taking = (sink as RowSink).row([Buffer.from(repeat('x', LONG))])
  let turns = 0
  while (await Promise.race([taking?.then(() => false), turn(true)]) === true) turns++
  t.ok(turns > LONG / 1_048_576, `${turns} turns`)
  t.equal(JSON.parse(String(sink.finish())).data.rows[0].c.length, LONG)
  t.equal((sink as RowSink).row([Buffer.from('short')]), undefined, 'a short one is written at once')
})

t.test('a long row that does not fit is not written to its end', async (t) => {
  for (const [values, most] of [
    [[Buffer.from(repeat('\0', LONG))], 3 * LONG], [[Buffer.from(repeat('x', LONG))], LONG - 1]
  ] as const) {
    const sink = new ResponseSink([text], most)
    sink.begin([text])
    await (sink as RowSink).row(values)
    t.ok(sink.full)
    t.match(sink.refusal, { code: 'RESULT_TOO_LARGE' })
  }
  const dropped = new ResponseSink([text], Infinity)
  dropped.begin([text])
  const taking = (dropped as RowSink).row([Buffer.from(repeat('x', LONG))])
  dropped.drop()
  await taking
  t.ok(dropped.full, 'nor one that nobody waits for')
})

t.test('a long value that cannot be read is refused by its column', async (t) => {
  const bytes = shapes.read({
    type: 'LineString', coordinates: Array.from({ length: 100_000 }, () => [1, 2])
  }) as Buffer
  for (const broken of [bytes.subarray(0, -1), Buffer.concat([bytes, Buffer.from('x')])]) {
    const sink = new ResponseSink([geometry], Infinity)
    sink.begin([geometry])
    await t.rejects((sink as RowSink).row([broken]) as Promise<void>, { code: 'UNREADABLE_VALUE' })
  }
})

/** Writes one row of 15 MB in each format, in a process of its own. */
const PROGRAM = `
const [{ CsvRows }, { JsonRows }, { Output }, { mysqlType }, { sqliteType }] = await Promise.all([
  'response/csv-ndjson-rows', 'response/json-rows', 'response/output', 'types/mysql', 'types/sqlite'
].map((file) => import(process.argv[1] + file + '.ts')))
const facts = { length: null, bytes: null, scale: null, charset: 'utf8mb4', srid: null, json: false }
const column = (type) => ({
  name: 'c', type, declaration: '', nullable: true, generated: false, autoIncrement: false, optional: true,
  defaultText: null, comment: ''
})
const text = '["a","b"],'.repeat(1_500_000)
const document = Buffer.from('[' + text + '1]')
const rows = [
  [mysqlType({ name: 'json', declaration: 'json', ...facts }), document],
  [mysqlType({ name: 'longtext', declaration: 'longtext', ...facts, json: true }), document],
  [sqliteType({ name: 'text', declaration: 'text', ...facts }), text]
]
for (const [type, value] of rows) {
  const row = { from: 0, columns: [column(type)], members: [] }
  for (const format of [new CsvRows({ row, links: [] }), new JsonRows(row)]) {
    format.begin([column(type)])
    const output = new Output()
    for (const work = format.values(output, [value]); work.next().done !== true;) continue
    if (output.length < text.length) throw new Error('it is not written')
    output.drop()
  }
}
`

t.test('a long row takes no memory of V8', async (t) => {
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--max-old-space-size=64', '--input-type=module', '-e', PROGRAM, new URL('../../src/', import.meta.url).href],
    { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } }
  )
  t.equal(status, 0, stderr)
})

t.test('long work ends where nobody needs it, and returns what it has found', async (t) => {
  let steps = 0
  const work = function * () {
    for (; steps < 100; steps++) yield 1_000_000
    return 'found'
  }
  t.equal(await inPieces(work(), () => steps >= 3), undefined)
  t.equal(steps, 3)
  t.equal(await inPieces(work()), 'found')
})
