/**
 * Histories in the manner of Jepsen: clients send operations, keys, `expect`, `$inc`, `after` and reads of several rows
 * while servers are killed, frozen and cut off; afterwards every answer must fit into what is stored
 * (test/support/history.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { checkHistory, type Event, type Final, type Seen } from '../support/history.ts'
import { createProxy, type Proxy } from '../support/recorder.ts'
import { TOKEN, type Answer } from '../support/service.ts'
import { until } from '../support/until.ts'
import { serve, type Program, type Sql } from './service.ts'

/**
 * The number of operations that are done, such as five in a request that reads two registers and writes two; the
 * nightly run has more of them.
 */
const OPERATIONS = Number(process.env['TEST_HISTORY'] ?? 3000)
/** After this time a history ends with fewer operations, in seconds. */
const LONGEST = Number(process.env['TEST_HISTORY_SECONDS'] ?? Infinity)
const REGISTERS = 24
const CLIENTS = 16
/** How long a disturbance lasts, in milliseconds. */
const DISTURBED = 1500
/**
 * At most how long a node is cut off from the others, in milliseconds: both shorter and longer than the others wait for
 * it.
 */
const PARTED = 12_000
/** A history has at least so many of them, which follow each other after a short time. */
const DISTURBANCES = 12
const SHORT = 1500
/**
 * The time between the others, in milliseconds: a share of the time of a long history, whatever its number of requests.
 */
const LONG = 6000
/** The rows of the log that a walk passes: as many in a long history as in a short one. */
const WALKED = 2000

export const TABLES = [
  'create table registers (id int not null primary key, version int not null, value int not null)',
  `insert into registers values ${Array.from({ length: REGISTERS }, (_, id) => `(${id}, 0, 0)`).join()}`,
  'create table log (id bigint not null auto_increment primary key, op int not null, register int not null, ' +
    'version int not null)',
  CREATE.mysql
]

export interface Stage {
  /** The servers by their own addresses, as `root`. */
  readonly urls: readonly string[]
  /** The services: each one begins with another server. */
  readonly services: number
  /** Whether one server answers all requests, so that reads are never stale. */
  readonly isStrict: boolean
  /** Whether transactions can be serializable. */
  readonly isSerializable: boolean
  readonly sql: (index: number) => Sql
  /** Kills a server and starts it again. */
  kill (index: number): Promise<void>
  /** Stops a server and lets it go on; undefined where the others would let it go. */
  readonly freeze?: ((index: number, on: boolean) => void) | undefined
  /** Cuts a node off from the others, but not from the services; afterwards waits until it takes part again. */
  readonly part?: ((index: number, on: boolean) => Promise<void>) | undefined
}

const random = (limit: number): number => Math.floor(Math.random() * limit)
const choose = (count: number): number[] => Array.from({ length: REGISTERS }, (_, id) => ({ id, at: Math.random() }))
  .sort((one, other) => one.at - other.at).slice(0, count).map(({ id }) => id)

interface Row { readonly id: number, readonly version: number, readonly value: number }
const seenIn = (rows: readonly Row[]): Seen[] =>
  rows.map(({ id, version, value }) => ({ register: id, version, value }))

const read = (register: number): object => ({ table: 'registers', verb: 'select', filters: { id: register } })
/** Writes the registers, whose results are those from `at` on, and notes the versions in the log. */
const write = (op: number, registers: readonly number[], at = 0): object[] => [
  ...registers.map((id) => ({
    table: 'registers',
    verb: 'update',
    filters: {
      id
    },
    data: { version: { $inc: 1 }, value: op },
    returning: ['id', 'version'],
    expect: 1
  })),
  {
    table: 'log',
    verb: 'insert',
    data: registers.map(
      (register, index) => ({ op, register, version: { $ref: `/${at + index}/rows/0/version` } })
    )
  }
]

/** Answers that promise that nothing was changed. */
const isRefused = ({ status }: Answer): boolean => status !== 200 && status !== 502

/** What all clients have done together. */
interface History {
  readonly events: Event[]
  readonly answers: Map<string, number>
  /** The number of requests. */
  requests: number
  /** The number of operations in requests that were answered with 200. */
  done: number
  /** The highest id of the log that an answer had. */
  newest: number
  /** The test has failed, and nothing is sent any more. */
  isGivenUp: boolean
}

/** Sends requests until the history is over, and notes what was answered. */
class Client {
  readonly #program: Program
  readonly #history: History
  readonly #isSerializable: boolean

  constructor (program: Program, history: History, isSerializable: boolean) {
    this.#program = program
    this.#history = history
    this.#isSerializable = isSerializable
  }

  async run (isOver: () => boolean): Promise<void> {
    while (!isOver()) await this.#one(++this.#history.requests)
  }

  async #one (id: number): Promise<void> {
    const dice = random(100)
    const [first, second, third] = choose(3) as [number, number, number]
    if (dice < 35) await this.#transact(id, { writes: choose(1 + random(2)) })
    else if (dice < 65) await this.#transact(id, { reads: choose(2 + random(3)) })
    else if (dice < 80) await this.#compareAndSet(id, first)
    else if (dice < 90) await this.#transact(id, { reads: [first, second], writes: [third] })
    else if (dice < 99) {
      await this.#transact(id, {
        reads: [first, second], writes: [third], isSerializable: this.#isSerializable
      })
    } else if (random(5) === 0) await this.#walk(id)
  }

  /** Operations: reads, then writes. Half of those that write have a key, and are sent until they are answered. */
  async #transact (id: number, { reads = [], writes = [], isSerializable = false, required }: {
    reads?: readonly number[], writes?: readonly number[], isSerializable?: boolean, required?: Seen
  }): Promise<void> {
    const operations: object[] = [...reads.map(read), ...writes.length > 0 ? write(id, writes, reads.length) : []]
    if (required !== undefined) {
      Object.assign(operations[reads.length] as object, {
        filters: { id: required.register, version: required.version }
      })
    }
    const begin = performance.now()
    const isKeyed = writes.length > 0 && random(2) === 0
    const answer = await this.#post('/api/shop', {
      operations,
      ...isSerializable &&
      { isolation: 'serializable' }
    }, isKeyed ? { 'idempotency-key': `op-${id}` } : {}, isKeyed)
    const results = answer?.status === 200 ? answer.json.data.results as Array<{ rows?: Row[], id?: number }> : []
    this.#history.done += results.length
    this.#history.newest = Math.max(this.#history.newest, writes.length > 0 ? results.at(-1)?.id ?? 0 : 0)
    this.#history.events.push({
      id,
      begin,
      end: performance.now(),
      outcome: answer === undefined
        ? 'unknown'
        : answer.status === 200 ? 'ok' : isRefused(answer) ? 'failed' : 'unknown',
      writes,
      reads: results.slice(0, reads.length).flatMap(({ rows = [] }) => seenIn(rows)),
      isWhole: writes.length === 0 || isSerializable,
      ...required !== undefined && { required }
    })
  }

  async #compareAndSet (id: number, register: number): Promise<void> {
    const answer = await this.#post('/api/shop/registers', { verb: 'select', filters: { id: register } })
    if (answer?.status !== 200) return
    this.#history.done++
    const [found] = seenIn(answer.json.data.rows)
    if (found !== undefined) await this.#transact(id, { writes: [register], required: found })
  }

  /** All pages of the newest rows of the log, to which others add rows meanwhile. */
  async #walk (id: number): Promise<void> {
    const begin = performance.now()
    const walked: number[] = []
    const from = Math.max(0, this.#history.newest - WALKED)
    const to = from + 2 * WALKED
    for (let after: unknown = null; ;) {
      const answer: Answer | undefined = await this.#post('/api/shop/log', {
        verb: 'select', columns: ['id'], filters: { id: { $between: [from, to] } }, orderBy: 'id', limit: 200, after
      })
      if (answer?.status !== 200) return
      this.#history.done++
      walked.push(...(answer.json.data.rows as Row[]).map((row) => Number(row.id)))
      after = answer.json.data.next
      if (after === null || after === undefined) break
    }
    this.#history.events.push({
      id,
      begin,
      end: performance.now(),
      outcome: 'ok',
      writes: [],
      reads: [],
      isWhole: false,
      walk: { from, to, rows: walked }
    })
  }

  /** `isRepeated`: until the answer says what became of it. Undefined if the service does not answer. */
  async #post (path: string, body: object, headers: Record<string, string> = {}, isRepeated = false): Promise<Answer
    | undefined> {
    for (;;) {
      const answer = await this.#program.post(path, body, TOKEN, headers).catch(() => undefined)
      const code = answer === undefined ? 'NO ANSWER' : answer.status === 200 ? 'OK' : String(answer.json.error.code)
      this.#history.answers.set(code, (this.#history.answers.get(code) ?? 0) + 1)
      const isFinal = answer !== undefined && (answer.status === 200 || answer.status === 412)
      if (isFinal || !isRepeated || this.#history.isGivenUp) {
        // a server that is away would be asked thousands of times
        if (!isFinal) await sleep(20 + random(30))
        return answer
      }
      await sleep(20 + random(50))
    }
  }
}

/** Disturbs one server after the other until `isOver`; `counts` is how often. */
async function disturb (
  stage: Stage, proxies: readonly Proxy[], counts: Record<string, number>, isOver: () => boolean
): Promise<void> {
  const kinds = Object.keys(counts)
  while (!isOver()) {
    const quiet = sum(Object.values(counts)) < DISTURBANCES ? SHORT : LONG
    for (const end = performance.now() + quiet; performance.now() < end && !isOver();) await sleep(100)
    const index = random(stage.urls.length)
    const proxy = proxies[index] as Proxy
    const kind = kinds[random(kinds.length)] as string
    switch (kind) {
      case 'killed':
        await stage.kill(index)
        break
      case 'frozen':
        stage.freeze?.(index, true)
        await sleep(DISTURBED)
        stage.freeze?.(index, false)
        break
      case 'parted':
        await stage.part?.(index, true)
        await sleep(DISTURBED + random(PARTED - DISTURBED))
        await stage.part?.(index, false)
        break
      case 'cut':
        proxy.cut()
        break
      case 'silent':
        proxy.silent = true
        await sleep(DISTURBED)
        proxy.silent = false
        // what was dropped in between is lost for good
        proxy.cut()
    }
    counts[kind] = (counts[kind] ?? 0) + 1
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((one, other) => one + other, 0)

async function finalOf (sql: Sql): Promise<Final> {
  const registers = seenIn(await sql('select * from registers order by id') as Row[])
  const log = (await sql('select id, op, register, version from log') as Final['log']).map(
    (row) => ({ ...row, id: Number(row.id) })
  )
  return { registers, log }
}

export async function holdsHistories (t: Test, stage: Stage): Promise<void> {
  const proxies = await Promise.all(stage.urls.map((url) => createProxy(url)))
  t.teardown(async () => { for (const proxy of proxies) await proxy.close() })
  const hosts = proxies.map(({ url }) => new URL(url).host)
  const programs = await Promise.all(Array.from({ length: stage.services }, async (_, first) =>
    await serve(t, {
      url: `mysql://app:app-password@${[...hosts.slice(first), ...hosts.slice(0, first)].join()}/shop`,
      statementTimeout: 3000
    })))
  const history: History = { events: [], answers: new Map(), requests: 0, done: 0, newest: 0, isGivenUp: false }
  const { events, answers } = history
  const disturbances: Record<string, number> = {
    killed: 0,
    cut: 0,
    silent: 0,
    ...stage.freeze !== undefined &&
    { frozen: 0 },
    ...stage.part !== undefined && { parted: 0 }
  }
  const begin = performance.now()
  const seconds = (): number => Math.round((performance.now() - begin) / 1000)
  const isOver = (): boolean => history.isGivenUp || seconds() >= LONGEST ||
    (history.done >= OPERATIONS && sum(Object.values(disturbances)) >= DISTURBANCES)
  // nobody asks for the statements
  const forgetting = setInterval(() => { for (const { statements } of proxies) statements.length = 0 }, 1000)
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    new Client(programs[index % programs.length] as Program, history, stage.isSerializable))
  try {
    await Promise.all([disturb(stage, proxies, disturbances, isOver), ...clients.map((client) => client.run(isOver))])
  } finally {
    history.isGivenUp = true
    clearInterval(forgetting)
  }
  t.comment(
    `${events.length} requests with ${history.done} operations done in ${seconds()} s; ` +
      `${JSON.stringify(disturbances)}; ${[...answers].map(([code, count]) => `${code}: ${count}`).join(', ')}`
  )
  for (const index of stage.urls.keys()) {
    const sql = stage.sql(index)
    let problems: string[] = []
    // a node of a cluster may be behind the one that has committed
    await until(`node ${index} fits the history`, async () => {
      problems = checkHistory(events, await finalOf(sql), stage)
      return problems.length === 0
    }, 20).catch(() => {})
    t.same(problems.slice(0, 10), [], `node ${index}: ${problems.length} faults`)
  }
  t.ok(programs.every((program) => program.lives()))
  for (const program of programs) t.match(await program.stop(), { code: 0, stderr: '' })
}
