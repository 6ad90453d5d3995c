/** What `row-query check` tells of a grant: what it may do in a database, and mistakes that only the catalog shows. */
import { VERBS } from '../../schemas/grant.ts'
import { findTableGrant, permissionsOn, type Grant, type TableGrant } from '../access/grant.ts'
import { describeRule, findBrokenRule } from '../access/rules.ts'
import { findUncheckedKeys } from '../access/unchecked-keys.ts'
import { mayFillColumns, type Catalog, type Table } from '../catalog/catalog.ts'

export interface GrantReport {
  /** What the grant may do, one line for each table with columns or rules of its own. */
  readonly lines: readonly string[]
  /** What can never work. */
  readonly errors: readonly string[]
  /** Names that the database does not have, and foreign keys that cannot be checked. */
  readonly warnings: readonly string[]
}

/** `label`: `token "reports"`. Undefined if the grant does not see the database. */
export function reportGrant (label: string, grant: Grant, database: string, catalog: Catalog): GrantReport | undefined {
  const granted = grant.databases === 'all' ? undefined : grant.databases.get(database)
  if (grant.databases !== 'all' && granted === undefined) return undefined
  const tables = granted?.tables ?? 'all'
  const unchecked = findUnchecked(grant, database, catalog).map((line) => `${label}: ${line}`)
  if (tables === 'all') return { lines: [`${label}: ${verbsOf(grant.permissions)} on all tables`], errors: [], warnings: unchecked }
  const reports = [...tables.keys()].map((name) => reportTable(grant, database, name, catalog.tables.get(name)))
  const labelled = (lines: readonly string[]): string[] => lines.map((line) => `${label}: ${line}`)
  return {
    lines: labelled(reports.flatMap(({ lines }) => lines)),
    errors: labelled(reports.flatMap(({ errors }) => errors)),
    warnings: [...labelled(reports.flatMap(({ warnings }) => warnings)), ...unchecked]
  }
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

function reportTable (grant: Grant, database: string, name: string, table: Table | undefined): GrantReport {
  const granted = findTableGrant(grant, database, name) as TableGrant
  const permissions = permissionsOn(grant, database, name)
  if (table === undefined) return { lines: [], errors: [], warnings: [`the database has no table "${name}"`] }
  const broken = findBrokenRule(granted.rules, table.columns)
  if (broken !== undefined) return { lines: [], errors: [`"${name}" does not exist for it: a rule does not apply: ${broken}`], warnings: [] }
  const { columns, rules } = granted
  const list = (names: ReadonlySet<string>): string => [...names].join(', ') || 'no column'
  const verbs = columns === undefined
    ? verbsOf(permissions)
    : VERBS.filter((verb) => permissions.has(verb)).map((verb) => verb === 'delete' ? verb : `${verb} ${list(columns[verb])}`).join('; ') || 'nothing'
  const unknown = [...new Set(columns === undefined ? [] : [...columns.select, ...columns.insert, ...columns.update])].filter((column) => !table.columns.has(column))
  return {
    lines: [
      `${verbs} on ${name}${rules.length > 0 ? `, rows with ${rules.map(describeRule).join(' and ')}` : ''}`,
      ...(rules.length > 0 && !table.triggers.known && (permissions.has('insert') || permissions.has('update'))
        ? [`writes to ${name} are checked by further statements, because the account lacks the privilege TRIGGER and does not see whether there are triggers`]
        : [])
    ],
    errors: permissions.has('insert') && table.kind === 'table' ? findInsertErrors(granted, table) : [],
    warnings: unknown.map((column) => `"${name}" has no column "${column}"`)
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
