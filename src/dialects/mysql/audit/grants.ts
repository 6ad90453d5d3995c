/** What SHOW GRANTS says, and what of it is more than the service needs. */

/** One line of it: privileges, and where they hold. */
export interface Granted {
  readonly privileges: readonly string[]
  /** `*` for every database; a pattern as GRANT takes it, without its quotes. */
  readonly database: string
  readonly mayGrant: boolean
}

const NEEDED = ['SELECT', 'INSERT', 'UPDATE', 'DELETE']
/** What everybody may do, and what tells of tables and nothing more. */
const HARMLESS = ['USAGE', 'SHOW VIEW', 'SHOW DATABASES']

/** Privileges on the whole server by which somebody gets at more than tables. */
const DANGERS = new Map([
  ['ALL PRIVILEGES', 'everything, on the whole server'],
  ['SUPER', 'changes the settings of the server and ends the sessions of others'],
  ['FILE', 'reads and writes files of the machine that the server runs on'],
  ['PROCESS', 'sees the statements of everybody'],
  ['CREATE USER', 'makes accounts and changes their passwords'],
  ['SHUTDOWN', 'stops the server'],
  ['RELOAD', 'reloads privileges, closes tables and rotates logs']
])

const NAME = '`(?:[^`]|``)*`'
const LINE = new RegExp(`^GRANT (.+) ON (?:TABLE |FUNCTION |PROCEDURE |PACKAGE |PACKAGE BODY )?(\\*|${NAME})\\.(?:\\*|${NAME}) TO (.*)$`)
const MYSQL_ROLES = new RegExp(`^GRANT (${NAME}@${NAME}(?:, ?${NAME}@${NAME})*) TO `)
const MARIADB_ROLE = new RegExp(`^GRANT (${NAME}) TO `)

/** The privileges of a line; undefined for one that grants a role, or something else than a privilege on data. */
export function parseGrant (line: string): Granted | undefined {
  const [, list = '', database = '', rest = ''] = LINE.exec(line) ?? []
  if (list === '') return undefined
  const privileges = list.replace(/ ?\([^)]*\)/g, '').split(/, ?/) // without the columns of each
  return { privileges, database: unquote(database), mayGrant: /WITH GRANT OPTION/.test(rest) }
}

/** The roles that the lines of each server grant, as text of SQL. */
export function rolesIn (lines: readonly string[]): { mysql: string[], mariadb: string[] } {
  const found = (form: RegExp): string[] => lines.flatMap((line) => form.exec(line)?.[1] ?? [])
  return { mysql: found(MYSQL_ROLES), mariadb: found(MARIADB_ROLE) }
}

const unquote = (name: string): string => name === '*' ? name : name.slice(1, -1).replaceAll('``', '`')

/** In a database's name that GRANT takes, _ and % stand for other characters unless they are escaped. */
export const escapePattern = (name: string): string => name.replace(/[_%]/g, '\\$&')
const unescapePattern = (pattern: string): string => pattern.replace(/\\([_%])/g, '$1')

/** What is dangerous about them or more than is needed, a line each. `configured`: databases that the service has. */
export function findGrantRisks (lines: readonly string[], configured: readonly string[]): string[] {
  const risks = lines.flatMap((line) => {
    const granted = parseGrant(line)
    if (granted === undefined) return line.startsWith('GRANT PROXY') ? ['PROXY: the account may act as another one'] : []
    return granted.database === '*' ? findServerRisks(granted) : findDatabaseRisks(granted, configured)
  })
  return [...new Set(risks)]
}

function findServerRisks ({ privileges, mayGrant }: Granted): string[] {
  const dangers = privileges.filter((privilege) => DANGERS.has(privilege)).map((privilege) => `${privilege}: ${DANGERS.get(privilege)}`)
  const data = privileges.filter((privilege) => NEEDED.includes(privilege))
  const others = privileges.filter((privilege) => !DANGERS.has(privilege) && !NEEDED.includes(privilege) && !HARMLESS.includes(privilege))
  return [
    ...dangers,
    ...(data.length > 0 ? [`${data.join(', ')} on *.*: every database of the server, and those that are not configured too`] : []),
    ...(others.length > 0 ? [`${others.join(', ')} on *.*: more than is needed`] : []),
    ...(mayGrant ? ['GRANT OPTION on *.*: may give its privileges to other accounts'] : [])
  ]
}

function findDatabaseRisks ({ privileges, database, mayGrant }: Granted, configured: readonly string[]): string[] {
  const name = unescapePattern(database)
  const others = privileges.filter((privilege) => !NEEDED.includes(privilege) && !HARMLESS.includes(privilege))
  return [
    ...(configured.includes(name) ? others.length > 0 ? [`${others.join(', ')} on ${name}: more than is needed`] : [] : [`${privileges.join(', ')} on ${name}: a database that is not configured`]),
    ...(mayGrant ? [`GRANT OPTION on ${name}: may give its privileges to other accounts`] : [])
  ]
}
