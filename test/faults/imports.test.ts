/**
 * Imports that are ended at random rows, by the end of the server, of connections, of the client or of the service:
 * `whole` is none or all rows, `batch` is what `committed` names, and going on from its line ends with every row once.
 */
import { request, type ClientRequest } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createRandom } from '../support/random.ts'
import { temporaryFolder } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { killAll, kinds, ownShop, serve, type Program, type Shop } from './service.ts'

const TOTAL = 8000
/** Rows of a chunk of the body, and the pause after it in milliseconds: an import takes about half a second. */
const [CHUNK, PAUSE] = [250, 8] as const
const ROUNDS = 4
/** A server needs seconds for its start. */
const RESTARTS = 2
const BATCH = 1000

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 1_000_000))
const random = createRandom(seed)

interface Answer { readonly status: number, readonly json: any }

interface Running {
  readonly client: ClientRequest
  /** Undefined if the connection has ended without one. */
  readonly answer: Promise<Answer | undefined>
}

/** Imports the rows from the one at an index on. */
function startImport ({ address }: Program, query: string, from = 0): Running {
  const client = request(`${address}/api/shop/items${query}`, {
    method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/csv' }
  })
  const answer = new Promise<Answer | undefined>((resolve) => {
    client.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => { text += part })
      response.on('end', () => resolve({ status: response.statusCode as number, json: JSON.parse(text) }))
      response.on('error', () => resolve(undefined))
    })
    client.on('error', () => resolve(undefined))
    client.on('close', () => setTimeout(() => resolve(undefined), 100))
  })
  const send = async (): Promise<void> => {
    client.write('sku\n')
    for (let row = from; row < TOTAL && !client.destroyed; row += CHUNK) {
      client.write(Array.from({ length: Math.min(CHUNK, TOTAL - row) }, (_, index) => `s${row + index}\n`).join(''))
      await sleep(PAUSE)
    }
    client.end()
  }
  send()
  return { client, answer }
}

interface Stand {
  program: Program
  /** The numbers of the rows that are there, in their order. */
  readonly rows: () => Promise<number[]>
  readonly clear: () => Promise<unknown>
  /** Starts the service, also again. */
  readonly start: () => Promise<Program>
  /** Whether no transaction is open. */
  readonly isQuiet: () => Promise<boolean>
}

const faults: Record<string, (stand: Stand, running: Running, shop: Shop | undefined) => Promise<unknown>> = {
  'the server is killed': async (_stand, _running, shop) => {
    await shop?.server.end('SIGKILL')
    await shop?.server.start()
  },
  'its connection is killed': async (_stand, _running, shop) =>
    shop === undefined ? undefined : await killAll(shop.sql),
  'its client goes': async (_stand, { client }) => client.destroy(),
  'the service gets SIGTERM': async (stand) => {
    await stand.program.stop('SIGTERM')
    stand.program = await stand.start()
  }
}

async function run (t: Test, stand: Stand, shop?: Shop): Promise<void> {
  const all = Array.from({ length: TOTAL }, (_, index) => index)
  const ended: Record<string, number> = {}
  for (const [name, fault] of Object.entries(faults)) {
    if (shop === undefined && /server|connection/.test(name)) continue
    for (const query of ['?transaction=whole', '?transaction=batch']) {
      for (let round = 0; round < (name === 'the server is killed' ? RESTARTS : ROUNDS); round++) {
        const title = `${name}, ${query}, round ${round}, seed ${seed}`
        await stand.clear()
        const running = startImport(stand.program, query)
        await sleep(random(500))
        await fault(stand, running, shop)
        const answer = await running.answer
        await until('no transaction is open', stand.isQuiet)
        const rows = await stand.rows()
        const { status, json } = answer ?? { status: 0, json: {} }
        ended[`${name} ${query} ${status}`] = (ended[`${name} ${query} ${status}`] ?? 0) + 1
        t.ok([0, 200, 502, 503].includes(status), `${title}: ${status}`)
        t.strictSame(rows, all.slice(0, rows.length), `${title}: the rows are the first ones, each once`)
        if (status === 200) t.equal(rows.length, TOTAL, title)
        else if (query === '?transaction=whole') {
          t.ok(rows.length === 0 ||
            (rows.length === TOTAL && status !== 503), `${title}: ${status} and ${rows.length} rows`)
        } else {
          const { committed } = json.error ?? {}
          if (status !== 0) t.equal(committed.line, committed.rows === 0 ? 0 : committed.rows + 1, title)
          if (status === 503) t.equal(rows.length, committed.rows, title)
          if (status === 502) {
            t.ok(rows.length >= committed.rows &&
            rows.length <= committed.rows + BATCH, `${title}: ${rows.length} rows, ${committed.rows} committed`)
          }
          // without an answer, or if a batch is left open, rows may be there already
          const goOn = (): Promise<Answer | undefined> =>
            startImport(stand.program, status === 503 ? query : `${query}&onConflict=sku&set=`, committed?.rows ??
              0).answer
          let rest = await goOn()
          // the service may not know yet that the first client has gone
          while (rest?.json.error?.code === 'OVERLOADED') rest = await goOn()
          t.match(rest, { status: 200 }, `${title}: going on`)
          t.strictSame(await stand.rows(), all, `${title}: every row is there once`)
        }
      }
    }
  }
  t.comment(JSON.stringify(ended))
}

const toNumbers = (rows: Array<{ sku: string }>): number[] =>
  rows.map(({ sku }) => Number(sku.slice(1))).sort((one, other) => one - other)

for (const kind of kinds) {
  t.test(`on ${kind}, an import that is ended at a random row leaves what its answer says`, async (t) => {
    const shop = await ownShop(t, kind, [
      'create table items (id int auto_increment primary key, sku varchar(20) not null unique)'
    ])
    const { sql, url } = shop
    const start = (): Promise<Program> => serve(t, { url })
    await run(t, {
      program: await start(),
      start,
      rows: async () => toNumbers(await sql('select sku from items') as Array<{ sku: string }>),
      clear: () => sql('delete from items'),
      isQuiet: async () => {
        // InnoDB shows this table as it was, unless nobody has read it for a tenth of a second
        await sleep(150)
        return (await sql('select trx_id from information_schema.innodb_trx')).length === 0
      }
    }, shop)
  })
}

t.test('on SQLite, an import that is ended at a random row leaves what its answer says', async (t) => {
  const file = join(temporaryFolder(t), 'shop.db')
  const database = new DatabaseSync(file, { timeout: 10_000 })
  t.teardown(() => database.close())
  database.exec(
    'pragma journal_mode = wal; create table items (id integer primary key, sku varchar(20) not null unique)'
  )
  const start = (): Promise<Program> => serve(t, { url: `sqlite:${file}` })
  const execute = (sql: string): boolean => {
    try {
      database.exec(sql)
      return true
    } catch {
      return false
    }
  }
  await run(t, {
    program: await start(),
    start,
    rows: async () => toNumbers(database.prepare('select sku from items').all() as Array<{ sku: string }>),
    clear: async () => database.exec('delete from items'),
    isQuiet: async () => execute('begin immediate') && execute('rollback')
  })
})
