/** Foreign keys to tables with rules whose rows the service cannot look up. */
import type { Catalog, Table, UncheckedKey } from '../catalog/catalog.ts'
import type { DatabaseGrant, Grant } from './grant.ts'

/**
 * The keys of a table that can only be null for a grant: those to a table with rules that is in another database or that the account does not
 * see, and every column of a table whose keys the account does not see if the grant has any rules.
 */
export function findUncheckedKeys (grant: Grant, database: string, catalog: Catalog, { foreignKeys, outerKeys = [], hidesKeys, columnList }: Table): UncheckedKey[] {
  if (grant.databases === 'all') return []
  const { databases } = grant
  const own = databases.get(database)
  // the database of an outer key may be that of another server: the name of the table is all that is known
  const hasRulesElsewhere = (table: string): boolean => [...databases].some(([name, granted]) => name !== database && hasRules(granted, table))
  const unseen = foreignKeys.filter(({ referencedTable }) => !catalog.tables.has(referencedTable) && own !== undefined && hasRules(own, referencedTable, catalog))
  const outer = outerKeys.filter(({ referencedTable }) => hasRulesElsewhere(referencedTable))
  const hidden = hidesKeys === true && [...databases.values()].some(({ tables }) => tables !== 'all' && [...tables.values()].some(({ rules }) => rules.length > 0)) ? columnList : []
  return [
    ...unseen.map(({ name, columns, referencedTable }) => ({ columns, reason: `foreign key "${name}" refers to "${referencedTable}", which the database account does not see` })),
    ...outer.map(({ name, columns, referencedTable }) => ({ columns, reason: `foreign key "${name}" refers to "${referencedTable}" in another database` })),
    ...hidden.map(({ name }) => ({ columns: [name], reason: `the database account does not see whether column "${name}" belongs to a foreign key` }))
  ]
}

/** Whether the grant has rules for a table that it may name in another letter case. A table of the catalog is not the one that the account does not see. */
function hasRules ({ tables }: DatabaseGrant, table: string, catalog?: Catalog): boolean {
  if (tables === 'all') return false
  const lower = table.toLowerCase()
  return [...tables].some(([name, { rules }]) => rules.length > 0 && name.toLowerCase() === lower && catalog?.tables.has(name) !== true)
}
