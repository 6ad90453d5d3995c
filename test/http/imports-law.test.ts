// night: values of every type, connections that are cut
/**
 * Laws of imports: an export goes in and out again in chunks of any size, and what a lost connection leaves is what the
 * answer says.
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
