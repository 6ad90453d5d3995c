/** Finds risks of the account and of its connection, and the privileges that are sufficient. */
import { isIPv4 } from 'node:net'
import type { Risks } from '../../dialect.ts'
import { escapePattern, findGrantRisks, rolesIn } from './grants.ts'
import type { Ask } from '../connection/session.ts'
import type { MysqlAddress } from '../options.ts'

/** `configured`: the databases that the service uses. @throws the driver's error */
export async function findAccountRisks (ask: Ask, { hosts, user, password, database, ssl }: MysqlAddress, configured: readonly string[]): Promise<Risks> {
  const excess = findGrantRisks(await readGrants(ask), configured)
  const risks: string[] = []
  if (password === '') risks.push(`the account ${user} is used without a password`)
  const open = hosts.filter(({ host }) => !isLoopback(host))
  if (ssl === undefined && open.length > 0) risks.push(`without TLS to ${open.map(({ host }) => host).join(', ')}: add ?ssl=true`)
  return { excess, risks, enough: await statementsFor(ask, database) }
}

/** Includes the privileges of all roles of the account, because it can activate each of them. */
async function readGrants (ask: Ask): Promise<string[]> {
  const lines = await listGrants(ask, '')
  const { mysql, mariadb } = rolesIn(lines)
  if (mysql.length > 0) return await listGrants(ask, ` for current_user() using ${mysql.join(', ')}`)
  return mariadb.length > 0 ? await readRoles(ask, lines, mariadb) : lines
}

/** Activates one role after the other, because MariaDB shows only the privileges of the active role. Afterwards the session has its previous role. */
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
