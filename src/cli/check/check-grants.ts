/**
 * What `row-query check` reports about a grant: what it may do in a database, errors that only the catalog shows, and
 * each privilege that it needs and the database account lacks. What the account may do beyond that is in the dialects
 * (privileges.ts).
 */
import { VERBS } from '../../../schemas/grants.ts'
import { findTableGrant, type Grant, permissionsOn, type TableGrant } from '../../access/grant.ts'
import { findUncheckedKeys } from '../../access/granted-table.ts'
import { bindRules, describeRule, findBrokenRule, resolveRules } from '../../access/rules.ts'
import { type Catalog, mayFillColumns, type Table } from '../../catalog/catalog.ts'
import type { Denied, Dialect, TableUse } from '../../dialects/dialect.ts'
import { indexesOfWords } from '../../plan/filters/match.ts'
import { about, describeDenied, findings, type Findings, type Granted } from './findings.ts'

/** Nothing if the grant does not see the database. */
export function reportGrant (granted: Granted, database: string, catalog: Catalog): Findings {
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
    return findUncheckedKeys({ grant, database, catalog }, table).map(
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
  const filled = new Set(rules.filter(({ isEquality }) => isEquality).map(({ column }) => column))
  const lacksValue = (column: string): boolean => columns?.insert.has(column) === false && !filled.has(column)
  const required = mayFillColumns(table) ? [] : table.requiredColumns.map(({ name }) => name).filter(lacksValue)
  const ruled = rules.map(({ column }) => column).filter((column) =>
    lacksValue(column) && !required.includes(column) && table.columns.get(column)?.generated === false)
  const describe = (reason: string) => (column: string): string =>
    `insert into "${table.name}" always fails: column "${column}" ${reason}`
  return [
    ...required.map(describe('has no default, cannot be written and gets no value by a rule')),
    ...ruled.map(describe('has a rule that gives it no value, and cannot be written'))
  ]
}

/**
 * A line for each grant that the account does not have the privileges for. `isReplica`: only selects are sent to it.
 */
export async function comparePrivileges (
  dialect: Dialect,
  { database, catalog, grants }: {
    readonly database: string
    readonly catalog: Catalog
    readonly grants: readonly Granted[]
  },
  isReplica = false
): Promise<Findings> {
  const deniedByUse = new Map<string, Denied[]>()
  const all: Findings[] = []
  for (const { label, grant } of grants) {
    const uses = [...catalog.tables.values()]
      .flatMap((table) => usesOf(grant, database, table))
      .filter(({ verb }) => !isReplica || verb === 'select')
    // most grants have the same uses, which are asked for once
    const asked = uses.filter((use) => !deniedByUse.has(JSON.stringify(use)))
    const byUse = Map.groupBy(await dialect.findDenied(asked), ({ table, verb }) => `${verb} ${table}`)
    for (const use of asked) deniedByUse.set(JSON.stringify(use), byUse.get(`${use.verb} ${use.table}`) ?? [])
    const denied = uses.flatMap((use) => deniedByUse.get(JSON.stringify(use)) ?? [])
    all.push(about(label, findings('warning', describeDenied(denied))))
  }
  return all.flat()
}

/** What a grant allows on a table. Filters of updates and deletes also read columns. */
function usesOf (grant: Grant, database: string, table: Table): TableUse[] {
  const permissions = permissionsOn(grant, database, table.name)
  const columns = findTableGrant(grant, database, table.name)?.columns
  const isUsed = (verb: TableUse['verb']): boolean =>
    permissions.has(verb) || (verb === 'select' && (permissions.has('update') || permissions.has('delete')))
  return VERBS.filter((verb) => isUsed(verb) && (verb === 'select' || table.kind === 'table')).map((verb): TableUse => {
    if (verb === 'delete') return { table: table.name, verb, columns: [] }
    const written = table.columnList.filter(
      ({ name, generated, type }) =>
        (verb === 'select' || (!generated && type.writable)) && (columns === undefined || columns[verb].has(name))
    )
    return { table: table.name, verb, columns: written.map(({ name }) => name) }
  })
}
