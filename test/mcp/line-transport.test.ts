/** Messages as lines: what is no message, exact numbers, and the limits on what is read and kept. */
import { PassThrough } from 'node:stream'
import { parseJSONRPCMessage, type JSONRPCMessage } from '@modelcontextprotocol/server'
import t, { type Test } from 'tap'
import { LineTransport, MAX_PENDING } from '../../src/mcp/line-transport.ts'
import { until } from '../support/until.ts'

async function start (t: Test, maxLength = 1000) {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const transport = new LineTransport({ input, output, maxLength, parse: parseJSONRPCMessage })
  const received: JSONRPCMessage[] = []
  const written: string[] = []
  let isClosed = false
  transport.onmessage = (message) => { received.push(message) }
  transport.onclose = () => { isClosed = true }
  output.setEncoding('utf8').on(
    'data', (text: string) => written.push(...text.split('\n').filter((line) => line !== ''))
  )
  await transport.start()
  t.teardown(() => transport.close())
  return {
    transport,
    input,
    output,
    received,
    written,
    isClosed: () => isClosed,
    answer: (id: number | string) => transport.send({ jsonrpc: '2.0', id, result: {} })
  }
}

const ping = (id: number
  | string, rest = ''): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"ping"${rest}}\n`
const codes = (written: readonly string[]): number[] => written.map((line) => JSON.parse(line).error.code)

t.test('messages are lines, however they arrive', async (t) => {
  const { input, received, written } = await start(t)
  const text = `${ping('é')}\r\n\n  \n${ping(2).trimEnd()}\r\n${ping(3)}`
  for (const byte of Buffer.from(text)) input.write(Buffer.from([byte]))
  await until('all are received', () => received.length === 3)
  t.same(received.map((message) => (message as { id: unknown }).id), ['é', 2, 3])
  t.same(written, [])
})

t.test('what is no message has an answer, and the next line is read', async (t) => {
  const { input, received, written } = await start(t)
  input.write(Buffer.concat([
    Buffer.from('x\n{"a":1,"a":2}\n'), Buffer.from([0xff, 0x0a]),
    Buffer.from(`[${ping(1).trim()}]\n5\nnull\n{}\n{"jsonrpc":"2.0","id":{},"method":"ping"}\n${ping(2)}`)
  ]))
  await until('all are answered', () => received.length === 1 && written.length === 8)
  t.same(codes(written), [-32700, -32700, -32700, -32600, -32600, -32600, -32600, -32600])
})

t.test('numbers in arguments are exact, others are ordinary', async (t) => {
  const { input, received, transport, written } = await start(t)
  input.write(
    '{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"x","arguments":{"id":9007199254740993,' +
      '"n":52.0},"_meta":{"progressToken":1e0}}}\n'
  )
  await until('it is received', () => received.length === 1)
  const [message] = received as [any]
  t.equal(JSON.stringify(message.params.arguments.sent), '{"id":9007199254740993,"n":52.0}')
  t.same([message.id, message.params._meta.progressToken], [1, 1])
  await transport.send({ jsonrpc: '2.0', id: 1, result: { structuredContent: message.params.arguments.sent } })
  t.same(written, ['{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"id":9007199254740993,"n":52.0}}}'])
})

t.test('a message is one line for every reader', async (t) => {
  const { output, transport } = await start(t)
  let text = ''
  output.on('data', (part: string) => { text += part })
  const structuredContent = { 'a\u2028b': ['\x85', '\u2028', '\u2029', '\r\n'] }
  await transport.send({ jsonrpc: '2.0', id: 1, result: { structuredContent } })
  const [line, ...rest] = text.split(/[\n\r\x85\u2028\u2029]/)
  t.same(rest, [''])
  t.same(JSON.parse(String(line)).result, { structuredContent })
})

t.test('the id of a refused message comes back as it was sent', async (t) => {
  const { input, received, written } = await start(t)
  const refused = [
    '9007199254740993', '-9007199254740993', '12345678901234567890', '1e400', '1e-400', '9007199254740991.4',
    '0.99999999999999999999'
  ]
  for (const id of refused) input.write(`{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`)
  for (const id of ['9007199254740991', '1.0', '1e0']) input.write(`{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`)
  await until('all are read', () => received.length === 3)
  t.same(written.map((line) => /"id":(.*)}$/.exec(line)?.[1]), refused)
  t.same(codes(written), refused.map(() => -32600))
  t.same(received.map((message) => (message as { id: unknown }).id), [9007199254740991, 1, 1])
})

t.test('a line that is too long is refused, and not kept', async (t) => {
  const { input, received, written } = await start(t, 100)
  for (let count = 0; count < 50; count++) input.write('x'.repeat(1000))
  input.write(`\n${ping(1)}`)
  await until('the next one is received', () => received.length === 1)
  t.same(codes(written), [-32600])
  t.match(written[0], 'at most 100 bytes')
})

t.test('no more is read while too many requests are pending', async (t) => {
  const { input, received, answer, transport } = await start(t)
  for (let id = 0; id < MAX_PENDING * 3; id++) input.write(ping(id))
  await until('as many are received as may be pending', () => received.length === MAX_PENDING)
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  t.equal(received.length, MAX_PENDING)
  t.ok(input.isPaused())
  await answer(0)
  await until('one more is received', () => received.length === MAX_PENDING + 1)
  for (let id = 1; id < MAX_PENDING * 3; id++) {
    await until(`${id} is received`, () => received.length > id)
    await answer(id)
  }
  t.equal(received.length, MAX_PENDING * 3)
  await transport.send({ jsonrpc: '2.0', method: 'notifications/message', params: {} })
})

t.test('a subscription, which has no answer, does not keep the input open', async (t) => {
  const { input, transport, received, isClosed } = await start(t)
  for (let id = 0; id < MAX_PENDING * 2; id++) {
    input.write(`{"jsonrpc":"2.0","id":"s${id}","method":"subscriptions/listen","params":{}}\n`)
    await until('it is received', () => received.length === id + 1)
    await transport.send({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: {}, _meta: { 'io.modelcontextprotocol/subscriptionId': `s${id}` } }
    })
  }
  input.end()
  await transport.closed
  t.ok(isClosed())
})

t.test('answers that nobody reads stop the input', async (t) => {
  const [input, output] = [new PassThrough(), new PassThrough({ highWaterMark: 1000 })]
  const transport = new LineTransport({ input, output, maxLength: 1000, parse: parseJSONRPCMessage })
  await transport.start()
  t.teardown(() => transport.close())
  for (let count = 0; count < 1000; count++) input.write('x\n')
  await until('the input waits', () => input.isPaused())
  t.ok(
    output.readableLength + output.writableLength < 5000, `${output.readableLength + output.writableLength} bytes wait`
  )
  let lines = 0
  output.on('data', (text: Buffer) => { lines += String(text).split('\n').length - 1 })
  await until('all are answered', () => lines === 1000)
})

t.test('requests with one id, and those that are cancelled, are counted too', async (t) => {
  const { input, received } = await start(t)
  const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}\n'
  for (let count = 0; count < MAX_PENDING - 1; count++) input.write(ping(7))
  input.write(cancel)
  for (let count = 0; count < MAX_PENDING + 5; count++) input.write(ping(8))
  await until('the cancelled ones are not pending', () => received.length === MAX_PENDING * 2)
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  t.equal(received.length, MAX_PENDING * 2)
})

t.test('it ends with its input, when all requests are answered', async (t) => {
  const { input, received, answer, transport, isClosed } = await start(t)
  input.end(`${ping(1)}${ping(2).trimEnd()}`)
  await until('the last line is received without a line feed', () => received.length === 2)
  await answer(1)
  t.notOk(isClosed())
  await answer(2)
  await transport.closed
  t.ok(isClosed())
  await answer(3)
})

t.test('it ends when nobody reads its output', async (t) => {
  const { output, transport, isClosed } = await start(t)
  output.destroy(new Error('EPIPE'))
  await transport.closed
  t.ok(isClosed())
})
