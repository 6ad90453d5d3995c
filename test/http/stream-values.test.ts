// night: values of every type
/**
 * Every value in a stream: the lines of NDJSON are the rows of the JSON answer, and two parsers of others read the same
 * values from CSV.
 */
import fc from 'fast-check'
import t from 'tap'
import { onOneLine } from '../../src/json/exact-json.ts'
import { cellOf, readWithNode, readWithPython, type Csv } from '../support/csv.ts'
import { quoted } from '../support/quoted.ts'
import { seed } from '../support/seed.ts'
import { onEachEngine, type EngineName } from '../support/service.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from '../support/typed-columns.ts'

const ROWS = 60

const groupsOf = (engine: EngineName): Array<readonly TypedColumn[]> =>
  Object.values(engine === 'sqlite' ? sqliteGroups : mysqlGroups).map(
    (group) => group.filter(({ only }) => only === undefined || only === engine)
  ).filter(({ length }) => length > 0)

/** Parses JSON with numbers as text. */
const parse = (text: string): any => JSON.parse(text, (_key: string, value: unknown, { source }: { source?: string }) =>
  typeof value === 'number' ? JSON.rawJSON(source as string) : value)
const isStructured = (value: unknown): boolean => typeof value === 'object' && value !== null && !JSON.isRawJSON(value)

/** A CSV with the JSON texts of lists and objects in one form. */
const normal = (csv: Csv, rows: ReadonlyArray<Record<string, unknown>>): Csv => csv.map((line, index) => {
  const values = Object.values(rows[index - 1] ?? {})
  return line.map((cell, place) => isStructured(values[place]) && cell !== null ? JSON.stringify(parse(cell)) : cell)
})

const declare = (engine: EngineName, columns: readonly TypedColumn[], group: number): string =>
  `create table g${group} (id integer not null primary key, ${columns.map(({ declaration }, index) =>
    `c${index} ${declaration}${engine === 'sqlite' ? '' : ' null'}`).join(', ')})`

await onEachEngine(t, 'streams have the values of every type', {
  schema: (engine) => groupsOf(engine).map((columns, group) => declare(engine, columns, group))
}, async (t, { engine, post }) => {
  const stream = async (table: string, accept: string): Promise<string> =>
    (await post(table, { verb: 'select', orderBy: 'id' }, { headers: { accept } })).text
  const all: Array<{ readonly csv: string, readonly rows: ReadonlyArray<Record<string, unknown>> }> = []
  for (const [group, columns] of groupsOf(engine).entries()) {
    const table = `g${group}`
    const samples = columns.map(({ values }, index) => fc.sample(fc.option(values, { freq: 10, nil: 'null' }), {
      numRuns: ROWS, seed: seed + index
    }))
    const data = Array.from({ length: ROWS }, (_, row) =>
      `{"id":${row},${columns.map((_column, index) =>
        `"c${index}":${JSON.stringify(quoted(parse(samples[index]?.[row] as string)))}`).join()}}`)
    const inserted = await post(table, `{"verb":"insert","data":[${data.join()}]}`)
    if (inserted.status !== 200) { t.fail(`insert refused: ${inserted.text}`, { seed }); return }
    const { text: whole } = await post(table, { verb: 'select', orderBy: 'id' })
    const lines = (await stream(table, 'application/x-ndjson')).split('\n')
    t.equal(lines.pop(), '')
    // ends of lines between the parts of a JSON text become spaces, and in texts they are escaped
    t.equal(
      `{"success":true,"data":{"rows":[${lines.join()}],"count":${ROWS}}}`, onOneLine(whole.replaceAll(/[\r\n]/g, ' ')),
      `${table}, seed ${seed}`
    )
    all.push({ csv: await stream(table, 'text/csv'), rows: parse(whole).data.rows })
  }
  const read = readWithPython(all.map(({ csv }) => csv))
  for (const [group, { csv, rows }] of all.entries()) {
    const isJson = [false, ...(groupsOf(engine)[group] ?? []).map(({ declaration }) => declaration === 'json')]
    const expected = [
      Object.keys(rows[0] as object),
      ...rows.map((row) => Object.values(row).map((value, index) => cellOf(value, isJson[index])))
    ]
    t.same(normal(readWithNode(csv), rows), expected, `csv-parse reads g${group} (seed ${seed})`)
    if (read !== undefined) {
      t.same(
        normal(read[group] as Csv, rows), expected.map((line) => line.map((cell) => cell ?? '')),
      `and so does Python (seed ${seed})`
      )
    }
  }
})

/** The places at which readers of other programs end a line. */
const LINE_END = /\r\n|[\n\v\f\r\x85\u2028\u2029]/

await onEachEngine(t, 'a row is one line of NDJSON for every reader, with the values that a select has', {
  schema: {
    sqlite: ['create table odd (id integer primary key, "a\u2028b" text, doc json)'],
    mysql: ['create table odd (id int primary key, `a\u2028b` mediumtext character set utf8mb4, doc json)']
  }
}, async (t, { post }) => {
  const ends = '\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029'
  const texts = [
    ends, `${ends}${ends}`, '\u2028', 'x\u2029', '\u2028x', '\u2027\u202a\xe2\x80\xc2\x84\x86',
    `${'x'.repeat(70_000)}\u2028`, '\u2028'.repeat(30_000), 'ü\u2029\u{1f600}\u2028'
  ]
  const data = texts.map((text, id) => ({ id, 'a\u2028b': text, doc: { $eq: { 'a\u2028b': [text] } } }))
  t.equal((await post('odd', { verb: 'insert', data })).status, 200)
  const select = { verb: 'select', orderBy: 'id' }
  const { text } = await post('odd', select, { headers: { accept: 'application/x-ndjson' } })
  const lines = text.split(LINE_END)
  t.equal(lines.pop(), '')
  t.same(lines.map((line) => JSON.parse(line)), (await post('odd', select)).json.data.rows)
})
