/** Checks one configured database: the server of its URL, its replicas, and the grants on its tables. */
import { createCatalog, type Catalog, type Table } from '../../catalog/catalog.ts'
import type { DatabaseConfig } from '../../databases/open.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import { reportGrant } from '../grant-report.ts'
import { openOnce } from '../one-connection.ts'
import { describeConnectProblem } from './connect-problem.ts'
import { about, findings, listNames, type Findings } from './findings.ts'
import type { Granted } from './granted.ts'
import { comparePrivileges } from './privileges.ts'
import { checkTables, findKeysTable } from './tables.ts'

export interface Context {
  /** The names of all configured databases on their servers. */
  readonly configured: readonly string[]
  readonly grants: readonly Granted[]
}

/** `heading`: whether the database answers. */
export interface DatabaseReport { readonly heading: string, readonly answers: boolean, readonly findings: Findings }

export async function checkDatabase (config: DatabaseConfig, context: Context): Promise<DatabaseReport> {
  const { name } = config
  try {
    const { catalog, findings: found } = await withDialect({ ...config, replicas: [] }, (dialect) => checkPrimary(dialect, name, context))
    const replicas = await checkReplicas(config, catalog, context)
    return { heading: `${name}: answers, ${describeCount(catalog)}`, answers: true, findings: [...found, ...replicas] }
  } catch (error) {
    return { heading: `${name}: ${describeConnectProblem(error)}`, answers: false, findings: [] }
  }
}

const describeCount = ({ tables }: Catalog): string => `${tables.size} tables and views`

async function withDialect<T> (config: DatabaseConfig, use: (dialect: Dialect) => Promise<T>): Promise<T> {
  const dialect = await openOnce(config)
  try {
    return await use(dialect)
  } finally {
    await dialect.close()
  }
}

async function checkPrimary (dialect: Dialect, name: string, { configured, grants }: Context): Promise<{ readonly catalog: Catalog, readonly findings: Findings }> {
  const facts = await dialect.introspect()
  const catalog = createCatalog(facts, Date.now())
  const privileges = await dialect.privileges()
  const { excess, risks, enough } = await dialect.findRisks(configured)
  const reports = grants.flatMap((granted) => reportGrant(granted, name, catalog))
  const denied = await comparePrivileges({ database: name, catalog, grants, findDenied: (uses) => dialect.findDenied(uses) })
  const deniedKeys = await findDeniedKeys(dialect, findKeysTable(facts)?.name)
  return {
    catalog,
    findings: [
      ...findings('line', [...Array.from(catalog.tables.values(), describeTable), ...privileges.map((line) => `account: ${line}`)]),
      ...reports,
      ...denied,
      ...deniedKeys,
      ...findings('warning', [...excess, ...risks]),
      ...findings('enough', excess.length + denied.length + deniedKeys.length > 0 ? enough : []),
      ...checkTables({ engine: dialect.engine, catalog, facts })
    ]
  }
}

/** The table for idempotency keys is used by every request with a key, whatever the grants are. */
async function findDeniedKeys (dialect: Dialect, table: string | undefined): Promise<Findings> {
  if (table === undefined) return []
  const uses = [['select', ['k', 'request', 'answer']], ['insert', ['k', 'request']], ['update', ['answer']], ['delete', []]] as const
  const denied = await dialect.findDenied(uses.map(([verb, columns]) => ({ table, verb, columns })))
  return findings('warning', denied.length === 0 ? [] : [`requests with an Idempotency-Key fail: the database account lacks ${denied.map(({ verb }) => verb.toUpperCase()).join(', ')} on "${table}"`])
}

/** Reports a replica that cannot be used as an error, because its selects would go to the primary unnoticed. */
async function checkReplicas (config: DatabaseConfig, catalog: Catalog, { configured, grants }: Context): Promise<Findings> {
  const all = await Promise.all(config.replicas.map(async (address, index) => {
    const label = `replicas.${index} (${address.hosts.map(({ host }) => host).join(', ')})`
    try {
      return await withDialect({ ...config, address: { engine: 'mysql', address }, replicas: [] }, async (dialect) => {
        const own = createCatalog(await dialect.introspect(), Date.now())
        const { excess, risks } = await dialect.findRisks(configured)
        const denied = await comparePrivileges({ database: config.name, catalog: own, grants, findDenied: (uses) => dialect.findDenied(uses) }, true)
        return about(label, [...findings('line', [`answers, ${describeCount(own)}`]), ...findings('warning', findMissing(catalog, own)), ...denied, ...findings('warning', [...excess, ...risks])])
      })
    } catch (error) {
      return findings('error', [`${label}: ${describeConnectProblem(error)}`])
    }
  }))
  return all.flat()
}

/** Finds what a replica lacks: it may be behind, or its account may not see it. */
function findMissing ({ tables }: Catalog, own: Catalog): string[] {
  const missing = [...tables.keys()].filter((name) => !own.tables.has(name))
  const columns = [...own.tables.values()].flatMap(({ name, columns: has }) => {
    const lacking = (tables.get(name)?.columnList ?? []).map((column) => column.name).filter((column) => !has.has(column))
    return lacking.length === 0 ? [] : [`"${name}" does not have ${listNames(lacking)}`]
  })
  return [...missing.length > 0 ? [`does not have ${listNames(missing)}`] : [], ...columns]
}

function describeTable ({ name, kind, columns, primaryKey }: Table): string {
  const readOnly = [...columns.values()].filter((column) => !column.type.writable).map((column) => `${column.name} ${column.declaration}`.trimEnd())
  const key = primaryKey.length > 0 ? `, key ${primaryKey.join(', ')}` : ', no primary key'
  return `${name}: ${kind === 'view' ? 'view, ' : ''}${columns.size} columns${kind === 'view' ? '' : key}${readOnly.length > 0 ? `; not writable: ${readOnly.join(', ')}` : ''}`
}
