// night: starts programs, and sends megabytes of one text
/** Bodies of imports that no reader may hold whole, in a process with little memory. */
import t from 'tap'
import { CSV, NDJSON } from '../support/load.ts'
import { serveRowQuery } from '../support/row-query.ts'
import { onEachEngine, TOKEN } from '../support/service.ts'

const LONG = 5_000_000
const numbered = (count: number, write: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => write(index)).join()

/** Megabytes for the objects of the process: about twice what it has before. */
const HEAP = 160

await onEachEngine(t, `no row, header or JSON text ends a process that has ${HEAP} MB for its objects`, {
  schema: (engine) => [
    `create table notes (id integer primary key, text ${engine === 'sqlite' ? 'text' : 'longtext'}, meta json)`
  ]
}, async (t, { url, sql }) => {
  const cwd = t.testdir({
    'row-query.json': JSON.stringify({ databases: { shop: { url, statementTimeout: 60_000 } } })
  })
  const service = await serveRowQuery(t, {
    cwd, args: ['--config', 'row-query.json'], env: { API_TOKEN: TOKEN, NODE_OPTIONS: `--max-old-space-size=${HEAP}` }
  })
  const answers: Array<[what: string, type: string, body: string, status: number, message?: RegExp]> = [
    ['a text of quotes', CSV, `id,text\n1,${"'".repeat(LONG)}\n`, 200],
    ['a JSON text of escapes', NDJSON, `{"id":2,"meta":"${'\\n'.repeat(LONG / 2)}"}\n`, 200],
    [
      'a header that repeats a name', CSV, 'id,'.repeat(LONG / 2), 400,
      /header of the CSV has more than 1048576 characters/
    ],
    ['a header without names', CSV, ','.repeat(2 * LONG), 400, /header of the CSV has more than 1048576 characters/],
    ['a header of one name', CSV, `"${'a\n'.repeat(LONG)}`, 400, /header of the CSV has more than 1048576 characters/],
    ['a row without values', CSV, `id\n${','.repeat(2 * LONG)}\n`, 400, /The row has 10000001 cells, and the header 1/],
    [
      'an object with many names', NDJSON, `{"id":3,"meta":{${numbered(900_000, (index) => `"k${index}":1`)}}}\n`, 413,
      /more than 250000 names/
    ],
    [
      'many objects with names of their own', CSV,
      `id,meta\n3,"[${numbered(450_000, (index) => `{""k${index}"":1}`)}]"\n`, 413, /more than 250000 names/
    ]
  ]
  for (const [what, type, body, status, message] of answers) {
    const response = await fetch(`${service.address}/api/shop/notes`, {
      method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': type }, body
    })
    const text = await response.text()
    t.equal(response.status, status, `${what}: ${text.slice(0, 300)}`)
    if (message !== undefined) t.match(JSON.parse(text).error.message, message, what)
  }
  t.strictSame((await sql('select id, length(text) as n from notes order by id')).map(({ id, n }) =>
    [Number(id), n === null ? null : Number(n)]), [[1, LONG], [2, null]])
})
