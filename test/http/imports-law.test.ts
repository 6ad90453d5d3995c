// night: values of every type, many malformed files, connections that are cut
/**
 * Laws of imports: an export goes in and out again in chunks of any size, a malformed file writes nothing, and what a
 * lost connection leaves is what the answer says.
 */
import { Readable } from 'node:stream'
import t from 'tap'
import { countItems, CSV, itemsOf, lines, load, NDJSON } from '../support/load.ts'
import type { Proxy } from '../support/recorder.ts'
import { seed } from '../support/seed.ts'
import { onEachEngine } from '../support/service.ts'
import { declare, groupsOn, sampleRows } from '../support/typed-columns.ts'

const ROWS = 30

/** The bytes in chunks of one to seven. */
function inChunks (text: string): Readable {
  const bytes = Buffer.from(text)
  return Readable.from((function * () {
    for (let at = 0, size = 1; at < bytes.length; at += size, size = size % 7 + 1) yield bytes.subarray(at, at + size)
  })(), { objectMode: false })
}

/** The lines without a JSON object whose keys all begin with `$`, which has another form in `data`. */
const withoutOperators = (text: string): string => text.split('\n')
  .filter((line) => line === '' || Object.values(JSON.parse(line)).every((value) =>
    typeof value !== 'object' || value === null || Array.isArray(value) ||
    !Object.keys(value).every((key) => key.startsWith('$')))).join('\n')

await onEachEngine(t, 'an export of every type goes into an empty copy in chunks of 1 to 7 bytes, and out again', {
  schema: (engine) => groupsOn(engine).flatMap((columns, group) => [`g${group}`, `copy${group}`].map(
    (name) => `create table ${name} (id integer not null primary key, ${declare(engine, columns)})`
  )),
  options: { bodyLimit: 16_000_000 }
}, async (t, service) => {
  const { engine, post } = service
  const read = async (table: string, accept: string): Promise<string> =>
    (await post(table, { verb: 'select', orderBy: 'id' }, { headers: { accept } })).text
  for (const [group, columns] of groupsOn(engine).entries()) {
    const data = sampleRows(columns, ROWS).map((row, id) => `{"id":${id},${row}}`)
    const inserted = await post(`g${group}`, `{"verb":"insert","data":[${data.join()}]}`)
    if (inserted.status !== 200) { t.fail(`insert refused: ${inserted.text}`, { seed }); return }
    for (const type of [CSV, NDJSON]) {
      const text = type === CSV ? await read(`g${group}`, type) : withoutOperators(await read(`g${group}`, type))
      const { status, text: answer } = await load(service, `copy${group}`, inChunks(text), { type })
      t.equal(status, 200, `${type} of group ${group}, seed ${seed}: ${answer.slice(0, 300)}`)
      t.equal(await read(`copy${group}`, type), text, `${type} of group ${group}, seed ${seed}`)
      await service.sql(`delete from copy${group}`)
    }
  }
})

const schema = itemsOf('n int, price decimal(6,2), meta json, at datetime')
const good = lines('', 1050, (index) => `s${index},1`).slice(1)
const goodLines = lines('', 1050, (index) => `{"sku":"s${index}"}`).slice(1)

/**
 * What follows 1050 rows in lines 2 to 1051 of CSV, or 1 to 1050 of NDJSON; the code, the line and the path below the
 * row.
 */
const afterCsv: Array<[rest: string | Buffer, code: string, line: number, path: string]> = [
  ['a\n', 'INVALID_BODY', 1052, ''], ['a,1,2\n', 'INVALID_BODY', 1052, ''], ['a"b,1\n', 'INVALID_BODY', 1052, '/sku'],
  ['"a"b,1\n', 'INVALID_BODY', 1052, '/sku'],
  ['"a\nb', 'INVALID_BODY', 1052, '/sku'], ['a,1\n\n"b\r\nc,1', 'INVALID_BODY', 1054, '/sku'],
  ['a,x\n', 'INVALID_VALUE', 1052, '/n'], ['a,1.5\n', 'INVALID_VALUE', 1052, '/n'],
  ['a,99999999999999999999\n', 'INVALID_VALUE', 1052, '/n'], ['a,0x1\n', 'INVALID_VALUE', 1052, '/n'],
  ['a, 1\n', 'INVALID_VALUE', 1052, '/n'], [',1\n', 'NOT_NULL_VIOLATION', 1052, '/sku'],
  ['a,""\n', 'INVALID_VALUE', 1052, '/n'], ['s5,1\n', 'UNIQUE_VIOLATION', 1052, '/sku'], [
    Buffer.from('a\xff,1\n', 'latin1'), 'INVALID_BODY', 1052, '-'
  ], [Buffer.from('a,1\n\xc3', 'latin1'), 'INVALID_BODY', 1053, '-'],
  ['"a\nb",1\nc,x\n', 'INVALID_VALUE', 1054, '/n']
]
const afterNdjson: typeof afterCsv = [
  ['{\n', 'INVALID_JSON', 1051, ''], ['[]\n', 'INVALID_BODY', 1051, ''], ['1\n', 'INVALID_BODY', 1051, ''],
  ['{"sku":"a","sku":"b"}\n', 'INVALID_BODY', 1051, ''], ['{"sku":"a"} {}\n', 'INVALID_JSON', 1051, ''],
  ['{"sku":"a","nope":1}\n', 'COLUMN_NOT_FOUND', 1051, '/nope'], ['{"n":1}\n', 'MISSING_COLUMN', 1051, '/sku'],
  ['{"sku":null}\n', 'NOT_NULL_VIOLATION', 1051, '/sku'], ['{"sku":1}\n', 'INVALID_VALUE', 1051, '/sku'],
  ['{"sku":"a","n":"x"}\n', 'INVALID_VALUE', 1051, '/n'], [
    '{"sku":"a","n":{"$inc":1}}\n', 'INVALID_VALUE', 1051, '/n'
  ], ['\n\n{"sku":"a","price":"1.234"}', 'INVALID_VALUE', 1053, '/price'],
  ['{"sku":"a","at":"2026-02-30T00:00:00"}\n', 'INVALID_VALUE', 1051, '/at'], [
    '{"sku":"a","meta":{"a":NaN}}\n', 'INVALID_JSON', 1051, ''
  ], ['{"sku":"s7"}\n', 'UNIQUE_VIOLATION', 1051, '/sku'],
  ['{"sku":"a","id":1}\r\n{"sku":"\\ud8', 'INVALID_JSON', 1052, '']
]

await onEachEngine(t, 'a malformed file has its code, line and column, and ' +
  'nothing is written', { schema }, async (t, service) => {
  for (const [type, first, rows] of [[CSV, `sku,n\n${good}`, afterCsv], [NDJSON, goodLines, afterNdjson]] as const) {
    for (const [rest, code, line, path] of rows) {
      const body = Buffer.concat([Buffer.from(first), Buffer.from(rest)])
      const { json, text } = await load(service, 'items', body, { type })
      const [detail] = json.error?.details ?? []
      t.equal(json.error?.code, code, `${String(rest)} ${text}`)
      t.equal(detail?.line, line, `${String(rest)} ${text}`)
      if (path !== '-') {
        t.match(detail?.path, new RegExp(`^/data/105\\d${path.replaceAll('/', '\\/')}$`), `${String(rest)} ${text}`)
      }
      t.equal(await countItems(service), 1, String(rest))
    }
  }
})

const TOTAL = 5200

await onEachEngine(t, 'a connection that is cut at any statement: whole is none or all, and batch is what the answer ' +
  'says, from which it goes on', { schema, only: ['mariadb', 'mysql'] }, async (t, service) => {
  const proxy = service.proxy as Proxy
  const all = lines('sku', TOTAL).split('\n').slice(1, -1)
  const from = (line: number): string => ['sku', ...all.slice(line - 2)].join('\n')
  for (const query of ['', '?transaction=batch']) {
    for (let cut = 0; cut < 16; cut++) {
      await service.sql('delete from items')
      let seen = 0
      proxy.onStatement = (sql) => {
        if (/^(insert into `items`|commit|start transaction)/i.test(sql) && seen++ === cut) proxy.cut()
        return undefined
      }
      const { status, json } = await load(service, 'items', from(2), { query })
      proxy.onStatement = () => undefined
      const rows = await countItems(service)
      if (status === 200) { t.equal(rows, TOTAL); continue }
      t.ok([502, 503].includes(status), `${status}`)
      const { committed } = json.error
      if (query === '') {
        t.ok(rows === 0 || (status === 502 && rows === TOTAL), `${rows} rows after ${status}`)
        continue
      }
      t.equal(committed.line, committed.rows === 0 ? 0 : committed.rows + 1)
      t.ok(rows === committed.rows || (status === 502 && rows > committed.rows &&
        rows <= committed.rows + 1000), `${rows} rows, ${JSON.stringify(committed)} after ${status}`)
      const rest = await load(service, 'items', from(Math.max(2, committed.line + 1)), {
        query: `${query}&onConflict=sku`
      })
      t.match(rest, { status: 200 })
      t.equal(await countItems(service), TOTAL)
      t.match(await service.sql('select count(distinct sku) as n from items'), [{ n: TOTAL }])
    }
  }
})
