/** The load generator of the benchmarks. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { AnswerReader } from '../../bench/load/answer-reader.ts'
import { connectHttpClient, type HttpClient, NUMBER } from '../../bench/load/http-client.ts'
import { type Client, runLoop } from '../../bench/load/loop.ts'

/** Answers a request by what it asks for: a status, or `close`. */
async function connectTo (t: Test, requests: string[]): Promise<HttpClient> {
  const server = createServer((socket: Socket) => {
    socket.on('data', (bytes) => {
      if (String(bytes) === 'close') socket.destroy()
      else socket.write(`HTTP/1.1 ${bytes} Text\r\ncontent-length: 2\r\n\r\nok`)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  const connected = await connectHttpClient(
    (server.address() as AddressInfo).port, requests.map((request) => Buffer.from(request))
  )
  t.teardown(() => connected.close())
  return connected
}

t.test('an answer is good where its status is 2xx', async (t) => {
  const statuses = ['200', '204', '299', '199', '302', '400', '503']
  const { client } = await connectTo(t, statuses)
  const good: boolean[] = []
  for (const index of statuses.keys()) good.push(await new Promise((resolve) => client(index, resolve)))
  t.same(good, [true, true, true, false, false, false, false])
})

t.test('a connection that is closed is a failure of its request alone', async (t) => {
  const { client } = await connectTo(t, ['200', 'close'])
  const good: boolean[] = []
  for (const index of [0, 1, 0, 1, 0]) good.push(await new Promise((resolve) => client(index, resolve)))
  t.same(good, [true, false, true, false, true])
})

t.test('a request with NUMBER has another number each time, and is as long', async (t) => {
  const request = `POST ${NUMBER} end`
  const received: string[] = []
  const server = createServer((socket: Socket) => {
    socket.on('data', (bytes) => {
      received.push(String(bytes))
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  const { client, close } = await connectHttpClient((server.address() as AddressInfo).port, [Buffer.from(request)])
  t.teardown(close)
  for (let count = 0; count < 3; count++) await new Promise((resolve) => client(0, resolve))
  t.equal(new Set(received).size, 3)
  for (const each of received) t.match(each, /^POST \d{22} end$/)
  t.equal(received[0]?.length, request.length)
})

const answers: Record<string, { text: string, status: number }> = {
  'with a length': {
    status: 200, text: 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nhello\r\n\r\nyo'
  },
  'without a body': { status: 204, text: 'HTTP/1.1 204 No Content\r\nx: y\r\n\r\n' },
  'with an empty body': { status: 500, text: 'HTTP/1.1 500 Internal Server Error\r\ncontent-length:0\r\n\r\n' },
  'in chunks': {
    status: 200,
    text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab\r\nc\r\nA\r\n0123456789\r\n0\r\n\r\n'
  },
  'in no chunk': { status: 404, text: 'HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n' }
}

for (const [name, { text, status }] of Object.entries(answers)) {
  t.test(`an answer ${name} ends with its last byte, however it is cut into pieces`, async (t) => {
    const bytes = Buffer.from(text)
    const reader = new AnswerReader()
    t.equal(reader.read(bytes), true, 'whole')
    t.equal(reader.status, status)
    for (let cut = 1; cut < bytes.length; cut++) {
      t.equal(reader.read(bytes.subarray(0, cut)), false, `the first ${cut} bytes`)
      t.equal(reader.read(bytes.subarray(cut)), true, `the rest after ${cut}`)
      t.equal(reader.status, status)
    }
    const last = [...bytes].map((byte) => reader.read(Buffer.of(byte)))
    t.same(last, [...Array<boolean>(bytes.length - 1).fill(false), true], 'byte by byte')
  })
}

const linux = existsSync('/proc/self/stat')

t.test('a turn counts what comes after its warm-up, and every failure', {
  skip: linux
    ? false
    : 'needs /proc'
}, async (t) => {
  const asked: number[] = []
  const client: Client = (operation, done) => {
    asked.push(operation)
    setTimeout(() => done(asked.length !== 2), 1)
  }
  const result = await runLoop([client], 3, { warmUp: 10, seconds: 0.1, pid: process.pid })
  t.equal(result.bad, 1, 'the one in the warm-up')
  t.ok(result.requests > 0)
  t.ok(result.requests <= asked.length - 10)
  t.ok(result.seconds >= 0.09)
  t.ok(result.p50 <= result.p99)
  t.equal(result.clientCpuSeconds, 0, 'it is the process that is measured')
  t.same(asked.slice(0, 7), [0, 1, 2, 0, 1, 2, 0], 'operations are asked in turns')
})

t.test('nothing counts before the slowest client has had its answers', {
  skip: linux
    ? false
    : 'needs /proc'
}, async (t) => {
  const HELD_BACK = 100
  let answers = 0
  const answer = (done: (good: boolean) => void): void => {
    answers++
    done(true)
  }
  const quick: Client = (_operation, done) => { setImmediate(answer, done) }
  let late = 0
  const slow: Client = (_operation, done) => {
    const until = late++ < 2 ? late * HELD_BACK : 0
    const wait = (): unknown => answers < until ? setImmediate(wait) : setImmediate(answer, done)
    wait()
  }
  const { requests } = await runLoop([quick, slow], 3, { warmUp: 2, seconds: 0.02, pid: process.pid })
  t.ok(requests > 0)
  t.ok(requests <= answers - 2 * HELD_BACK, 'those of the quick one in the meantime do not either')
})

t.test('so many clients ask at the same time', { skip: linux ? false : 'needs /proc' }, async (t) => {
  let open = 0
  let most = 0
  const client: Client = (_operation, done) => {
    most = Math.max(most, ++open)
    setImmediate(() => {
      open--
      done(true)
    })
  }
  await runLoop(Array(5).fill(client), 3, { warmUp: 4, seconds: 0.02, pid: process.pid })
  t.equal(most, 5)
  t.equal(open, 0, 'and each has its last answer in the end')
})
