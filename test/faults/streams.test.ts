/**
 * Streams from a server whose `net_write_timeout` is two seconds, with TLS and without: clients that pause longer get
 * every row, and memory does not grow with the rows.
 */
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createCertificate } from '../support/certificates.ts'
import { numbers } from '../support/numbers.ts'
import { until } from '../support/until.ts'
import { request } from '../support/wire.ts'
import { connectionsOfService, kinds, ownShop, serve, type Program } from './service.ts'

const MILLION = 1_000_000
const FEWER = 100_000
/**
 * How much more memory a million rows may take than a hundred thousand, in megabytes. With TLS Node allocates the
 * memory of each read anew, and V8 lets up to 64 MB of it gather before it collects them.
 */
const MORE = { 'without TLS': 40, 'with TLS': 40 + 64 } as const
/** Longer than the server waits for a client of its own that takes nothing, in milliseconds. */
const PAUSE = 7000

const tables = ['create table n (i int primary key)', `insert into n ${numbers(1000)}`, 'create view million as ' +
  "select a.i * 1000 + b.i as id, concat('a name that makes a row as long as many rows are, and is the same in each " +
    "of them ', b.i) as name from n a join n b"]

async function open (program: Program, limit: number): Promise<Socket> {
  const { port, hostname } = new URL(program.address)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(request({
    start: 'POST /api/shop/million HTTP/1.1',
    with: ['Accept: application/x-ndjson'],
    body: JSON.stringify({ verb: 'select', limit })
  }))
  await once(socket, 'readable')
  return socket
}

/** Reads a stream to its end: its rows, whether it is whole, and the most memory that the program had meanwhile. */
async function read (socket: Socket, program: Program): Promise<{ rows: number, isWhole: boolean, memory: number }> {
  let [rows, memory, end] = [0, 0, '']
  socket.on('data', (chunk: Buffer) => {
    for (let at = chunk.indexOf('}'); at >= 0; at = chunk.indexOf('}', at + 1)) rows++
    end = (end + chunk.toString('latin1')).slice(-7)
  })
  const timer = setInterval(() => { memory = Math.max(memory, program.memory()) }, 20)
  await once(socket, 'close')
  clearInterval(timer)
  return { rows, isWhole: end === '\r\n0\r\n\r\n', memory }
}

/** A certificate that a server of another account can read. */
async function certificateFiles (t: Test): Promise<{ cert: string, key: string }> {
  const { cert, key } = await createCertificate()
  const folder = mkdtempSync(join(tmpdir(), 'row-query-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  chmodSync(folder, 0o755)
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  writeFileSync(files.cert, cert)
  writeFileSync(files.key, key)
  return files
}

for (const kind of kinds) {
  t.test(`long streams of ${kind}`, async (t) => {
    const { cert, key } = await certificateFiles(t as Test)
    const { sql, url } = await ownShop(t as Test, kind, tables, [
      '--net-write-timeout=2', `--ssl-cert=${cert}`, `--ssl-key=${key}`, `--ssl-ca=${cert}`
    ])
    for (const [way, parameters] of [
      ['without TLS', ''], ['with TLS', `?ssl=verify-ca&ssl-ca=${encodeURIComponent(cert)}`]
    ] as const) {
      await t.test(way, async (t) => {
        const program = await serve(t as Test, { url: url + parameters, pool: { size: 4 } })
        t.match(await program.ask('n', { verb: 'select', limit: 1 }), { status: 200 })
        // what the first stream has taken once is not what a longer one takes
        t.match(await read(await open(program, FEWER), program), { rows: FEWER, isWhole: true })
        const fewer = await read(await open(program, FEWER), program)
        // a hundred thousand rows may fit into the buffers of the sockets, so that the database would not have to wait
        const paused = await open(program, MILLION)
        await sleep(PAUSE)
        t.match(await program.ask('n', { verb: 'select', limit: 1 }), { status: 200 }, 'short requests go on')
        t.equal((await connectionsOfService(sql)).filter(({ info }) => info?.includes('million'))
          .length, 1, 'the database waits for the client')
        const all = await read(paused, program)
        t.match(all, { rows: MILLION, isWhole: true }, 'every row arrives after the pause')
        t.ok(
          all.memory - fewer.memory < MORE[way],
          `${fewer.memory} MB with ${FEWER} rows, ${all.memory} MB with ${MILLION}`
        )
        const left = await open(program, MILLION)
        left.destroy()
        await until('nothing runs after its client has left', async () =>
          (await connectionsOfService(sql)).every(({ info }) => info?.includes('million') !== true), 5)
        t.ok(program.lives())
        t.match(await program.stop(), { code: 0, stderr: '' })
      })
    }
  })
}
