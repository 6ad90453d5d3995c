// night: values of every type
/** Every value in a stream: the lines of NDJSON are the rows of the JSON answer, and two parsers of others read the same values from CSV. */
import fc from 'fast-check'
import t from 'tap'
import { cellOf, readWithNode, readWithPython, type Csv } from '../support/csv.ts'
import { quoted } from '../support/quoted.ts'
import { seed } from '../support/seed.ts'
import { onEachEngine, TOKEN, type EngineName } from '../support/service.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from '../support/typed-columns.ts'

const ROWS = 60

const groupsOf = (engine: EngineName): Array<readonly TypedColumn[]> =>
  Object.values(engine === 'sqlite' ? sqliteGroups : mysqlGroups).map((group) => group.filter(({ only }) => only === undefined || only === engine)).filter(({ length }) => length > 0)

/** Parses JSON with numbers as text. */
const parse = (text: string): any => JSON.parse(text, (_key: string, value: unknown, { source }: { source?: string }) => typeof value === 'number' ? JSON.rawJSON(source as string) : value)
const isStructured = (value: unknown): boolean => typeof value === 'object' && value !== null && !JSON.isRawJSON(value)

/** A CSV with the JSON texts of lists and objects in one form. */
const normal = (csv: Csv, rows: ReadonlyArray<Record<string, unknown>>): Csv => csv.map((line, index) => {
  const values = Object.values(rows[index - 1] ?? {})
  return line.map((cell, place) => isStructured(values[place]) && cell !== null ? JSON.stringify(parse(cell)) : cell)
})

const declare = (engine: EngineName, columns: readonly TypedColumn[], group: number): string =>
  `create table g${group} (id integer not null primary key, ${columns.map(({ declaration }, index) => `c${index} ${declaration}${engine === 'sqlite' ? '' : ' null'}`).join(', ')})`

await onEachEngine(t, 'streams have the values of every type', { schema: (engine) => groupsOf(engine).map((columns, group) => declare(engine, columns, group)) }, async (t, { engine, server, post }) => {
  const stream = async (table: string, accept: string): Promise<string> => (await server.app.inject({
    method: 'POST', url: `/api/shop/${table}`, headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept }, payload: '{"verb":"select","orderBy":"id"}'
  })).body
  const all: Array<{ readonly csv: string, readonly rows: ReadonlyArray<Record<string, unknown>> }> = []
  for (const [group, columns] of groupsOf(engine).entries()) {
    const table = `g${group}`
    const samples = columns.map(({ values }, index) => fc.sample(fc.option(values, { freq: 10, nil: 'null' }), { numRuns: ROWS, seed: seed + index }))
    const data = Array.from({ length: ROWS }, (_, row) => `{"id":${row},${columns.map((_column, index) => `"c${index}":${JSON.stringify(quoted(parse(samples[index]?.[row] as string)))}`).join()}}`)
    const inserted = await post(table, `{"verb":"insert","data":[${data.join()}]}`)
    if (inserted.status !== 200) { t.fail(`insert refused: ${inserted.text}`, { seed }); return }
    const { text: whole } = await post(table, { verb: 'select', orderBy: 'id' })
    const lines = (await stream(table, 'application/x-ndjson')).split('\n')
    t.equal(lines.pop(), '')
    // ends of lines between the parts of a JSON text become spaces
    t.equal(`{"success":true,"data":{"rows":[${lines.join()}],"count":${ROWS}}}`, whole.replaceAll(/[\r\n]/g, ' '), `${table}, seed ${seed}`)
    all.push({ csv: await stream(table, 'text/csv'), rows: parse(whole).data.rows })
  }
  const read = readWithPython(all.map(({ csv }) => csv))
  for (const [group, { csv, rows }] of all.entries()) {
    const isJson = [false, ...(groupsOf(engine)[group] ?? []).map(({ declaration }) => declaration === 'json')]
    const expected = [Object.keys(rows[0] as object), ...rows.map((row) => Object.values(row).map((value, index) => cellOf(value, isJson[index])))]
    t.same(normal(readWithNode(csv), rows), expected, `csv-parse reads g${group} (seed ${seed})`)
    if (read !== undefined) t.same(normal(read[group] as Csv, rows), expected.map((line) => line.map((cell) => cell ?? '')), `and so does Python (seed ${seed})`)
  }
})
