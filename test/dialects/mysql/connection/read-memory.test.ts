// night: large documents and answers
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { ReadMemory } from '../../../../src/dialects/mysql/session.ts'
import '../../../support/seed.ts'
import { onEachEngine } from '../../../support/service.ts'

/** Answers a number with so many bytes, none of which is like those before and after it. */
async function startServer (t: Test): Promise<number> {
  const server = createServer((socket) => {
    socket.on('data', (asked) => socket.write(pattern(asked.readUInt32LE())))
    socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  return (server.address() as AddressInfo).port
}

const pattern = (size: number): Buffer =>
  Buffer.from(Array.from({ length: size }, (_, index) => index * 31 + (index >> 8) * 17 + (index >> 16) * 7 + size))

/**
 * A connection that asks for answers, one after the other, and keeps the pieces of each as they came until it is there.
 */
async function createClient (t: Test, memory: ReadMemory) {
  const socket = memory.connect({ host: '127.0.0.1', port: await startServer(t) })
  t.teardown(() => { socket.destroy() })
  await once(socket, 'connect')
  const ask = (size: number, freed: 'at its end'
    | 'later'): Promise<{ bytes: Buffer, pieces: Buffer[] }> => new Promise((resolve) => {
    const pieces: Buffer[] = []
    let length = 0
    const take = (piece: Buffer): void => {
      pieces.push(piece)
      length += piece.length
      if (length < size) return
      socket.off('data', take)
      const bytes = Buffer.concat(pieces)
      if (freed === 'at its end') memory.free()
      setImmediate(() => {
        memory.free()
        resolve({ bytes, pieces })
      })
    }
    socket.on('data', take)
    const asked = Buffer.alloc(4)
    asked.writeUInt32LE(size)
    socket.write(asked)
  })
  return { socket, ask }
}

const sizes = fc.oneof(
  fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 60_000, max: 70_000 }), fc.integer({ min: 1, max: 600_000 })
)

t.test('an answer is not overwritten while it arrives, wherever the previous ones ended', async (t) => {
  const { ask } = await createClient(t, new ReadMemory())
  await fc.assert(fc.asyncProperty(fc.array(fc.tuple(sizes, fc.constantFrom('at its end' as const, 'later' as const)), {
    minLength: 1, maxLength: 10
  }), async (answers) => {
    for (const [size, freed] of answers) if (!(await ask(size, freed)).bytes.equals(pattern(size))) return false
    return true
  }), { numRuns: 50 })
  t.pass()
})

t.test('the next answer reuses the memory of the previous ones', async (t) => {
  const { ask } = await createClient(t, new ReadMemory())
  const used = new Set<ArrayBufferLike>()
  for (let answer = 0; answer < 50; answer++) {
    for (const { buffer } of (await ask(answer % 2 === 0 ? 300 : 150_000, 'at its end')).pieces) used.add(buffer)
  }
  t.ok(used.size <= 4, `${used.size} blocks`)
})

t.test('what was read last is kept if it is freed only after Node has asked for the next memory', async (t) => {
  const memory = new ReadMemory()
  const { socket } = await createClient(t, memory)
  const size = 6_000_000
  let turns = 0
  const expected = pattern(size)
  const asked = Buffer.alloc(4)
  asked.writeUInt32LE(size)
  socket.write(asked)
  let [at, checked] = [0, 0]
  // each piece is the beginning of a packet that goes on in the next pieces
  const kept: Array<{ piece: Buffer, at: number }> = []
  await new Promise<void>((resolve) => socket.on('data', (piece: Buffer) => {
    kept.push({ piece, at })
    at += piece.length
    const wrong = kept.find((each) => !each.piece.equals(expected.subarray(each.at, each.at + each.piece.length)))
    if (wrong !== undefined) t.fail(`the piece at ${wrong.at} is overwritten at ${at}`)
    checked += kept.length
    if (at === size) return resolve()
    // short packets first, so that the long one begins in memory that is used again
    if (kept.length < (turns % 3 === 2 ? 8 : 2)) return
    turns++
    socket.pause()
    setImmediate(() => {
      kept.splice(0, kept.length - 1)
      memory.advance()
      socket.resume()
    })
  }))
  t.ok(checked > 100)
})

t.test('a listener that paused still receives the end of the connection', async (t) => {
  const { socket, ask } = await createClient(t, new ReadMemory())
  await ask(100, 'later')
  socket.removeAllListeners('data')
  const asked = Buffer.alloc(4)
  asked.writeUInt32LE(1_000_000)
  socket.end(asked)
  await once(socket, 'close')
  t.equal(socket.bytesRead, 1_000_100, 'and what it still had to say was read')
})

const SIZES = [1, 300, 20_000, 64_000, 70_000, 300_000, 1_000_000]
const wide = {
  mysql: ['create table wide (id int primary key, size int not null, text longtext not null)'], sqlite: []
}

await onEachEngine(t, 'answers of all sizes on the same connections contain their own rows', {
  schema: wide, only: ['mariadb', 'mysql'], database: { pool: { size: 2, wait: 60_000 } }
}, async (t, service) => {
  for (const [index, size] of SIZES.entries()) {
    await service.sql(`insert into wide values (${index}, ${size}, repeat(char(${97 + index} using utf8mb4), ${size}))`)
  }
  const ask = async (filters: object, ids: number[]): Promise<void> => {
    const { status, json } = await service.post('wide', { verb: 'select', filters, orderBy: 'id' })
    t.equal(status, 200)
    const right = json.data.rows.map(({ id, size, text }: { id: number, size: number, text: string }) =>
      text === String.fromCharCode(97 + id).repeat(size))
    t.same(right, ids.map(() => true), `rows ${ids.join()}`)
  }
  const ids = [...SIZES.keys()]
  await Promise.all(Array.from({ length: 60 }, (_, turn) => {
    const [from, to] = [turn % SIZES.length, (turn * 5) % SIZES.length].sort() as [number, number]
    const asked = ids.slice(from, to + 1)
    return ask({ id: { $in: asked } }, asked)
  }))
})
