/** What must hold on any cluster whose nodes all take writes. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { ServerProcess } from '../servers/processes.ts'
import { until } from '../support/until.ts'
import { BANK_TABLES, keepsItsSum } from './bank.ts'
import { insert, lost, reconcile, ROWS, startLoad } from './load.ts'
import { BOUND, connectionsOfService, serve, shopOn, sqlOn, type Program } from './service.ts'

/** A server of several that hold the same database. */
export interface Node extends Omit<ServerProcess, 'start'> {
  /** With `root`, who has no password. */
  readonly url: string
  start (more?: string[]): Promise<void>
  /** Starts it after it was killed, and waits until it takes part again. */
  rejoin (): Promise<void>
  /** Waits until a node that was cut off from the others takes part again. */
  recover (): Promise<void>
}

export interface Cluster {
  readonly nodes: readonly Node[]
  /** Cuts a node off from the others, but not from clients; undefined where the nodes have no network of their own. */
  readonly part?: ((index: number, on: boolean) => Promise<void>) | undefined
  remove (): void
}

/**
 * How long writing may pause when a node is gone, in milliseconds, on top of what the other nodes themselves need to go
 * on without it: half a second as a rule, two for Galera's, and now and then five for a group of MySQL's.
 */
const PAUSE = 3000
/** Rows until it is sure that writing goes on, and these are no answers that were under way. */
const ROWS_AGAIN = 20

/** All nodes in one URL, beginning with one of them. */
function urlOf ({ nodes }: Cluster, first = 0): string {
  const hosts = nodes.map((_, index) => new URL((nodes[(first + index) % nodes.length] as Node).url).host)
  return `mysql://app:app-password@${hosts.join()}/shop`
}

/**
 * Which node the service uses. It need not be the next one after a failure: that one may have refused, as the others
 * agreed without it.
 */
async function nodeOf ({ nodes }: Cluster): Promise<number> {
  const counts = await Promise.all(nodes.map(async ({ url }) => (await connectionsOfService(sqlOn(url))).length))
  return counts.indexOf(Math.max(...counts))
}

const WITNESS = 'create table witness (id bigint not null auto_increment primary key)'

/** How long a cluster may take to go on without a node, in seconds. */
const PATIENCE = 30

/**
 * Said where a cluster does not go on by itself, as when its nodes miss each other on a machine that is too busy: the
 * service cannot either.
 */
const STOPPED = 'PASSED OVER, the cluster itself takes no writes'

/**
 * The longest time that a node takes for a write, past the service, in milliseconds: the first ones may pass before the
 * others miss one. Undefined where it takes none.
 */
async function timeToWrite ({ url }: Node): Promise<number | undefined> {
  const write = async (): Promise<boolean> =>
    await sqlOn(url)('insert into witness values ()').then(() => true, () => false)
  let longest = 0
  for (let row = 0; row < ROWS_AGAIN; row++) {
    const begin = Date.now()
    const written = until('the other nodes go on', write, PATIENCE).then(() => true, () => false)
    // a write may also wait for ever
    if (!await Promise.race([written, sleep(PATIENCE * 1000, false, { ref: false })])) return undefined
    longest = Math.max(longest, Date.now() - begin)
  }
  return longest
}

/** One more than there are nodes: at least one of them is used again after it came back. */
const KILLS = 4

/** The node in use is killed, and comes back, again and again. */
export async function holdsUnderLoad (t: Test, cluster: Cluster): Promise<unknown> {
  const [first] = cluster.nodes as [Node]
  await shopOn(first.url, [ROWS, WITNESS])
  const program = await serve(t, { url: urlOf(cluster) })
  const load = startLoad(t, program, '/api/shop/rows_written', 8)
  await sleep(500)
  for (let kill = 0; kill < KILLS; kill++) {
    const index = await nodeOf(cluster)
    const [node, other] = [cluster.nodes[index], cluster.nodes[(index + 1) % cluster.nodes.length]] as [Node, Node]
    t.not(await timeToWrite(other), undefined, 'before that, another node takes writes')
    load.longestPause()
    await node.end('SIGKILL')
    const enough = load.written + ROWS_AGAIN
    const again = until('rows are written again', () => load.written > enough, PATIENCE)
    again.catch(() => {})
    const needed = await timeToWrite(other)
    if (needed === undefined) return t.pass(STOPPED)
    await again
    const pause = load.longestPause()
    t.comment(`node ${index} killed: no row was written for ${pause} ms, and by the others themselves for ${needed} ms`)
    t.ok(pause < needed + PAUSE)
    await node.rejoin()
  }
  await load.stop()
  t.comment(`the slowest answer: ${load.slowest} ms`)
  t.ok(load.slowest < BOUND)
  for (const [index, { url }] of cluster.nodes.entries()) {
    const rows = async () => (await sqlOn(url)('select name from rows_written')).map(({ name }) => name as string)
    // the nodes apply what others took a moment later
    await until(`node ${index} has them all`, async () => lost(load, await rows()).length === 0)
    reconcile(t, load, await rows())
  }
  t.ok(program.lives())
  await program.stop()
}

/** How many writes of two services, each by a node of its own, to one row. */
const ROUNDS = 100

/**
 * Conflicting changes come as an error of these names, and are refused as deadlocks; who sends them again comes
 * through.
 */
export async function conflictsAreDeadlocks (t: Test, cluster: Cluster, names: readonly string[]): Promise<unknown> {
  if (await timeToWrite(cluster.nodes[0] as Node) === undefined) return t.pass(STOPPED)
  const [first, second] = [await serve(t, { url: urlOf(cluster) }), await serve(t, { url: urlOf(cluster, 1) })]
  const { json: { data: { id } } } = await first.ask('rows_written', insert('contended'))
  const answers: string[] = []
  const write = async ({ ask }: Program, name: string): Promise<boolean> => {
    const { status, json } = await ask('rows_written', { verb: 'update', data: { name }, filters: { id } })
    answers.push(status === 200 ? '200' : `${status} ${json.error.code}`)
    return status === 200
  }
  const rename = async (program: Program, by: string): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) {
      let tries = 1
      // each after a time of its own: two that always try at the same moment may go on for ever
      while (!await write(program, `${by}-${round}`) && tries < 100) await sleep(Math.random() * 10 * tries++)
      if (tries === 100) throw new Error('a write that is safe to send again never comes through')
    }
  }
  await Promise.all([rename(first, 'a'), rename(first, 'b'), rename(second, 'c'), rename(second, 'd')])
  const counts = Object.groupBy(answers, (answer) => answer)
  t.comment(JSON.stringify(Object.fromEntries(Object.entries(counts).map(([answer, all]) => [answer, all?.length]))))
  t.same(Object.keys(counts).sort(), ['200', '503 DEADLOCK'])
  t.equal(counts['200']?.length, 4 * ROUNDS, 'every write comes through')
  const logs = (await Promise.all([first.stop(), second.stop()])).map(({ stdout }) => stdout).join('')
  const errors = logs.match(/\bER_[A-Z_]+\b/g) ?? []
  t.comment(JSON.stringify(
    Object.fromEntries([...new Set(errors)].map((name) => [name, errors.filter((other) => other === name).length]))
  ))
  t.ok(errors.some((name) => names.includes(name)), `${names.join(' or ')} was met`)
}

/** `limits`: statements that limit how large a transaction may be, each of them alone. */
export async function refusesTooLarge (t: Test, cluster: Cluster, { before = [], limits, unlimited }: {
  readonly before?: readonly string[], readonly limits: readonly string[], readonly unlimited: readonly string[]
}): Promise<unknown> {
  const [first] = cluster.nodes as [Node]
  if (await timeToWrite(first) === undefined) return t.pass(STOPPED)
  const sql = sqlOn(first.url)
  await shopOn(first.url, ['create table large (id int not null primary key, body longtext)'])
  for (const statement of before) await sql(statement)
  const { ask, operate, stop } = await serve(t, { url: urlOf(cluster) })
  const body = 'x'.repeat(200_000)
  for (const limit of limits) {
    await sql(limit)
    const rows = Array.from({ length: 4 }, (_, id) => ({ id, body }))
    for (const [answer, what] of [[await ask('large', { verb: 'insert', data: rows }), 'a statement'], [
      await operate(rows.map((data) => ({ table: 'large', verb: 'insert', data }))), 'a transaction'
    ]] as const) {
      t.match([answer.status, answer.json.error?.code], [422, 'RESULT_TOO_LARGE'], `${limit}: ${what}`)
    }
    t.match(await sql('select count(*) as n from large'), [{ n: 0 }], 'nothing was changed')
    for (const statement of unlimited) await sql(statement)
  }
  t.equal((await ask('large', { verb: 'insert', data: { id: 1, body } })).status, 200)
  await stop()
}

/** How often a node is killed under a bank. By hand, more of them: TEST_BANK_KILLS. */
const BANK_KILLS = Number(process.env['TEST_BANK_KILLS'] ?? 1)

/** Money is moved by two services, each by a node of its own, while nodes in use are killed. */
export async function keepsMoney (t: Test, cluster: Cluster): Promise<unknown> {
  const [first] = cluster.nodes as [Node]
  if (await timeToWrite(first) === undefined) return t.pass(STOPPED)
  await shopOn(first.url, BANK_TABLES)
  await keepsItsSum(t, {
    programs: [await serve(t, { url: urlOf(cluster) }), await serve(t, { url: urlOf(cluster, 1) })],
    sql: async (statement, values) => await sqlOn(first.url)(statement, values),
    kills: BANK_KILLS,
    async kill () {
      const node = cluster.nodes[await nodeOf(cluster)] as Node
      await node.end('SIGKILL')
      await node.rejoin()
    }
  })
}
