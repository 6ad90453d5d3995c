/**
 * `npm run soak`: the program under a mixed load for ten minutes (SOAK_MINUTES), while its catalog is read again and
 * its connections are killed. Prints what it uses every ten seconds; the exit code says whether that stayed flat and
 * every answer was one that may be.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createTestDatabase, engines, type TestDatabase } from '../servers/engines.ts'
import { connections } from '../support/connections.ts'
import { shop } from '../support/shop.ts'
import { HEAD, lineOf, MAX_SLOPE, slopeOf, type Sample } from './curve.ts'
import { startLoad } from './load.ts'
import type { Measure } from './measure.ts'

const { SOAK_MINUTES = '10', SOAK_CLIENTS = '12' } = process.env
/** Seconds between measurements. */
const PERIOD = 10
const TOKEN = 'soak-token-soak-token-soak-token-soak'
/** Below so many samples the slope says nothing: five minutes. */
const ENOUGH = 30
/** What clients may get here: their own mistakes, and what killed connections and lost locks mean. */
const EXPECTED = new Set([0, 200, 400, 401, 404, 409, 413, 502, 503])

/** The program as somebody starts it, and where its tables are. */
async function startService ({ url, name }: TestDatabase): Promise<{ child: ChildProcess, address: string }> {
  const path = (file: string): string => fileURLToPath(new URL(file, import.meta.url))
  const child = fork(path('../../src/cli/main.ts'), ['serve'], {
    execArgv: ['--expose-gc', '--import', path('measure.ts')],
    env: { PATH: process.env['PATH'], DATABASE_URL: url, API_TOKEN: TOKEN, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc']
  })
  const { promise, resolve } = Promise.withResolvers<string>()
  child.stdout?.on('data', (lines: Buffer) => {
    const [listening] = /http:\/\/[\d.]+:\d+/.exec(String(lines)) ?? []
    if (listening !== undefined) resolve(listening)
  })
  return { child, address: `${await promise}/api/${name}/` }
}

async function measure (child: ChildProcess): Promise<Measure> {
  child.send('measure')
  const [measured] = await once(child, 'message')
  return measured as Measure
}

/** One connection of the service is killed each second, and its catalog changes and is read again every five. */
async function disturb ({ query }: TestDatabase, child: ChildProcess, signal: AbortSignal): Promise<void> {
  for (let second = 1; !signal.aborted; second++) {
    const open = await connections({ sql: query })
    const victim = open[Math.floor(Math.random() * open.length)]
    if (victim !== undefined) await query(`kill ${victim.id}`).catch(() => {}) // it may be gone already
    if (second % 5 === 0) {
      await query(second % 2 === 0 ? 'create table if not exists passing (a int null)' : 'drop table if exists passing')
      child.kill('SIGHUP')
    }
    await sleep(1000)
  }
}

async function soak (database: TestDatabase): Promise<string[]> {
  const { child, address } = await startService(database)
  const ended = once(child, 'exit')
  const load = startLoad(address, TOKEN, Number(SOAK_CLIENTS))
  const end = new AbortController()
  const disturbed = disturb(database, child, end.signal)
  const samples: Sample[] = []
  console.log(
    [`| ${HEAD.join(' | ')} |`, `|${HEAD.map((name) => '-'.repeat(name.length + 1) + ':').join('|')}|`].join('\n')
  )
  for (let answered = 0, seconds = PERIOD; seconds <= Number(SOAK_MINUTES) * 60; seconds += PERIOD) {
    await sleep(PERIOD * 1000)
    const all = Array.from(load.answers.values()).reduce((sum, count) => sum + count, 0)
    const sample = { seconds, requests: all - answered, ...await measure(child) }
    answered = all
    samples.push(sample)
    console.log(lineOf(sample))
  }
  end.abort()
  await disturbed
  await load.stop()
  child.kill('SIGTERM')
  const [code] = await ended
  return verdict(samples, load.answers, code as number | null)
}

/** What is wrong; nothing, where all is well. */
function verdict (samples: readonly Sample[], answers: ReadonlyMap<number, number>, code: number | null): string[] {
  const slope = slopeOf(samples)
  const counts = [...answers].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
  console.log(`answers by status: ${counts.join(', ')}`)
  console.log(
    `heap gained in the second half: ${(slope / 1024).toFixed(1)} KiB a minute, ` +
      `${(MAX_SLOPE / 1024).toFixed(0)} are allowed`
  )
  return [
    ...samples.length >= ENOUGH && slope > MAX_SLOPE ? ['the heap grows'] : [],
    ...[...answers.keys()].filter((status) => !EXPECTED.has(status)).map((status) => `answers of status ${status}`),
    ...code === 0 ? [] : [`it ended with ${code}`]
  ]
}

const [engine] = await engines()
if (engine === undefined) throw new Error('no server')
console.log(
  `${engine.name} ${engine.version}, ${SOAK_MINUTES} minutes, ${SOAK_CLIENTS} clients; MiB after garbage was collected`
)
const database = await createTestDatabase(engine, [
  ...shop.mysql, 'create view slow as select id, sleep(0.3) as slept from customers'
])
try {
  const faults = await soak(database)
  console.log(faults.length === 0 ? 'flat' : `NOT WELL: ${faults.join('; ')}`)
  process.exitCode = faults.length === 0 ? 0 : 1
} finally {
  await database.drop()
}
