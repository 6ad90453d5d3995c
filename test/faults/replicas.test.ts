import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { until } from '../support/until.ts'
import { BOUND, kinds, ownShop, serve, SOON } from './service.ts'

const CLIENTS = 8
/** Each server says who it is: nothing is replicated here, so that it is seen who answers. */
const named = (name: string) => [
  'create table who (id int not null primary key, name varchar(20) not null)', `insert into who values (1, '${name}')`
]
const read = { verb: 'select', columns: ['name'], filters: { id: 1 } }

for (const kind of kinds) {
  t.test(`replicas of a ${kind} server that fail under load are passed over, and used again when they are back`, async (
    t
  ) => {
    const [primary, one, two] = [
      await ownShop(t, kind, named('primary')), await ownShop(t, kind, named('one')),
      await ownShop(t, kind, named('two'))
    ]
    const program = await serve(t, { url: primary.url, replicas: [one.url, two.url], statementTimeout: 2000 })
    const seen = new Map<string, number>()
    const state = { running: true, slowest: 0 }
    const client = async (): Promise<void> => {
      while (state.running) {
        const begin = Date.now()
        const { status, json } = await program.ask('who', read)
        const source = status === 200 ? json.data.rows[0].name : `${status} ${json.error.code}`
        seen.set(source, (seen.get(source) ?? 0) + 1)
        state.slowest = Math.max(state.slowest, Date.now() - begin)
      }
    }
    const clients = Array.from({ length: CLIENTS }, client)
    /** Who answers from now on, for a while. */
    const sources = async (): Promise<string[]> => {
      seen.clear()
      await sleep(500)
      return [...seen.keys()].sort()
    }
    const uses = (why: string, names: string[]) => until(why, async () => (await sources()).join() === names.join(), 30)
    /** What is still under way when a server fails is answered by another one. */
    const nothingWasRefused = (why: string) => t.same([...seen.keys()].filter((source) => /^\d/.test(source)), [], why)

    await uses('both answer', ['one', 'two'])
    await one.server.end('SIGKILL')
    t.same(await sources().then((names) => names.filter((name) => name !== 'one')), ['two'], 'one was killed')
    nothingWasRefused('killed')
    await one.server.start()
    await uses('one is back', ['one', 'two'])
    await two.server.end()
    await one.server.end('SIGKILL')
    await uses('both are gone: the database itself answers', ['primary'])
    nothingWasRefused('both gone')
    await Promise.all([one.server.start(), two.server.start()])
    await uses('both are back', ['one', 'two'])
    t.comment(`the slowest answer while servers end: ${state.slowest} ms`)
    t.ok(state.slowest < SOON)

    t.teardown(() => two.server.freeze(false))
    two.server.freeze(true)
    await uses('two is frozen: it takes connections and says nothing', ['one'])
    two.server.freeze(false)
    await uses('two goes on', ['one', 'two'])
    state.running = false
    await Promise.all(clients)
    t.comment(`the slowest answer of all: ${state.slowest} ms`)
    t.ok(state.slowest < BOUND)
    t.ok(program.lives())
    t.match(await program.stop(), { code: 0, stderr: '' })
  })
}
