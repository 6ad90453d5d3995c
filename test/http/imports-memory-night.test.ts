// alone: it measures memory
// night: 2 GB through a service that is a process of its own
/** The memory of an import does not grow with its body: 2 GB from a generator, while another client is answered. */
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { serveRowQuery } from '../support/row-query.ts'
import { onEachEngine, TOKEN } from '../support/service.ts'

/** Megabytes of the body. TEST_IMPORT_MB: another size. */
const SIZE = Number(process.env['TEST_IMPORT_MB'] ?? 2048)
const MOST = 400
/**
 * What V8 may keep of objects that have grown old, in megabytes, as in test/faults/service.ts: without a limit, the
 * peak was 409 MB on a busy machine.
 */
const OLD_OBJECTS = 128
/** Rows of ten kilobytes, and how many a chunk has. */
const TEXT = 'an example of a text that is as long as many are; '.repeat(200)
const ROWS = 100
/**
 * How many other answers must come while the body is sent, which goes on until then: a small body may be sent faster.
 */
const OTHERS = 10

const schema = (engine: string): string[] => [
  `create table items (id ${engine === 'sqlite' ? 'integer' : 'bigint'} primary key, n int not null, name varchar(100),
    text ${engine === 'sqlite' ? 'text' : 'mediumtext'})`,
  'create table few (id integer primary key)', 'insert into few values (1)'
]

// one server is enough: what is measured is the same
await onEachEngine(t, `an import of ${SIZE} MB holds less than ${MOST} MB, and other clients are answered`, {
  schema, only: ['mariadb']
}, async (t, { url, sql }) => {
  const cwd = t.testdir({
    'row-query.json': JSON.stringify({ databases: { shop: { url, importTimeout: 3_600_000 } } })
  })
  const service = await serveRowQuery(t, {
    cwd,
    args: ['--config', 'row-query.json'],
    env: { API_TOKEN: TOKEN, NODE_OPTIONS: `--max-old-space-size=${OLD_OBJECTS}` }
  })
  const rss = (): number => Number(
    /VmHWM:\s+(\d+) kB/.exec(readFileSync(join('/proc', String(service.child.pid), 'status'), 'utf8'))?.[1]
  ) / 1024
  const answers = { count: 0, slowest: 0, bad: 0 }
  const end = new AbortController()
  const others = (async () => {
    while (!end.signal.aborted) {
      const begin = performance.now()
      const { status } = await service.post('/api/shop/few', { verb: 'select' }, TOKEN)
      answers.count++
      if (status !== 200) answers.bad++
      answers.slowest = Math.max(answers.slowest, performance.now() - begin)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })()
  const client = request(`${service.address}/api/shop/items?transaction=batch`, {
    method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/csv' }
  })
  const responded = once(client, 'response')
  client.write('id,n,name,text\n')
  let [bytes, row, peak] = [0, 0, 0]
  while (bytes < SIZE * 1_048_576 || answers.count <= OTHERS) {
    let chunk = ''
    for (let each = 0; each < ROWS; each++) chunk += `${++row},${row % 97},"Zoë ""${row}""",${TEXT}\n`
    bytes += chunk.length
    if (!client.write(chunk)) await once(client, 'drain')
    // MariaDB need not keep what is not looked at
    if (row % 20_000 === 0) {
      await sql(`delete from items where id <= ${row - 5000}`)
      peak = Math.max(peak, rss())
    }
  }
  client.end()
  const [response] = await responded
  let text = ''
  for await (const part of response) text += part
  end.abort()
  await others
  t.equal(text, `{"success":true,"data":{"inserted":${row},"updated":0,"unchanged":0}}`)
  peak = Math.max(peak, rss())
  t.comment(
    `${(bytes / 1_048_576).toFixed()} MB in ${row} rows: ${peak.toFixed()} MB; ` +
      `${answers.count} other answers, the slowest in ${answers.slowest.toFixed()} ms`
  )
  t.ok(peak < MOST, `${peak} MB`)
  t.ok(answers.count > OTHERS)
  t.equal(answers.bad, 0)
})
