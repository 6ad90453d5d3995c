/** Parses SHOW GRANTS and finds privileges that the service does not need. */

/** One line of SHOW GRANTS. */
export interface Granted {
  readonly privileges: readonly string[]
  /** `*` for every database; otherwise a pattern of GRANT, without quotes. */
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

const NAME = '`(?:[^`]|``)*`'
const LINE = new RegExp(`^GRANT (.+) ON (?:TABLE |FUNCTION |PROCEDURE |PACKAGE |PACKAGE BODY )?(\\*|${NAME})\\.(?:\\*|${NAME}) TO (.*)$`)
const MYSQL_ROLES = new RegExp(`^GRANT (${NAME}@${NAME}(?:, ?${NAME}@${NAME})*) TO `)
const MARIADB_ROLE = new RegExp(`^GRANT (${NAME}) TO `)

/** Returns undefined for a line that grants a role, or anything other than privileges on data. */
export function parseGrant (line: string): Granted | undefined {
  const [, list = '', database = '', rest = ''] = LINE.exec(line) ?? []
  if (list === '') return undefined
  const privileges = list.replace(/ ?\([^)]*\)/g, '').split(/, ?/) // without the columns of each
  return { privileges, database: unquote(database), mayGrant: /WITH GRANT OPTION/.test(rest) }
}

/** The roles that the lines grant, as SQL. */
export function rolesIn (lines: readonly string[]): { mysql: string[], mariadb: string[] } {
  const found = (form: RegExp): string[] => lines.flatMap((line) => form.exec(line)?.[1] ?? [])
  return { mysql: found(MYSQL_ROLES), mariadb: found(MARIADB_ROLE) }
}

const unquote = (name: string): string => name === '*' ? name : name.slice(1, -1).replaceAll('``', '`')

/** In the database name of GRANT, _ and % are wildcards unless they are escaped. */
export const escapePattern = (name: string): string => name.replace(/[_%]/g, '\\$&')
const unescapePattern = (pattern: string): string => pattern.replace(/\\([_%])/g, '$1')

/** Describes each dangerous or unneeded privilege in one line. `configured`: the databases of the service. */
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
