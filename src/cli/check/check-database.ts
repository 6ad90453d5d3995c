import { VERBS } from '../../../schemas/grants.ts'
import { findTableGrant, type Grant, permissionsOn, type TableGrant } from '../../access/grant.ts'
import { findUncheckedKeys } from '../../access/granted-table.ts'
import { bindRules, describeRule, findBrokenRule, resolveRules } from '../../access/rules.ts'
import {
  type Catalog, createCatalog, type Index, KEYS_TABLE, mayFillColumns, type Table, type TableFacts
} from '../../catalog/catalog.ts'
import type { Engine } from '../../catalog/traits.ts'
import { relationsBetween } from '../../catalog/relations.ts'
import type { DatabaseConfig } from '../../databases/open.ts'
import type { Denied, Dialect, TableUse } from '../../dialects/dialect.ts'
import { findKeysTableProblems } from '../../idempotency/keys-table.ts'
import type { NamedRequest } from '../../named/definition.ts'
import { indexesOfWords } from '../../plan/filters/match.ts'
import { findMemberIndex } from '../../plan/relation.ts'
import { isWhole } from '../../plan/row-keys.ts'
import type { RequestLimits } from '../../plan/limits.ts'
import { describeConnectProblem, openOnce } from '../one-database.ts'
import { comparePrivileges } from './check-privileges.ts'
import { about, findings, type Findings, type Granted, listNames } from './findings.ts'

// What `row-query check` reports about a grant: what it may do in a database, and errors that only the catalog shows.

/** Nothing if the grant does not see the database. */
function reportGrant (granted: Granted, database: string, catalog: Catalog): Findings {
  const { label, grant } = granted
  const ofDatabase = grant.databases === 'all' ? undefined : grant.databases.get(database)
  if (grant.databases !== 'all' && ofDatabase === undefined) return []
  const tables = ofDatabase?.tables ?? 'all'
  const reports = tables === 'all'
    ? findings('line', [`${verbsOf(grant.permissions)} on all tables`])
    : [...tables.keys()].flatMap((name) => reportTable(granted, database, name, catalog.tables.get(name)))
  return about(label, [...reports, ...findings('warning', findUnchecked(grant, database, catalog))])
}

/** Foreign keys that the grant can only set to null. */
function findUnchecked (grant: Grant, database: string, catalog: Catalog): string[] {
  return [...catalog.tables.values()].flatMap((table) => {
    const permissions = permissionsOn(grant, database, table.name)
    if (!permissions.has('insert') && !permissions.has('update')) return []
    return findUncheckedKeys(grant, database, catalog, table).map(
      ({ columns, reason }) =>
        `rules cannot be checked for ${columns.map((column) => `"${column}"`).join(', ')} of "${table.name}", so ` +
        `only null can be written: ${reason}`
    )
  })
}

const verbsOf = (permissions: ReadonlySet<string>): string =>
  VERBS.filter((verb) => permissions.has(verb)).join(', ') || 'nothing'

function reportTable (
  { grant, knowsClaims }: Granted,
  database: string,
  name: string,
  table: Table | undefined
): Findings {
  const granted = findTableGrant(grant, database, name) as TableGrant
  const permissions = permissionsOn(grant, database, name)
  const { columns, rules, named = [] } = granted
  const lacking = findings(
    'error',
    named
      .filter((verb) => !grant.permissions.has(verb))
      .map((verb) => `"${name}" names the permission ${verb}, which "permissions" of the entry lacks`)
  )
  if (table === undefined) {
    return [
      ...lacking,
      ...(rules.length > 0
        ? findings('error', [`the database has no table "${name}", for which there are rules`])
        : findings('warning', [`the database has no table "${name}"`]))
    ]
  }
  const broken = findBrokenRule(rules, table.columns)
  if (broken !== undefined) {
    return [...lacking, ...findings('error', [`"${name}" does not exist for it: a rule does not apply: ${broken}`])]
  }
  const list = (names: ReadonlySet<string>): string => [...names].join(', ') || 'no column'
  const verbs =
    columns === undefined
      ? verbsOf(permissions)
      : VERBS.filter((verb) => permissions.has(verb))
        .map((verb) => (verb === 'delete' ? verb : `${verb} ${list(columns[verb])}`))
        .join('; ') || 'nothing'
  const unknown = [
    ...new Set(columns === undefined ? [] : [...columns.select, ...columns.insert, ...columns.update])
  ].filter((column) => !table.columns.has(column))
  const refused = knowsClaims ? findRefusedClaim(grant, granted, table) : undefined
  const written = table.kind === 'view' ? VERBS.filter((verb) => verb !== 'select' && permissions.has(verb)) : []
  return [
    ...findings('line', [
      `${verbs} on ${name}${rules.length > 0 ? `, rows with ${rules.map(describeRule).join(' and ')}` : ''}`,
      rules.length > 0 && !table.triggers.isComplete && (permissions.has('insert') || permissions.has('update')) &&
        `writes to ${name} are checked by further statements, because the account lacks the privilege TRIGGER and ` +
        'does not see whether there are triggers'
    ]),
    ...lacking,
    ...findings('error', [
      refused !== undefined && `each request to "${name}" is refused: ${refused}`,
      ...(permissions.has('insert') && table.kind === 'table' ? findInsertErrors(granted, table) : [])
    ]),
    ...findings(
      'warning',
      [...unknown.map((column) => `"${name}" has no column "${column}"`), ...findUselessIndexes(granted, table)]
    ),
    // an error if the grant gives these permissions on the table itself, and not on the whole database
    ...findings(written.some((verb) => named.includes(verb)) ? 'error' : 'warning', [
      written.length > 0 && `"${name}" is a view, which can only be selected from: ${written.join(', ')} always fails`
    ])
  ]
}

/** Indexes of words that `$match` cannot use, because the entry sees only some of their columns. */
function findUselessIndexes ({ columns }: TableGrant, table: Table): string[] {
  return indexesOfWords(table).flatMap(({ name, parts }) => {
    const hidden = parts.filter(({ column }) => columns?.select.has(column as string) === false)
    return hidden.length === 0 || hidden.length === parts.length
      ? []
      : [
          `"$match" cannot use the full-text index "${name}" of "${table.name}", because these columns are hidden: ` +
          hidden.map(({ column }) => column).join(', ')
        ]
  })
}

/** The message of the refusal, if a rule cannot use the claims of the entry. */
function findRefusedClaim ({ claims }: Grant, { rules }: TableGrant, { columns }: Table): string | undefined {
  try {
    bindRules(resolveRules(rules, claims), columns)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** An insert must have a value for each required column and for each column with a rule. */
function findInsertErrors ({ columns, rules }: TableGrant, table: Table): string[] {
  const isWritable = (column: string): boolean => columns === undefined || columns.insert.has(column)
  const filled = new Set(rules.filter(({ isEquality }) => isEquality).map(({ column }) => column))
  const required = mayFillColumns(table)
    ? []
    : table.requiredColumns.map(({ name }) => name).filter((name) => !isWritable(name) && !filled.has(name))
  const ruled = rules
    .map(({ column }) => column)
    .filter((column) => !isWritable(column) && !filled.has(column) && table.columns.get(column)?.generated === false)
  return [
    ...required.map(
      (column) =>
        `insert into "${table.name}" always fails: column "${column}" has no default, cannot be written and gets no ` +
        'value by a rule'
    ),
    ...ruled
      .filter((column) => !required.includes(column))
      .map(
        (column) =>
          `insert into "${table.name}" always fails: column "${column}" has a rule that gives it no value, and ` +
          'cannot be written'
      )
  ]
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

async function withDialect<T> (config: DatabaseConfig, use: (dialect: Dialect) => Promise<T>): Promise<T> {
  const dialect = await openOnce(config)
  try {
    return await use(dialect)
  } finally {
    await dialect.close()
  }
}

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
  const findDenied = (uses: readonly TableUse[]): Promise<Denied[]> => dialect.findDenied(uses)
  const denied = await comparePrivileges({ database: name, catalog, grants, findDenied })
  const named = requests.filter(({ database }) => database === name)
  // loads the rooms that answer requests
  const ofRequests = named.length === 0
    ? []
    : await (await import('./check-requests.ts')).checkRequests(named, { catalog, grants, findDenied, ...settings })
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
  const all = await Promise.all(
    config.replicas.map(async (address, index) => {
      const label = `replicas.${index} (${address.hosts.map(({ host }) => host).join(', ')})`
      try {
        return await withDialect(
          { ...config, address: { engine: 'mysql', address }, replicas: [] },
          async (dialect) => {
            const ownCatalog = createCatalog(await dialect.introspect(), Date.now())
            const { excess, risks } = await dialect.findRisks(configured)
            const denied = await comparePrivileges(
              { database: config.name, catalog: ownCatalog, grants, findDenied: (uses) => dialect.findDenied(uses) },
              true
            )
            return about(label, [
              ...findings('line', [`answers, ${describeCount(ownCatalog)}`]),
              ...reportServer(dialect),
              ...findings('warning', findMissing(catalog, ownCatalog)),
              ...denied,
              ...findings('warning', [...excess, ...risks])
            ])
          }
        )
      } catch (error) {
        return findings('error', [`${label}: ${describeConnectProblem(error)}`])
      }
    })
  )
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
