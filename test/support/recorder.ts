/**
 * Records the statements that the service sends to its database: with a proxy in front of a MySQL server, or by
 * observing the SQLite sessions of this process. Tests use it to prove that no statement was sent.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Session } from '../../src/dialects/sqlite/session.ts'

/** COM_QUERY, the command that carries SQL text (MySQL manual, "Client/Server Protocol"). */
const COM_QUERY = 3
/** MySQL 8.0.23 and later send query attributes before the text; here they are always two bytes that mean none. */
const NO_ATTRIBUTES = 2

export interface Proxy {
  /** The URL of the server with the proxy's port in it. */
  readonly url: string
  /** Statements in the order in which they were sent. */
  readonly statements: string[]
  /** Closes all connections, as a network failure would. */
  cut (): void
  /** Drops all current connections silently: the next packet on one of them causes a reset. */
  forget (): void
  /** While true, nothing passes in either direction, as in a network that drops packets. */
  silent: boolean
  /** While true, what the server sends is dropped. */
  deaf: boolean
  /**
   * Called with each statement before it is sent on. Bytes that it returns are the answer: the server does not get the
   * statement.
   */
  onStatement: (sql: string) => Buffer | undefined
  /** Delay of each packet of the server, in milliseconds. */
  delay: number
  /**
   * Sends each packet of the server twice: both together, or the second one before the answer to the next statement.
   */
  repeats: 'together' | 'later' | undefined
  /** Changes what the server sends: the connection ends with what it returns, if it returns anything. */
  mangle: (bytes: Buffer) => Buffer | undefined
  /** Answers `KILL` itself and does nothing, so that statements run on. */
  killsNothing: boolean
  /** While true, new connections are refused with "Too many connections". */
  full: boolean
  /** The server for new connections, with `socketPath` if it listens on a socket of the file system. */
  target: string
  /** Number of connections so far. */
  readonly connections: number
  close (): Promise<void>
}

/** "Too many connections" (MySQL manual, "Protocol::ERR_Packet"). */
const TOO_MANY = Buffer.from('\x18\0\0\0\xff\x10\x04#08004Too many connec', 'latin1')

/** An error as the response to a statement (MySQL manual, "Protocol::ERR_Packet"). */
export function errorPacket (number: number, state: string, message = 'refused'): Buffer {
  const body = Buffer.from(`\xff\0\0#${state}${message}`, 'latin1')
  body.writeUInt16LE(number, 1)
  return Buffer.concat([Buffer.from([body.length, 0, 0, 1]), body])
}

/** The result set of a statement with columns of text (MySQL manual, "Text Resultset"). */
export function resultPackets (columns: readonly string[], rows: ReadonlyArray<readonly string[]>): Buffer {
  const text = (value: string): Buffer => Buffer.concat([Buffer.from([Buffer.byteLength(value)]), Buffer.from(value)])
  const eof = Buffer.from([0xfe, 0, 0, 2, 0])
  const column = (name: string): Buffer => Buffer.concat([
    ...['def', '', '', '', name, ''].map(text), Buffer.from([12, 45, 0, 0, 1, 0, 0, 0xfd, 0, 0, 0, 0, 0])
  ])
  const bodies = [
    Buffer.from([columns.length]), ...columns.map(column), eof, ...rows.map((row) => Buffer.concat(row.map(text))), eof
  ]
  return Buffer.concat(bodies.map((body, index) => Buffer.concat([Buffer.from([body.length, 0, 0, index + 1]), body])))
}

/** The response to a statement without rows (MySQL manual, "Protocol::OK_Packet"). */
const OK = Buffer.from('\x07\0\0\x01\0\0\0\x02\0\0\0', 'latin1')

interface Link { readonly client: Socket, readonly upstream: Socket, forgotten: boolean }

/** `port`: the port to listen on; a free one if omitted. */
export async function createProxy (target: string, port = 0): Promise<Proxy> {
  const statements: string[] = []
  const links = new Set<Link>()
  const state = {
    silent: false,
    deaf: false,
    onStatement: (_sql: string): Buffer | undefined => undefined,
    delay: 0,
    repeats: undefined as Proxy['repeats'],
    mangle: (_bytes: Buffer): Buffer | undefined => undefined,
    killsNothing: false,
    full: false,
    target,
    connections: 0
  }
  const server: Server = createServer((client) => {
    state.connections++
    if (state.full) return client.on('error', () => {}).end(TOO_MANY)
    const { hostname, port, searchParams } = new URL(state.target)
    const socketPath = searchParams.get('socketPath')
    const upstream = socketPath === null ? connect(Number(port), hostname) : connect(socketPath)
    const link: Link = { client, upstream, forgotten: false }
    let answer: Buffer | undefined
    let last: Buffer | undefined
    // tables are confirmed once a second, before the statement that a test means
    let isConfirmation = false
    const reader = createPacketReader((sql) => {
      statements.push(sql)
      isConfirmation = sql.endsWith('limit 0')
      answer = state.onStatement(sql)
    })
    links.add(link)
    client.on('data', (bytes) => {
      answer = undefined
      reader(bytes as Buffer)
      if (last !== undefined) client.write(last)
      last = undefined
      if (link.forgotten) client.resetAndDestroy()
      else if (state.killsNothing && bytes.includes('kill query')) client.write(OK)
      else if (answer !== undefined) client.write(answer)
      else if (!state.silent) upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (state.silent || state.deaf) return
      const mangled = state.mangle(bytes as Buffer)
      if (mangled !== undefined) return client.end(mangled)
      const repeats = isConfirmation ? undefined : state.repeats
      if (repeats === 'later') last = bytes as Buffer
      if (repeats === 'together') client.write(Buffer.concat([bytes as Buffer, bytes as Buffer]))
      else if (state.delay > 0) setTimeout(() => client.write(bytes), state.delay)
      else client.write(bytes)
    })
    upstream.on('error', () => {}).on('close', () => { if (!link.forgotten) client.destroy() })
    client.on('error', () => {}).on('close', () => {
      links.delete(link)
      upstream.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const url = new URL(target)
  url.search = ''
  url.port = String((server.address() as AddressInfo).port)
  const cut = (): void => {
    for (const { client, upstream } of links) {
      // a socket that is ending cannot be reset: Node would wait for it forever at the end of the process; one of the
      // file system neither
      for (const socket of [client, upstream]) {
        if (socket.readyState === 'open' && socket.remotePort !== undefined) socket.resetAndDestroy()
        else socket.destroy()
      }
    }
  }
  return {
    url: url.href,
    statements,
    cut,
    forget: () => {
      for (const link of links) {
        link.forgotten = true
        link.upstream.destroy()
      }
    },
    get silent () { return state.silent },
    set silent (value) { state.silent = value },
    get deaf () { return state.deaf },
    set deaf (value) { state.deaf = value },
    get onStatement () { return state.onStatement },
    set onStatement (value) { state.onStatement = value },
    get delay () { return state.delay },
    set delay (value) { state.delay = value },
    get repeats () { return state.repeats },
    set repeats (value) { state.repeats = value },
    get mangle () { return state.mangle },
    set mangle (value) { state.mangle = value },
    get killsNothing () { return state.killsNothing },
    set killsNothing (value) { state.killsNothing = value },
    get full () { return state.full },
    set full (value) { state.full = value },
    get target () { return state.target },
    set target (value) { state.target = value },
    get connections () { return state.connections },
    close: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** Splits a stream into packets: three bytes of length, one of sequence, then the command. */
function createPacketReader (onStatement: (sql: string) => void): (bytes: Buffer) => void {
  let parts: Buffer[] = []
  let length = 0
  /** How many bytes there must be: those of the next packet, or of its header. */
  let needed = 4
  return (bytes) => {
    parts.push(bytes)
    length += bytes.length
    if (length < needed) return
    let rest = parts.length === 1 ? bytes : Buffer.concat(parts)
    needed = 4
    while (rest.length >= 4) {
      const end = 4 + rest.readUIntLE(0, 3)
      if (rest.length < end) {
        needed = end
        break
      }
      if (rest[3] === 0 && rest[4] === COM_QUERY) {
        onStatement(rest.toString('utf8', rest[5] === 0 ? 5 + NO_ATTRIBUTES : 5, end))
      }
      rest = rest.subarray(end)
    }
    parts = rest.length === 0 ? [] : [rest]
    length = rest.length
  }
}

/** Records the statements of all SQLite sessions of this process, except those that only end transactions. */
export function recordSqlite (): { statements: string[], stop (): void } {
  const statements: string[] = []
  const { ask } = Session.prototype
  Session.prototype.ask = function (order) {
    if ('sql' in order && order.kind !== 'transaction' && order.sql !== 'commit') statements.push(order.sql)
    return ask.call(this, order)
  }
  return { statements, stop: () => { Session.prototype.ask = ask } }
}
