/**
 * A proxy that makes a MySQL or MariaDB server answer like an engine derived from MySQL, as far as the service can
 * tell: it greets with the version of the engine, reads version comments as the engine does, refuses what its grammar
 * lacks, and ignores, stores or rescopes variables. The rules of each engine are in engine-rules.ts.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { checksQuery, columnsQuery, foreignKeysQuery, indexesQuery } from '../../src/sql/mysql-catalog.ts'
import { errorPacket } from './recorder.ts'

/** What an engine does with an assignment to a variable. */
type Assigned =
  /** The variable has the value. */
  | 'set'
  /** The variable keeps its value, without an error. */
  | 'ignored'
  /** The variable returns the value, which has no other effect. */
  | 'stored'

type Refusal = readonly [errno: number, state: string, message: string]

export interface EngineRules {
  readonly version: string
  /** Whether the text in a comment such as `/*!80019 …` is executed. */
  readonly executes: (mark: '!' | 'M!' | 'T!', version: number) => boolean
  /** Statements that are refused, without their comments, and where the sources of the engine say so. */
  readonly refuses: ReadonlyArray<{ readonly statement: RegExp, readonly error: Refusal, readonly source: string }>
  /** What it does with variables; any other one is unknown (1193). */
  readonly variables: Readonly<Record<string, Assigned>>
  /** The error for a value that a variable cannot have. */
  readonly value?: (name: string, value: string) => Refusal | undefined
  /** Changes a statement that means something else to the engine. */
  readonly means?: (statement: string) => string
}

export interface EngineProxy {
  readonly url: string
  /** The statements without their comments. */
  readonly statements: string[]
  /** Closes all connections. */
  cut (): void
  close (): Promise<void>
}

const COM_QUERY = 3
const COM_RESET_CONNECTION = 31
const HEADER = 4
/** Session tracking: bit 23 of the capabilities (MySQL manual, "Capability Flags"). */
const SESSION_TRACK = 0x80

const frame = (sequence: number, payload: Buffer): Buffer => {
  const header = Buffer.alloc(HEADER)
  header.writeUIntLE(payload.length, 0, 3)
  header[3] = sequence
  return Buffer.concat([header, payload])
}

/** Calls `take` with each whole packet. */
function packets (take: (sequence: number, payload: Buffer) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0)
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= HEADER && rest.length >= HEADER + rest.readUIntLE(0, 3)) {
      const end = HEADER + rest.readUIntLE(0, 3)
      take(rest[3] as number, rest.subarray(HEADER, end))
      rest = rest.subarray(end)
    }
  }
}

/** The greeting with another version, and without session tracking. */
function greet (greeting: Buffer, version: string): Buffer {
  const end = greeting.indexOf(0, 1)
  const changed = Buffer.concat([greeting.subarray(0, 1), Buffer.from(version, 'latin1'), greeting.subarray(end)])
  // after the version: 0, thread id, eight bytes, 0, lower capabilities, character set, status, upper capabilities
  const upper = 1 + version.length + 1 + 4 + 8 + 1 + 2 + 1 + 2
  changed[upper] = (changed[upper] as number) & ~SESSION_TRACK
  return changed
}

const QUOTED_OR_COMMENT = /'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`|\/\*(M?!|T!)?(\d{5,6})?([^]*?)\*\//g

/** Replaces comments as the engine reads them. */
const uncomment = (sql: string, { executes }: EngineRules): string =>
  sql.replace(QUOTED_OR_COMMENT, (found, mark: '!' | 'M!' | 'T!' | undefined, version: string
    | undefined, text: string | undefined) => {
    if (text === undefined) return found
    return mark !== undefined && executes(mark, Number(version ?? 0)) ? text : ' '
  })

const ASSIGNMENT = /\s*,?\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|[^,\s]+)/y

/** The server behind the proxy. */
interface Backend { readonly isMariadb: boolean }

/** MySQL's variables under the names of MariaDB. */
const IN_MARIADB: Readonly<Record<string, string>> = {
  max_execution_time: 'cast(@@max_statement_time * 1000 as unsigned)',
  transaction_isolation: '@@tx_isolation',
  partial_revokes: '0'
}

/** Catalog queries of MySQL in the form of MariaDB. */
const catalogQueries = new Map(
  [columnsQuery, indexesQuery, foreignKeysQuery, checksQuery].map((query) => [query(false), query(true)])
)

/** One session of the engine. */
class EngineSession {
  readonly #rules: EngineRules
  readonly #backend: Backend
  readonly #stored = new Map<string, string>()

  constructor (rules: EngineRules, backend: Backend) {
    this.#rules = rules
    this.#backend = backend
  }

  reset (): void {
    this.#stored.clear()
  }

  /** Returns the statement for the server, or an error. */
  take (given: string): string | Refusal {
    const { refuses, means = (sql) => sql } = this.#rules
    const sql = means(given)
    const refused = refuses.find(({ statement }) => statement.test(sql))
    if (refused !== undefined) return refused.error
    if (/^set session (?!transaction )/i.test(sql)) return this.#assign(sql)
    return this.#backend.isMariadb ? this.#read(catalogQueries.get(sql) ?? sql) : this.#read(sql)
  }

  #assign (sql: string): string | Refusal {
    const { variables, value: refuse } = this.#rules
    const kept: string[] = []
    ASSIGNMENT.lastIndex = 'set session '.length
    for (let found = ASSIGNMENT.exec(sql); found !== null; found = ASSIGNMENT.exec(sql)) {
      const [, name = '', value = ''] = found
      const assigned = Object.hasOwn(variables, name) ? variables[name] : undefined
      if (assigned === undefined) return [1193, 'HY000', `Unknown system variable '${name}'`]
      const refusal = refuse?.(name, value)
      if (refusal !== undefined) return refusal
      if (assigned === 'stored') this.#stored.set(name, value)
      if (assigned === 'set') kept.push(this.#toServer(name, value))
    }
    return kept.length === 0 ? 'do 0' : `set session ${kept.join(', ')}`
  }

  #toServer (name: string, value: string): string {
    if (name === 'max_execution_time' && this.#backend.isMariadb) return `max_statement_time = ${Number(value) / 1000}`
    // MySQL's default may be another global value
    return value === 'default' && name === 'sql_select_limit' ? `${name} = 18446744073709551615` : `${name} = ${value}`
  }

  #read (sql: string): string {
    const named = sql.replace(/\bversion\(\)/g, `'${this.#rules.version}'`)
    return named.replace(/@@(\w+)/g, (read, name: string) =>
      this.#stored.get(name) ?? (this.#backend.isMariadb ? IN_MARIADB[name] : undefined) ?? read)
  }
}

/** Starts a proxy in front of the server of a URL. */
export async function createEngineProxy (target: string, rules: EngineRules, backend: Backend): Promise<EngineProxy> {
  const statements: string[] = []
  const sessions = new Map<Socket, EngineSession>()
  const { hostname, port } = new URL(target)
  const server = createServer((client) => {
    const session = new EngineSession(rules, backend)
    const upstream = connect(Number(port), hostname)
    sessions.set(client, session)
    const answer = (payload: Buffer): void => {
      if (payload[0] === COM_RESET_CONNECTION) session.reset()
      if (payload[0] !== COM_QUERY) {
        upstream.write(frame(0, payload))
        return
      }
      const sql = uncomment(payload.toString('latin1', 1), rules)
      statements.push(sql)
      const taken = session.take(sql)
      if (typeof taken === 'string') {
        upstream.write(frame(0, Buffer.concat([payload.subarray(0, 1), Buffer.from(taken, 'latin1')])))
      } else client.write(errorPacket(...taken))
    }
    // a command begins with packet 0; the packets of the handshake have later numbers
    client.on('data', packets((sequence, payload) => {
      if (sequence === 0) answer(payload)
      else upstream.write(frame(sequence, payload))
    }))
    const greeter = packets((sequence, payload) => {
      client.write(frame(sequence, greet(payload, rules.version)))
      upstream.off('data', greeter).on('data', (bytes) => client.write(bytes))
    })
    upstream.on('data', greeter)
    client.on('error', () => {}).on('close', () => {
      sessions.delete(client)
      upstream.destroy()
    })
    upstream.on('error', () => {}).on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => { for (const client of sessions.keys()) client.destroy() }
  return {
    url: Object.assign(new URL(target), { port: String((server.address() as AddressInfo).port) }).href,
    statements,
    cut,
    async close () {
      cut()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}
