/** What clients do to a service all day: reads, writes, mistakes, and going away. */
import { Agent, request } from 'node:http'

export interface Load {
  /** Answers by status; 0 for none. */
  readonly answers: Map<number, number>
  /** Ends it, and waits for what is under way. */
  stop (): Promise<void>
}

interface Ask { readonly table?: string, readonly body: string, readonly token?: string, readonly leave?: boolean }

const random = (count: number): number => Math.floor(Math.random() * count)
const id = (): number => 1 + random(4)
const name = (): string => Math.random().toString(36).slice(2)
const verb = (verb: string, rest: object): string => JSON.stringify({ verb, ...rest })
const insert = (): string => verb('insert', { data: { email: `${name()}@example.com`, name: name() } })
const added = { id: { $gt: 4 } }

/** One of these each time, as often as the number says. */
const asks: ReadonlyArray<readonly [often: number, ask: () => Ask]> = [
  [20, () => ({ body: verb('select', { filters: { id: id() } }) })],
  [10, () => ({ body: verb('select', { orderBy: 'id DESC', limit: 1 + random(1000) }) })],
  // statements of many shapes, more than are kept
  [10, () => ({
    body: verb('select', {
      columns: ['id'],
      filters: {
        $or: Array.from(
          { length: 1 + random(40) }, () => ({ id: Array.from({ length: 1 + random(30) }, id), name: { $ne: name() } })
        )
      }
    })
  })],
  [10, () => ({ body: insert() })],
  [10, () => ({ body: verb('update', { data: { note: name() }, filters: { id: id() } }) })],
  [5, () => ({ body: verb('delete', { filters: { $and: [added, { id: { $lt: 1e15 } }] } }) })],
  [5, () => ({ body: verb('insert', { data: { email: 'ada@example.com', name: 'twice' } }) })],
  [3, () => ({ body: verb('delete', { filters: { id: 1 } }) })],
  [5, () => ({ body: '{"verb":' })],
  [5, () => ({ body: verb('select', { filters: { [name()]: 1 } }) })],
  [5, () => ({ body: verb('select', {}), table: name() })],
  [5, () => ({ body: verb('select', {}), table: `../${name()}/x` })],
  [5, () => ({ body: verb('select', {}), token: name() })],
  [1, () => ({ body: ' '.repeat(2 ** 20 + 1) })],
  [3, () => ({ body: verb('select', {}), leave: true })],
  [2, () => ({ body: verb('select', { limit: 1 }), table: 'slow', leave: true })],
  [1, () => ({ body: verb('select', { limit: 1 }), table: 'slow' })]
]
const bag = asks.flatMap(([often, ask]) => Array<() => Ask>(often).fill(ask))

/**
 * `address`: where the tables are. `clients`: how many ask at once, each on connections that are kept and now and then
 * lost.
 */
export function startLoad (address: string, token: string, clients: number): Load {
  const answers = new Map<number, number>()
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const end = new AbortController()

  const client = async (): Promise<void> => {
    while (!end.signal.aborted) {
      const status = await send(agent, address, token, (bag[random(bag.length)] as () => Ask)())
      answers.set(status, (answers.get(status) ?? 0) + 1)
    }
  }
  const all = Array.from({ length: clients }, client)
  return {
    answers,
    async stop () {
      end.abort()
      await Promise.all(all)
      agent.destroy()
    }
  }
}

/** The status of the answer; 0 where there was none, as for one that leaves. */
function send (agent: Agent, address: string, token: string, ask: Ask): Promise<number> {
  const { table = 'customers', body, leave = false } = ask
  return new Promise((resolve) => {
    const outgoing = request(new URL(table, address), {
      method: 'POST',
      agent,
      headers: {
        authorization: `Bearer ${ask.token ?? token}`, 'content-type': 'application/json'
      }
    })
    outgoing.on('error', () => resolve(0))
    outgoing.on('response', (answer) =>
      answer.on('error', () => resolve(0)).on('end', () => resolve(answer.statusCode as number)).resume())
    outgoing.end(body)
    if (leave) setTimeout(() => outgoing.destroy(), random(20))
  })
}
