import { ask, type Server } from './answer.ts'
import { startContainer } from './docker.ts'
import { programFromPackages } from './packages.ts'
import { programOnPath, type Wish } from './program.ts'
import { start } from './start.ts'

/** One way to a server. It gives undefined if it is not meant for such a server, and throws if it fails. */
export interface Way { name: string, get: (wish: Wish) => Promise<Server | undefined> }

/** The ways, in the order in which they are tried: what costs nothing first. */
export const WAYS: Way[] = [
  { name: 'TEST_MYSQL_URL', get: given },
  {
    name: 'PATH',
    get: async (wish) => {
      const program = await programOnPath(wish)
      return await start(program, program.words.join(' '))
    }
  },
  {
    name: 'packages',
    get: async (wish) => await start(await programFromPackages(wish), 'packages unpacked in the cache')
  },
  { name: 'Docker', get: startContainer }
]

/** The first server to be had that grants one of the wishes; no server: an Error of one line that says what to do. */
export async function obtain (wishes: Wish[], ways = WAYS): Promise<Server> {
  const reasons: string[] = []
  for (const way of ways) {
    for (const wish of wishes) {
      try {
        const server = await way.get(wish)
        if (server !== undefined) return server
      } catch (error) {
        if (error instanceof UserError) throw error
        reasons.push(`${way.name}, ${wish.kind}: ${(error as Error).message}`)
      }
    }
  }
  const kinds = wishes.map(({ kind, atLeast }) => [kind, atLeast].filter(Boolean).join(' ')).join(' or ')
  throw new Error(
    `no ${kinds} server for the tests: set TEST_MYSQL_URL=mysql://root@127.0.0.1:3306 (any account that may create ` +
      `databases), put its program on the PATH, or start Docker (${reasons.join('; ')})`
  )
}

/** What somebody asked for by name and does not get: no other server may stand in for it in silence. */
class UserError extends Error {}

/** The server of TEST_MYSQL_URL, whatever its version, if it is of the kind wished for. */
async function given ({ kind }: Wish): Promise<Server | undefined> {
  const url = process.env.TEST_MYSQL_URL ?? ''
  if (url === '') return undefined
  try {
    const engine = await ask(url.replace(/\/+$/, ''))
    return engine.name === kind ? { engine, from: 'TEST_MYSQL_URL', stop: () => {} } : undefined
  } catch (error) {
    throw new UserError(`TEST_MYSQL_URL is set, but that server does not answer: ${(error as Error).message}`)
  }
}
