/**
 * Listens to what the service says to its database. Between the service and a MySQL server stands a proxy that reads the
 * packets on their way; for SQLite the driver's `prepare` is watched. A test can so prove that no statement was sent.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { DatabaseSync } from 'node:sqlite'

/** COM_QUERY, the command that carries SQL text (MySQL manual, "Client/Server Protocol"). */
const COM_QUERY = 3
/** MySQL 8.0.23 and later put the attributes of a query before its text: here always two bytes that say there are none. */
const NO_ATTRIBUTES = 2

export interface Proxy {
  /** The URL of the server with the proxy's port in it. */
  readonly url: string
  /** Statements in the order in which they were sent. */
  readonly statements: string[]
  /** Cuts every connection now, as a network would. */
  cut (): void
  /** Lets nothing through, in either direction, until it is set back: a network that drops packets. */
  silent: boolean
  close (): Promise<void>
}

/** `port`: where it listens; any that is free if left out. */
export async function createProxy (target: string, port = 0): Promise<Proxy> {
  const { hostname, port: targetPort } = new URL(target)
  const statements: string[] = []
  const sockets = new Set<Socket>()
  const state = { silent: false }
  const server: Server = createServer((client) => {
    const upstream = connect(Number(targetPort), hostname)
    const reader = createPacketReader((sql) => statements.push(sql))
    sockets.add(client).add(upstream)
    client.on('data', (bytes) => {
      reader(bytes as Buffer)
      if (!state.silent) upstream.write(bytes)
    })
    upstream.on('data', (bytes) => { if (!state.silent) client.write(bytes) })
    for (const [socket, other] of [[client, upstream], [upstream, client]] as const) {
      socket.on('error', () => other.destroy())
      socket.on('close', () => { sockets.delete(socket); other.destroy() })
    }
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const url = new URL(target)
  url.port = String((server.address() as AddressInfo).port)
  const cut = (): void => { for (const socket of sockets) socket.resetAndDestroy() }
  return {
    url: url.href,
    statements,
    cut,
    get silent () { return state.silent },
    set silent (value) { state.silent = value },
    close: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** Cuts a stream into packets: three bytes of length, one of sequence, then the command. */
function createPacketReader (onStatement: (sql: string) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0)
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= 4) {
      const end = 4 + rest.readUIntLE(0, 3)
      if (rest.length < end) return
      if (rest[3] === 0 && rest[4] === COM_QUERY) onStatement(rest.toString('utf8', rest[5] === 0 ? 5 + NO_ATTRIBUTES : 5, end))
      rest = rest.subarray(end)
    }
  }
}

/** Statements that any SQLite connection of this process prepares from now on. */
export function recordSqlite (): { statements: string[], stop (): void } {
  const statements: string[] = []
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (sql: string, ...rest: []) {
    statements.push(sql)
    return prepare.call(this, sql, ...rest)
  }
  return { statements, stop: () => { DatabaseSync.prototype.prepare = prepare } }
}
