import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { connectHttpClient, NUMBER, type HttpClient } from '../../bench/load/http-client.ts'

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
  const connected = await connectHttpClient((server.address() as AddressInfo).port, requests.map((request) => Buffer.from(request)))
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
