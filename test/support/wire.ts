/** Requests byte for byte, over a socket: what an HTTP client would not send. */
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { Answer, Service } from './service.ts'
import { TOKEN } from './service.ts'

export interface Line { start?: string, without?: string[], with?: string[], body?: string | Buffer }

export const SELECT = '{"verb":"select","columns":["id"],"limit":1}'

/** A request that is right but for what is changed in it. A line of `with` comes after the others. */
export function request ({ start = 'POST /api/shop/customers HTTP/1.1', without = [], with: more = [], body = SELECT }: Line = {}): Buffer {
  const headers = ['Host: 127.0.0.1', `Authorization: Bearer ${TOKEN}`, 'Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close']
  const kept = headers.filter((line) => !without.some((name) => line.startsWith(`${name}:`)))
  // Latin-1, as header lines are: a test may send any byte
  return Buffer.concat([Buffer.from(`${[start, ...kept, ...more].join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body as string)])
}

export interface Wire {
  /** Sends bytes on a connection of their own and gives every answer until the server ends it; `hangUp` ends it from here. */
  send (bytes: string | Buffer, options?: { hangUp?: boolean }): Promise<Answer[]>
  /** A connection to write to at will. */
  open (): Promise<Socket>
}

/** The service on a port of its own, until its test ends. */
export async function listen ({ server }: Service): Promise<Wire> {
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = server.app.server.address() as AddressInfo
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
  return {
    open,
    send: async (bytes, { hangUp = false } = {}) => {
      const socket = await open()
      const answers = readAnswers(socket)
      socket.write(bytes)
      // a moment for the server to take it in
      if (hangUp) setTimeout(() => socket.resetAndDestroy(), 50)
      return answers
    }
  }
}

/** What comes in until the connection ends. */
export async function readAnswers (socket: Socket): Promise<Answer[]> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk as Buffer))
  socket.on('error', () => {}) // a connection that is cut gives what it gave until then
  await once(socket, 'close')
  return parse(Buffer.concat(chunks))
}

function parse (bytes: Buffer): Answer[] {
  if (bytes.length === 0) return []
  const end = bytes.indexOf('\r\n\r\n')
  const [start = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]))
  const length = Number(headers['content-length'] ?? 0)
  const text = bytes.toString('utf8', end + 4, end + 4 + length)
  const answer: Answer = { status: Number(start.split(' ')[1]), headers, text, json: text === '' ? null : JSON.parse(text) }
  return [answer, ...parse(bytes.subarray(end + 4 + length))]
}
