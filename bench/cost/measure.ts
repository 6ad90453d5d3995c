/**
 * What a request costs in figures that no other program on the machine can disturb: the calls of functions, by V8's precise coverage, and the bytes
 * that are allocated on the heap.
 */
import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createConnection } from 'mysql2/promise'
import { ask } from '../ask.ts'
import { spawnProgram, type Spawned } from '../contenders/spawn.ts'
import { median } from '../measure/statistics.ts'
import type { Cost } from './costs.ts'
import { type HttpRequest, IN_PROCESS, REQUESTS, TABLES } from './requests.ts'
import type { Calls, Question } from './service.ts'

export interface Measured extends Cost {
  /** The difference between two series of the same requests, as a part of the calls. */
  readonly unsteady: number
}

const SERVICE = fileURLToPath(new URL('service.ts', import.meta.url))

/** A young generation that is not collected between two readings of the heap; compiled code that does not depend on when a thread has time. */
const FLAGS = ['--min-semi-space-size=256', '--max-semi-space-size=256', '--no-concurrent-recompilation']

/** Requests of each kind before the heap is read for the first time: as many as V8 needs to compile what is hot. */
const WARM_UP = { small: 400, large: 120 }

/** Of this many readings the median counts. */
const READINGS = 5
/** Requests between a collection and a reading, and between two readings. */
const AHEAD = 5
const BETWEEN = { small: 40, large: 10 }

/**
 * The least of several batches counts: a timer, or an answer of the database in two pieces, only ever adds calls. The requests of a batch: enough to
 * divide by them what it costs to read the counters.
 */
const BATCHES = 4
const BATCH = 10

/** Measures the checkout in `folder`. `url`: a server of MariaDB, where it creates a database and drops it again. */
export async function measure (url: string, folder: string): Promise<Map<string, Measured>> {
  const database = `cost_${randomBytes(4).toString('hex')}`
  const connection = await createConnection({ uri: url })
  await connection.query(`create database ${database} character set utf8mb4`)
  try {
    await connection.query(`use ${database}`)
    for (const statement of TABLES) await connection.query(statement)
    const token = randomBytes(32).toString('hex')
    const service = spawnProgram({
      args: [...FLAGS, SERVICE, folder], channel: true, env: { DATABASE_URL: `${url}/${database}`, API_TOKEN: token, LOG_LEVEL: 'warn' }
    })
    try {
      return await measureService(service, database, token)
    } finally {
      await service.stop()
    }
  } finally {
    await connection.query(`drop database ${database}`)
    await connection.end()
  }
}

/** Sends a request so many times, one after the other. */
type Send = (times: number) => Promise<void>

async function measureService (service: Spawned, database: string, token: string): Promise<Map<string, Measured>> {
  const put = async <T>(question: Question): Promise<T> => await ask<T>(service, question)
  const client = connect(await put({ ask: 'port' }), `/api/${database}`, token)
  const sends: Array<{ name: string, size: keyof typeof BETWEEN, send: Send }> = [
    ...Object.entries(REQUESTS).map(([name, each]) => ({ name, size: each.isLarge === true ? 'large' as const : 'small' as const, send: client.repeat(each) })),
    ...Object.entries(IN_PROCESS).map(([name, make]) => ({
      name, size: 'small' as const, send: async (times: number) => { await put({ ask: 'run', request: make(database), times }) }
    }))
  ]
  for (const { size, send } of sends) await send(WARM_UP[size])
  const bytes = new Map<string, number>()
  for (const { name, size, send } of sends) {
    const readings: number[] = []
    for (let reading = 0; reading < READINGS; reading++) {
      await put({ ask: 'heap', collect: true })
      await send(AHEAD)
      const before = await put<number>({ ask: 'heap', collect: false })
      await send(BETWEEN[size])
      readings.push((await put<number>({ ask: 'heap', collect: false }) - before) / BETWEEN[size])
    }
    bytes.set(name, median(readings))
  }
  // counting discards the machine code, so it comes last
  await put({ ask: 'startCounting' })
  const count = async (send: Send): Promise<Calls> => {
    await send(BATCH)
    let least: Calls | undefined
    for (let batch = 0; batch < BATCHES; batch++) {
      await put({ ask: 'takeCounts' })
      await send(BATCH)
      const calls = await put<Calls>({ ask: 'takeCounts' })
      if (least === undefined || sum(calls) < sum(least)) least = calls
    }
    return least as Calls
  }
  const measured = new Map<string, Measured>()
  for (const { name, send } of sends) {
    const [one, other] = [await count(send), await count(send)]
    const [calls, more] = sum(one) < sum(other) ? [one, other] : [other, one]
    const each = (part: keyof Calls): number => Math.round(calls[part] / BATCH)
    measured.set(name, {
      ours: each('ours'),
      packages: each('packages'),
      node: each('node'),
      bytes: Math.round((bytes.get(name) as number) / 10) * 10,
      unsteady: (sum(more) - sum(calls)) / sum(calls)
    })
  }
  client.close()
  return measured
}

const sum = ({ ours, packages, node }: Calls): number => ours + packages + node

/** One connection. `path`: that of the database. */
function connect (port: number, path: string, token: string): { repeat (request: HttpRequest): Send, close (): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let number = 0

  const send = async ({ table, isNamed, body: make, type = 'application/json', accept = 'application/json', status: expected = 200 }: HttpRequest): Promise<void> => {
    const made = make(number++)
    const body = typeof made === 'string' ? made : JSON.stringify(made)
    const { status, text } = await new Promise<{ status: number | undefined, text: string }>((resolve, reject) => {
      const sent = request({
        agent,
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: isNamed === true ? `/api/requests/${table}` : table === '' ? path : `${path}/${table}`,
        headers: { authorization: `Bearer ${token}`, 'content-type': type, 'content-length': Buffer.byteLength(body), accept }
      }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part) => { text += part })
        response.on('end', () => resolve({ status: response.statusCode, text }))
      })
      sent.on('error', reject).end(body)
    })
    if (status !== expected) throw new Error(`${status} instead of ${expected}: ${text.slice(0, 500)}`)
  }
  return {
    repeat: (each) => async (times) => {
      for (let time = 0; time < times; time++) await send(each)
    },
    close: () => agent.destroy()
  }
}
