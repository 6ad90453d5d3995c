import { isIPv4 } from 'node:net'
import type { Denied, Risks, TableUse } from '../dialect.ts'
import type { Ask } from './session.ts'
import type { MysqlError } from './errors.ts'
import type { MysqlAddress } from './session-settings.ts'

/** One line of SHOW GRANTS. */
interface Granted {
  readonly privileges: readonly string[]
  /** `*` for all; otherwise a pattern of GRANT, without quotes. */
  readonly database: string
  readonly mayGrant: boolean
}

const NEEDED = ['SELECT', 'INSERT', 'UPDATE', 'DELETE']
/** Privileges that all accounts have, or that only show definitions. */
const HARMLESS = ['USAGE', 'SHOW VIEW', 'SHOW DATABASES']

/** Privileges on the whole server that give access to more than tables. */
const DANGERS = new Map([
  ['ALL PRIVILEGES', 'everything, on the whole server'],
  ['SUPER', 'changes the settings of the server and ends the sessions of others'],
  ['FILE', 'reads and writes files of the machine that the server runs on'],
  ['PROCESS', 'sees the statements of everybody'],
  ['CREATE USER', 'makes accounts and changes their passwords'],
  ['SHUTDOWN', 'stops the server'],
  ['RELOAD', 'reloads privileges, closes tables and rotates logs']
])

const QUOTED_NAME = '`(?:[^`]|``)*`'
const LINE = new RegExp(
  '^GRANT (.+) ON (?:TABLE |FUNCTION |PROCEDURE |PACKAGE |PACKAGE BODY ' +
  `)?(\\*|${QUOTED_NAME})\\.(?:\\*|${QUOTED_NAME}) TO (.*)$`
)
const MYSQL_ROLES = new RegExp(`^GRANT (${QUOTED_NAME}@${QUOTED_NAME}(?:, ?${QUOTED_NAME}@${QUOTED_NAME})*) TO `)
const MARIADB_ROLE = new RegExp(`^GRANT (${QUOTED_NAME}) TO `)

/** Undefined for a line that grants a role, or anything but privileges on data. */
export function parseGrant (line: string): Granted | undefined {
  const [, list = '', database = '', rest = ''] = LINE.exec(line) ?? []
  if (list === '') return undefined
  const privileges = list.replace(/ ?\([^)]*\)/g, '').split(/, ?/) // without the columns of each
  return { privileges, database: unquote(database), mayGrant: /WITH GRANT OPTION/.test(rest) }
}

function rolesIn (lines: readonly string[]): { mysql: string[], mariadb: string[] } {
  const allOf = (form: RegExp): string[] => lines.flatMap((line) => form.exec(line)?.[1] ?? [])
  return { mysql: allOf(MYSQL_ROLES), mariadb: allOf(MARIADB_ROLE) }
}

const unquote = (name: string): string => name === '*' ? name : name.slice(1, -1).replaceAll('``', '`')

/** In the database name of GRANT, _ and % are wildcards unless they are escaped. */
export const escapePattern = (name: string): string => name.replace(/[_%]/g, '\\$&')
const unescapePattern = (pattern: string): string => pattern.replace(/\\([_%])/g, '$1')

/** One line for each dangerous or unneeded privilege. `configured`: the databases of the service. */
export function findGrantRisks (lines: readonly string[], configured: readonly string[]): string[] {
  const risks = lines.flatMap((line) => {
    const granted = parseGrant(line)
    if (granted === undefined) {
      return line.startsWith('GRANT PROXY') ? ['PROXY: the account may act as another one'] : []
    }
    return granted.database === '*' ? findServerRisks(granted) : findDatabaseRisks(granted, configured)
  })
  return [...new Set(risks)]
}

function findServerRisks ({ privileges, mayGrant }: Granted): string[] {
  const dangers = privileges
    .filter((privilege) => DANGERS.has(privilege))
    .map((privilege) => `${privilege}: ${DANGERS.get(privilege)}`)
  const data = privileges.filter((privilege) => NEEDED.includes(privilege))
  const unneeded = privileges.filter(
    (privilege) => !DANGERS.has(privilege) && !NEEDED.includes(privilege) && !HARMLESS.includes(privilege)
  )
  return [
    ...dangers,
    ...(data.length > 0
      ? [`${data.join(', ')} on *.*: every database of the server, and those that are not configured too`]
      : []),
    ...(unneeded.length > 0 ? [`${unneeded.join(', ')} on *.*: more than is needed`] : []),
    ...(mayGrant ? ['GRANT OPTION on *.*: may give its privileges to other accounts'] : [])
  ]
}

function findDatabaseRisks ({ privileges, database, mayGrant }: Granted, configured: readonly string[]): string[] {
  const name = unescapePattern(database)
  const unneeded = privileges.filter((privilege) => !NEEDED.includes(privilege) && !HARMLESS.includes(privilege))
  return [
    ...(configured.includes(name)
      ? unneeded.length > 0
        ? [`${unneeded.join(', ')} on ${name}: more than is needed`]
        : []
      : [`${privileges.join(', ')} on ${name}: a database that is not configured`]),
    ...(mayGrant ? [`GRANT OPTION on ${name}: may give its privileges to other accounts`] : [])
  ]
}

/** `configured`: those that the service uses. @throws the driver's error */
export async function findAccountRisks (
  ask: Ask,
  { hosts, user, password, database, ssl }: MysqlAddress,
  configured: readonly string[]
): Promise<Risks> {
  const excess = findGrantRisks(await readGrants(ask), configured)
  const risks: string[] = []
  if (password === '') risks.push(`the account ${user} is used without a password`)
  const open = hosts.filter(({ host }) => !isLoopback(host))
  if (ssl === undefined && open.length > 0) {
    risks.push(`without TLS to ${open.map(({ host }) => host).join(', ')}: add ?ssl=true`)
  }
  if (await readsWithoutMajority(ask)) risks.push(WITHOUT_MAJORITY)
  return { excess, risks, enough: await statementsFor(ask, database) }
}

const WITHOUT_MAJORITY = 'group_replication_unreachable_majority_timeout is 0: a node that is cut off from its group ' +
  'shows old rows for as long as it runs (docs/reliability.md says what bounds that time)'

/** Whether the nodes of Group Replication wait for the others without a limit. */
async function readsWithoutMajority (ask: Ask): Promise<boolean> {
  const rows = await ask("show global variables like 'group\\_replication\\_%'")
  const values = new Map(rows as Array<[name: string, value: string]>)
  const of = (name: string): string => values.get(`group_replication_${name}`) ?? ''
  return of('group_name') !== '' && of('unreachable_majority_timeout') === '0'
}

/** Includes the privileges of all roles of the account, because it can activate each of them. */
async function readGrants (ask: Ask): Promise<string[]> {
  const lines = await listGrants(ask, '')
  const { mysql, mariadb } = rolesIn(lines)
  if (mysql.length > 0) return await listGrants(ask, ` for current_user() using ${mysql.join(', ')}`)
  return mariadb.length > 0 ? await readRoles(ask, lines, mariadb) : lines
}

/**
 * One role after the other, because MariaDB shows only the privileges of the active role. Afterwards the previous role
 * is active.
 */
async function readRoles (ask: Ask, lines: readonly string[], roles: readonly string[]): Promise<string[]> {
  const [[current]] = await ask('select current_role()') as [[string | null]]
  const all = [...lines]
  for (const role of roles) {
    await ask(`set role ${role}`)
    all.push(...await listGrants(ask, ''))
  }
  await ask(`set role ${current === null ? 'none' : quoteName(current)}`)
  return all
}

async function listGrants (ask: Ask, whose: string): Promise<string[]> {
  return (await ask(`show grants${whose}`)).map(([line]) => line as string)
}

async function statementsFor (ask: Ask, database: string): Promise<string[]> {
  const [[account = '']] = await ask('select current_user()') as [[string]]
  const at = account.lastIndexOf('@')
  const [user, host] = [account.slice(0, at), account.slice(at + 1)].map((part) => `'${part.replaceAll("'", "''")}'`)
  return [`GRANT SELECT, INSERT, UPDATE, DELETE ON ${quoteName(escapePattern(database))}.* TO ${user}@${host};`]
}

const quoteName = (name: string): string => `\`${name.replaceAll('`', '``')}\``

function isLoopback (host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

// Finds what the account may not do by preparing statements: the server then checks the privileges, including those
// of active roles and patterns, and runs nothing. SHOW GRANTS would have to be interpreted, and information_schema
// does not have the privileges of roles.

const TRIAL_NAME = 'row_query_check'
/** Privileges on a database, table, column, whole server, or routine. */
const DENIED = new Set([1044, 1142, 1143, 1227, 1370])
/** A view refers to something that does not exist or that its definer may not use. */
const BROKEN_VIEW = new Set([1356, 1449])

/** @throws the driver's error */
export async function findDenied (run: Ask, uses: readonly TableUse[]): Promise<Denied[]> {
  const denied: Denied[] = []
  for (const use of uses) denied.push(...await findDeniedUse(run, use))
  await run(`deallocate prepare ${TRIAL_NAME}`).catch(() => {}) // fails if every use was denied
  return denied
}

async function findDeniedUse (run: Ask, { table, verb, columns }: TableUse): Promise<Denied[]> {
  const error = await prepare(run, { table, verb, columns })
  if (error === undefined) return []
  if (BROKEN_VIEW.has(error.errno ?? 0)) return [{ table, verb, reason: error.code ?? `errno ${error.errno}` }]
  if (columns.length < 2) return [{ table, verb }]
  const single: string[] = []
  for (const column of columns) {
    if ((await prepare(run, { table, verb, columns: [column] })) !== undefined) single.push(column)
  }
  return [{ table, verb, ...single.length < columns.length && { columns: single } }]
}

/** The error of missing privileges. Others say nothing about them. */
async function prepare (run: Ask, use: TableUse): Promise<MysqlError | undefined> {
  try {
    await run(`prepare ${TRIAL_NAME} from '${statementFor(use).replace(/['\\]/g, '\\$&')}'`)
    return undefined
  } catch (error) {
    const { errno = 0 } = error as MysqlError
    if (errno === 0) throw error
    return DENIED.has(errno) || BROKEN_VIEW.has(errno) ? error as MysqlError : undefined
  }
}

function statementFor ({ table, verb, columns }: TableUse): string {
  const [name, ...names] = [table, ...columns].map(quoteName)
  switch (verb) {
    case 'select': return `select ${names.join(', ') || '1'} from ${name}`
    case 'insert': return `insert into ${name} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`
    case 'update': return `update ${name} set ${names.map((each) => `${each} = ?`).join(', ')}`
    case 'delete': return `delete from ${name}`
  }
}
