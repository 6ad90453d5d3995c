import { KeyObject } from 'node:crypto'
import type { JwtIssuer } from '../access/jwt-settings.ts'
import { downloadKeys, reasonOfDownload } from '../access/key-set.ts'
import { type Catalog, createCatalog, type Index, KEYS_TABLE, type Table, type TableFacts } from '../catalog/catalog.ts'
import { relationsBetween } from '../catalog/relations.ts'
import type { Engine } from '../catalog/traits.ts'
import type { DatabaseConfig } from '../databases/open.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { findKeysTableProblems } from '../idempotency/keys-table.ts'
import type { NamedRequest } from '../named/definition.ts'
import type { RequestLimits } from '../plan/limits.ts'
import { findMemberIndex } from '../plan/relation.ts'
import { isWhole } from '../plan/row-keys.ts'
import { comparePrivileges, reportGrant } from './check/check-grants.ts'
import {
  about, checkTokens, type Findings, findings, type Granted, has, listGrants, listNames, write
} from './check/findings.ts'
import { parseFlags } from './commands.ts'
import { describeConnectProblem, loadSettings, withDialect } from './one-database.ts'

/**
 * `row-query check`: prints for each database whether it and its replicas answer, its tables, the privileges of the
 * account and their risks, the named requests, and what each token and role may do and can do; then whether tokens and
 * the keys of issuers can be used. Returns the exit code: 1 if a database does not answer, there is an error or, with
 * `--strict`, a warning; otherwise 0.
 */
export async function check (args: string[]): Promise<number> {
  const { values } = parseFlags('check', args)
  const { server: { prefix }, settings } = loadSettings(values)
  const { databases, jwt } = settings
  const isBad = (found: Findings): boolean => has(found, 'error') || (values.strict === true && has(found, 'warning'))
  let failures = 0
  const report = (heading: string, found: Findings, works = true): void => {
    process.stdout.write(write(heading, found))
    if (!works || isBad(found)) failures++
  }
  const context = {
    configured: databases.flatMap(({ address, replicas }) =>
      [...(address.engine === 'mysql' ? [address.address] : []), ...replicas].map(({ database }) => database)
    ),
    grants: listGrants(settings),
    requests: [...settings.requests?.values() ?? []],
    limits: settings.limits,
    prefix
  }
  for (const database of databases) {
    const { heading, answers, findings } = await checkDatabase(database, context)
    report(heading, findings, answers)
  }
  const general = [...checkTokens(settings), ...(await Promise.all(jwt.map(checkIssuer))).flat()]
  if (general.length > 0) report('tokens and keys:', general)
  return failures === 0 ? 0 : 1
}

/** Downloads the keys of an issuer, as the service does. The URL is not shown. */
async function checkIssuer ({ setting, keys }: JwtIssuer): Promise<Findings> {
  if (keys instanceof KeyObject) return []
  const name = `${setting}.jwks`
  try {
    const { length } = await downloadKeys(keys, new AbortController().signal)
    return length > 0
      ? findings('line', [`${name}: answers, ${length} keys`])
      : findings('error', [`${name}: has no public key with a "kid" that verifies signatures`])
  } catch (error) {
    return findings('error', [`${name}: the keys cannot be downloaded (${reasonOfDownload(error)})`])
  }
}

const findKeysTable = (facts: readonly TableFacts[]): TableFacts | undefined =>
  facts.find(({ name }) => name.toLowerCase() === KEYS_TABLE)

/** `facts`: the tables as introspected, including the one for idempotency keys. */
function checkTables ({ engine, catalog, facts }: {
  readonly engine: Engine
  readonly catalog: Catalog
  readonly facts: readonly TableFacts[]
}): Findings {
  const keys = findKeysTable(facts)
  const tables = [...catalog.tables.values()]
  const broken = facts.filter(({ columns }) => columns.length === 0).map(({ name }) => name)
  return [
    ...findings('warning', [
      broken.length > 0 && `left out, because the database cannot open them: ${listNames(broken)}`,
      ...(keys === undefined ? [] : findKeysTableProblems(keys, engine)).map(
        (problem) => `the table "${keys?.name}" is not as "row-query keys" prints it: ${problem}`
      )
    ]),
    ...findings('note', [
      keys === undefined && `there is no table "${KEYS_TABLE}", so requests with an Idempotency-Key are refused; ` +
        '"row-query keys" prints its statement',
      ...tables.flatMap(findUnnameableKeys),
      ...tables.flatMap((table) => findMissingIndexes(table, catalog))
    ])
  ]
}

/** Unique keys that `onConflict` cannot name and that do not identify rows. */
function findUnnameableKeys (table: Table): string[] {
  return table.indexes
    .filter((index) => index.unique && !isWhole(index))
    .map(
      (index) =>
        `unique key "${index.name}" of "${table.name}" cannot be named in "onConflict", because it compares ` +
        `${describeParts(index, table)}`
    )
}

function describeParts ({ parts }: Index, { engine }: Table): string {
  if (parts.some(({ prefix }) => prefix)) return 'only the beginnings of values'
  return engine === 'sqlite' ? 'an expression, or a column by another collation than its own' : 'an expression'
}

/** Foreign keys without an index: an `include` by them would read the whole table that has the key. */
function findMissingIndexes (table: Table, { tables }: Catalog): string[] {
  const parents = new Set(table.foreignKeys.flatMap(({ referencedTable }) => tables.get(referencedTable) ?? []))
  const slow = [...parents].flatMap((parent) => relationsBetween(parent, table).filter((pairs) => {
    const isOurs = table.foreignKeys.some(
      ({ columns }) => columns.length === pairs.length && pairs.every(({ other }) => columns.includes(other.name))
    )
    return isOurs && findMemberIndex(table, pairs, new Set(), []) === undefined
  }).map((pairs) => ({ parent, columns: pairs.map(({ other }) => other.name) })))
  return slow.map(
    ({ parent, columns }) =>
      `"${table.name}" has no index that begins with ${columns.map((name) => JSON.stringify(name)).join(' or ')}: ` +
      `each "include" of its rows in those of "${parent.name}" reads the whole table`
  )
}

interface Context {
  /** The names of all configured databases on their servers. */
  readonly configured: readonly string[]
  readonly grants: readonly Granted[]
  /** Those of all databases. */
  readonly requests: readonly NamedRequest[]
  readonly limits: RequestLimits
  readonly prefix: string
}

/** `heading`: a line that shows whether the database answers. */
export async function checkDatabase (
  config: DatabaseConfig,
  context: Context
): Promise<{ readonly heading: string, readonly answers: boolean, readonly findings: Findings }> {
  const { name } = config
  try {
    const { catalog, findings: found } = await withDialect({ ...config, replicas: [] }, (dialect) =>
      checkPrimary(dialect, name, context)
    )
    const replicas = await checkReplicas(config, catalog, context)
    return { heading: `${name}: answers, ${describeCount(catalog)}`, answers: true, findings: [...found, ...replicas] }
  } catch (error) {
    return { heading: `${name}: ${describeConnectProblem(error)}`, answers: false, findings: [] }
  }
}

const describeCount = ({ tables }: Catalog): string => `${tables.size} tables and views`

async function checkPrimary (
  dialect: Dialect,
  name: string,
  { configured, grants, requests, ...settings }: Context
): Promise<{ readonly catalog: Catalog; readonly findings: Findings }> {
  const facts = await dialect.introspect()
  const catalog = createCatalog(facts, Date.now())
  const privileges = await dialect.privileges()
  const { excess, risks, enough } = await dialect.findRisks(configured)
  const reports = grants.flatMap((granted) => reportGrant(granted, name, catalog))
  const denied = await comparePrivileges(dialect, { database: name, catalog, grants })
  const named = requests.filter(({ database }) => database === name)
  // loads the rooms that answer requests
  const ofRequests = named.length === 0
    ? []
    : await (await import('./check/check-requests.ts')).checkRequests(dialect, named, { catalog, grants, ...settings })
  const deniedKeys = await findDeniedKeys(dialect, findKeysTable(facts)?.name)
  return {
    catalog,
    findings: [
      ...reportServer(dialect),
      ...findings('line', [
        ...Array.from(catalog.tables.values(), describeTable),
        ...privileges.map((line) => `account: ${line}`)
      ]),
      ...ofRequests,
      ...reports,
      ...denied,
      ...deniedKeys,
      ...findings('warning', [...excess, ...risks]),
      ...findings('enough', excess.length + denied.length + deniedKeys.length > 0 ? enough : []),
      ...checkTables({ engine: dialect.engine, catalog, facts })
    ]
  }
}

/** What the server is, the settings that it ignores, and the features for which requests are refused. */
function reportServer ({ server }: Dialect): Findings {
  if (server === undefined) return []
  const { engine, version, ignores, lacks } = server
  return [
    ...findings('line', [`server: ${engine} ${version}`]),
    ...findings('warning', Object.entries(ignores).map(([name, meaning]) => `the server ignores ${name}: ${meaning}`)),
    ...findings('note', lacks.map((feature) => `requests with ${feature} are refused: ${engine} does not have it`))
  ]
}

/** The table for idempotency keys is used by every request with a key, whatever the grants are. */
async function findDeniedKeys (dialect: Dialect, table: string | undefined): Promise<Findings> {
  if (table === undefined) return []
  const uses = [
    ['select', ['k', 'request', 'answer']],
    ['insert', ['k', 'request']],
    ['update', ['answer']],
    ['delete', []]
  ] as const
  const denied = await dialect.findDenied(uses.map(([verb, columns]) => ({ table, verb, columns })))
  return findings('warning', [
    denied.length > 0 && 'requests with an Idempotency-Key fail: the database account lacks ' +
      `${denied.map(({ verb }) => verb.toUpperCase()).join(', ')} on "${table}"`
  ])
}

/** Reports a replica that cannot be used as an error, because its selects would go to the primary unnoticed. */
async function checkReplicas (
  config: DatabaseConfig,
  catalog: Catalog,
  { configured, grants }: Context
): Promise<Findings> {
  const all = await Promise.all(config.replicas.map(async (address, index) => {
    const label = `replicas.${index} (${address.hosts.map(({ host }) => host).join(', ')})`
    try {
      return await withDialect({ ...config, address: { engine: 'mysql', address }, replicas: [] }, async (dialect) => {
        const ownCatalog = createCatalog(await dialect.introspect(), Date.now())
        const { excess, risks } = await dialect.findRisks(configured)
        const denied = await comparePrivileges(dialect, { database: config.name, catalog: ownCatalog, grants }, true)
        return about(label, [
          ...findings('line', [`answers, ${describeCount(ownCatalog)}`]),
          ...reportServer(dialect),
          ...findings('warning', findMissing(catalog, ownCatalog)),
          ...denied,
          ...findings('warning', [...excess, ...risks])
        ])
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
    const lacking = (tables.get(name)?.columnList ?? [])
      .map((column) => column.name)
      .filter((column) => !has.has(column))
    return lacking.length === 0 ? [] : [`"${name}" does not have ${listNames(lacking)}`]
  })
  return [...missing.length > 0 ? [`does not have ${listNames(missing)}`] : [], ...columns]
}

function describeTable ({ name, kind, columns, primaryKey }: Table): string {
  const readOnly = [...columns.values()]
    .filter((column) => !column.type.writable)
    .map((column) => `${column.name} ${column.declaration}`.trimEnd())
  const key = primaryKey.length > 0 ? `, key ${primaryKey.join(', ')}` : ', no primary key'
  return `${name}: ${kind === 'view' ? 'view, ' : ''}${columns.size} ` +
    `columns${kind === 'view' ? '' : key}${readOnly.length > 0 ? `; not writable: ${readOnly.join(', ')}` : ''}`
}
