/** Sends requests as bytes over a socket, including those that an HTTP client would not send. */
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { Answer, Service } from './service.ts'
import { TOKEN } from './service.ts'

export interface Line { start?: string, without?: string[], with?: string[], body?: string | Buffer }

export const SELECT = '{"verb":"select","columns":["id"],"limit":1}'

/** Creates a valid request with changes. The lines of `with` follow the others. */
export function request (
  { start = 'POST /api/shop/customers HTTP/1.1', without = [], with: more = [], body = SELECT }: Line = {}
): Buffer {
  const headers = [
    'Host: 127.0.0.1', `Authorization: Bearer ${TOKEN}`, 'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close'
  ]
  const kept = headers.filter((line) => !without.some((name) => line.startsWith(`${name}:`)))
  // Latin-1, so that a test can send any byte
  return Buffer.concat([
    Buffer.from(`${[start, ...kept, ...more].join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body as string)
  ])
}

export interface Wire {
  /**
   * Sends bytes on a new connection and returns all responses until the server closes it; `hangUp`: the client closes
   * it.
   */
  send (bytes: string | Buffer, options?: { hangUp?: boolean }): Promise<Answer[]>
  /** Opens a connection. */
  open (): Promise<Socket>
}

/** Listens on a free port until the service ends. A service that tests share listens once. */
export async function listen ({ server }: Service): Promise<Wire> {
  if (!server.app.server.listening) await server.app.listen({ host: '127.0.0.1', port: 0 })
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
      // time for the server to read it
      if (hangUp) setTimeout(() => socket.resetAndDestroy(), 50)
      return answers
    }
  }
}

/** Reads responses until the connection ends. */
export async function readAnswers (socket: Socket): Promise<Answer[]> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk as Buffer))
  socket.on('error', () => {}) // a reset ends the connection; the responses before it count
  await once(socket, 'close')
  return parse(Buffer.concat(chunks))
}

function parse (bytes: Buffer): Answer[] {
  if (bytes.length === 0) return []
  const end = bytes.indexOf('\r\n\r\n')
  const [start = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])
  )
  const length = Number(headers['content-length'] ?? 0)
  const text = bytes.toString('utf8', end + 4, end + 4 + length)
  const answer: Answer = {
    status: Number(start.split(' ')[1]), headers, text, json: text === '' ? null : JSON.parse(text)
  }
  return [answer, ...parse(bytes.subarray(end + 4 + length))]
}
