/**
 * Compares what the grants allow with the privileges of the database account: `row-query check` reports each privilege
 * that a grant needs and the account lacks. What the account may do beyond that is in the dialects (privileges.ts).
 */
import { VERBS } from '../../../schemas/grants.ts'
import { findTableGrant, type Grant, permissionsOn } from '../../access/grant.ts'
import type { Catalog, Table } from '../../catalog/catalog.ts'
import type { Denied, TableUse } from '../../dialects/dialect.ts'
import { about, findings, type Findings, type Granted, listNames } from './findings.ts'

/**
 * A line for each grant that the account does not have the privileges for. `isReplica`: only selects are sent to it.
 */
export async function comparePrivileges (
  { database, catalog, grants, findDenied }: {
    readonly database: string
    readonly catalog: Catalog
    readonly grants: readonly Granted[]
    readonly findDenied: (uses: readonly TableUse[]) => Promise<Denied[]>
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
    const byUse = Map.groupBy(await findDenied(asked), ({ table, verb }) => `${verb} ${table}`)
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

export function describeDenied (denied: readonly Denied[]): string[] {
  const whole = denied.filter(({ columns, reason }) => columns === undefined && reason === undefined)
  const verbs = Map.groupBy(whole, ({ table }) => table)
  const tables = Map.groupBy(verbs, ([, uses]) => uses.map(({ verb }) => verb.toUpperCase()).join(', '))
  return [
    ...Array.from(
      tables,
      ([privileges, list]) => `the database account lacks ${privileges} on ${listNames(list.map(([table]) => table))}`
    ),
    ...denied.flatMap(({ table, verb, columns, reason }) => {
      if (reason !== undefined) return [`"${table}" cannot be read (${reason})`]
      return columns === undefined
        ? []
        : [`the database account lacks ${verb.toUpperCase()} on ${listNames(columns)} of "${table}"`]
    })
  ]
}
