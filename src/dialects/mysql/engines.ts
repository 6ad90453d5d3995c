/** The servers that speak the protocol of MySQL, as data. A server is known by its version text. */
import type { ServerTraits } from '../../catalog/catalog.ts'
import type { Isolation } from '../dialect.ts'

export interface ServerEngine {
  readonly name: 'MySQL' | 'MariaDB' | 'TiDB' | 'Vitess'
  /** The groups are its version. */
  readonly version: RegExp
  /** Older versions lack functions, syntax or parts of the catalog. */
  readonly oldest: readonly [number, number, number]
  /** Begins a transaction that only reads, in one snapshot. */
  readonly snapshot: string
  readonly lacksIsolation: readonly Isolation[]
  /** The isolation level of single writes: at READ COMMITTED, they lock no gaps. */
  readonly writesAt: Isolation
  /** Whether replies report changed variables, if the session asks for it. */
  readonly tracks: boolean
  /** Settings (session-settings.ts) whose value differs; undefined for one that the engine refuses. */
  readonly settings: Readonly<Record<string, string | undefined>>
  /** Variables that it accepts and returns but ignores, with what that means. */
  readonly ignores: Readonly<Record<string, string>>
  /** Whether PROCESSLIST lists the connections of clients, by the ids that KILL takes. */
  readonly listsProcesses: boolean
  readonly hasTriggers: boolean
  /** Whether privileges on all databases can be revoked for single ones (`@@partial_revokes`). */
  readonly revokesPartially: boolean
  readonly traits: ServerTraits
  /** What requests cannot use, for people: NOT_SUPPORTED. */
  readonly lacks: readonly string[]
}

/** What MySQL has, and the engines that are derived from it unless they say otherwise. */
export const MYSQL: ServerEngine = {
  name: 'MySQL',
  version: /^(?:5\.5\.5-(?=\d+\.))?(\d+)\.(\d+)(?:\.(\d+))?/,
  oldest: [8, 0, 19],
  snapshot: 'start transaction with consistent snapshot, read only',
  lacksIsolation: [],
  writesAt: 'readCommitted',
  tracks: true,
  settings: {},
  ignores: {},
  listsProcesses: true,
  hasTriggers: true,
  revokesPartially: true,
  traits: { sharesLocks: true, upsert: 'byVersion', countsFromEnd: true, nestsInAggregates: true },
  lacks: []
}

const MARIADB: ServerEngine = {
  ...MYSQL,
  name: 'MariaDB',
  version: /^(?:5\.5\.5-(?=\d+\.))?(\d+)\.(\d+)(?:\.(\d+))?.*mariadb/i,
  oldest: [10, 7, 0],
  traits: { ...MYSQL.traits, nestsInAggregates: false },
  revokesPartially: false
}

const CUT_AFTER_A_MINUTE = 'replies to slow readers are cut after 60 s by this server'

/** The first that matches; the last one matches any server. */
const ENGINES: readonly ServerEngine[] = [
  {
    ...MYSQL,
    name: 'TiDB',
    // `8.0.11-TiDB-v8.5.0`: the version of MySQL that it claims, and its own
    version: /-TiDB-v?(\d+)\.(\d+)(?:\.(\d+))?/i,
    // before 7.3 the id of a connection in the handshake is not the one that KILL takes
    oldest: [7, 5, 0],
    // its grammar has one characteristic of a transaction; READ ONLY alone is refused (1235)
    snapshot: 'start transaction with consistent snapshot',
    lacksIsolation: ['serializable'],
    // it locks no gaps at any level
    writesAt: 'repeatableRead',
    tracks: false,
    ignores: { net_write_timeout: CUT_AFTER_A_MINUTE },
    hasTriggers: false,
    revokesPartially: false,
    // It evaluates the guard of an upsert (src/sql/compile-insert.ts) when it plans the statement.
    traits: { ...MYSQL.traits, sharesLocks: false, upsert: 'byKey' },
    lacks: ['the isolation "serializable"', '"onConflict" with a key that the database computes', '"$match"']
  },
  {
    ...MYSQL,
    name: 'Vitess',
    // `8.0.30-Vitess`: the version of MySQL whose grammar VTGate follows
    version: /^(\d+)\.(\d+)\.(\d+).*-Vitess/i,
    oldest: [8, 0, 30],
    tracks: false,
    settings: {
      // a signed number of 64 bits; its default is no limit, whatever the server's global value is
      sql_select_limit: 'default',
      timestamp: undefined
    },
    ignores: {
      net_write_timeout: CUT_AFTER_A_MINUTE,
      lc_messages: 'constraints are found in messages in English only: set it to en_US on its MySQL servers'
    },
    // the processes of its MySQL servers have other ids
    listsProcesses: false,
    // it has an alias for the row since version 20
    traits: { ...MYSQL.traits, upsert: 'values' }
  },
  {
    ...MARIADB,
    version: /^(?:5\.5\.5-(?=\d+\.))?(10)\.([78])(?:\.(\d+))?.*mariadb/i,
    traits: { ...MARIADB.traits, countsFromEnd: false },
    lacks: ['"[last]" in paths inside JSON']
  },
  MARIADB,
  MYSQL
]

/** `version`: of the greeting or by `version()`. */
export const engineOf = (version: string): ServerEngine =>
  ENGINES.find((engine) => engine.version.test(version)) ?? MYSQL

/** Such as 8.5.0 of `8.0.11-TiDB-v8.5.0`. */
export function numbersOf ({ version }: ServerEngine, text: string): readonly [number, number, number] {
  const [, ...digits] = version.exec(text) ?? []
  const [major = 0, minor = 0, patch = 0] = digits.map((number = '0') => Number(number))
  return [major, minor, patch]
}

export function isAtLeast (numbers: readonly number[], oldest: readonly number[]): boolean {
  const index = oldest.findIndex((number, index) => number !== numbers[index])
  return index < 0 || (numbers[index] as number) > (oldest[index] as number)
}

const shortened = ([major, minor, patch]: ServerEngine['oldest']): string =>
  patch === 0 ? `${major}.${minor}` : `${major}.${minor}.${patch}`

const OLDEST = [...new Set([...ENGINES].reverse().map(({ name, oldest }) => `${name} ${shortened(oldest)}`))]

/** Why a server cannot be used; undefined if it can. */
export function versionProblem (text: string): string | undefined {
  const engine = engineOf(text)
  const numbers = numbersOf(engine, text)
  if (isAtLeast(numbers, engine.oldest)) return undefined
  return `SERVER_TOO_OLD: ${engine.name} ${numbers.join('.')}, the oldest supported versions are ` +
    `${OLDEST.slice(0, -1).join(', ')} and ${OLDEST.at(-1)}`
}
