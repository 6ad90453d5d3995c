/** What `row-query check` reports about a grant: what it may do in a database, and errors that only the catalog shows. */
import { VERBS } from '../../schemas/grant.ts'
import { findTableGrant, permissionsOn, type Grant, type TableGrant } from '../access/grant.ts'
import { bindRules, describeRule, findBrokenRule, resolveRules } from '../access/rules.ts'
import { findUncheckedKeys } from '../access/granted-table.ts'
import { mayFillColumns, type Catalog, type Table } from '../catalog/catalog.ts'
import { about, findings, type Findings } from './check/findings.ts'
import type { Granted } from './check/granted.ts'

/** Reports nothing if the grant does not see the database. */
export function reportGrant (granted: Granted, database: string, catalog: Catalog): Findings {
  const { label, grant } = granted
  const ofDatabase = grant.databases === 'all' ? undefined : grant.databases.get(database)
  if (grant.databases !== 'all' && ofDatabase === undefined) return []
  const tables = ofDatabase?.tables ?? 'all'
  const found = tables === 'all'
    ? findings('line', [`${verbsOf(grant.permissions)} on all tables`])
    : [...tables.keys()].flatMap((name) => reportTable(granted, database, name, catalog.tables.get(name)))
  return about(label, [...found, ...findings('warning', findUnchecked(grant, database, catalog))])
}

/** Foreign keys that the grant can only set to null. */
function findUnchecked (grant: Grant, database: string, catalog: Catalog): string[] {
  return [...catalog.tables.values()].flatMap((table) => {
    const permissions = permissionsOn(grant, database, table.name)
    if (!permissions.has('insert') && !permissions.has('update')) return []
    return findUncheckedKeys(grant, database, catalog, table).map(({ columns, reason }) => `rules cannot be checked for ${columns.map((column) => `"${column}"`).join(', ')} of "${table.name}", so only null can be written: ${reason}`)
  })
}

const verbsOf = (permissions: ReadonlySet<string>): string => VERBS.filter((verb) => permissions.has(verb)).join(', ') || 'nothing'

function reportTable ({ grant, knowsClaims }: Granted, database: string, name: string, table: Table | undefined): Findings {
  const granted = findTableGrant(grant, database, name) as TableGrant
  const permissions = permissionsOn(grant, database, name)
  const { columns, rules, named = [] } = granted
  const lacking = findings('error', named.filter((verb) => !grant.permissions.has(verb)).map((verb) => `"${name}" names the permission ${verb}, which "permissions" of the entry lacks`))
  if (table === undefined) {
    return [...lacking, ...rules.length > 0 ? findings('error', [`the database has no table "${name}", for which there are rules`]) : findings('warning', [`the database has no table "${name}"`])]
  }
  const broken = findBrokenRule(rules, table.columns)
  if (broken !== undefined) return [...lacking, ...findings('error', [`"${name}" does not exist for it: a rule does not apply: ${broken}`])]
  const list = (names: ReadonlySet<string>): string => [...names].join(', ') || 'no column'
  const verbs = columns === undefined
    ? verbsOf(permissions)
    : VERBS.filter((verb) => permissions.has(verb)).map((verb) => verb === 'delete' ? verb : `${verb} ${list(columns[verb])}`).join('; ') || 'nothing'
  const unknown = [...new Set(columns === undefined ? [] : [...columns.select, ...columns.insert, ...columns.update])].filter((column) => !table.columns.has(column))
  const refused = knowsClaims ? findRefusedClaim(grant, granted, table) : undefined
  const written = table.kind === 'view' ? VERBS.filter((verb) => verb !== 'select' && permissions.has(verb)) : []
  return [
    ...findings('line', [
      `${verbs} on ${name}${rules.length > 0 ? `, rows with ${rules.map(describeRule).join(' and ')}` : ''}`,
      ...(rules.length > 0 && !table.triggers.known && (permissions.has('insert') || permissions.has('update'))
        ? [`writes to ${name} are checked by further statements, because the account lacks the privilege TRIGGER and does not see whether there are triggers`]
        : [])
    ]),
    ...lacking,
    ...findings('error', [
      ...refused === undefined ? [] : [`each request to "${name}" is refused: ${refused}`],
      ...permissions.has('insert') && table.kind === 'table' ? findInsertErrors(granted, table) : []
    ]),
    ...findings('warning', unknown.map((column) => `"${name}" has no column "${column}"`)),
    // permissions that the table itself names are intended, so that it is an error
    ...findings(written.some((verb) => named.includes(verb)) ? 'error' : 'warning', written.length === 0 ? [] : [`"${name}" is a view, which can only be selected from: ${written.join(', ')} always fails`])
  ]
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
  const required = mayFillColumns(table) ? [] : table.requiredColumns.map(({ name }) => name).filter((name) => !isWritable(name) && !filled.has(name))
  const ruled = rules.map(({ column }) => column).filter((column) => !isWritable(column) && !filled.has(column) && table.columns.get(column)?.generated === false)
  return [
    ...required.map((column) => `insert into "${table.name}" always fails: column "${column}" has no default, cannot be written and gets no value by a rule`),
    ...ruled.filter((column) => !required.includes(column)).map((column) => `insert into "${table.name}" always fails: column "${column}" has a rule that gives it no value, and cannot be written`)
  ]
}
