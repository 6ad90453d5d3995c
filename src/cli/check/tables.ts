/** Reports what tables lack for features of the service. */
import { KEYS_TABLE, type Catalog, type Index, type Table, type TableFacts } from '../../catalog/catalog.ts'
import { relationsBetween } from '../../catalog/relations.ts'
import { findKeysTableProblems } from '../../idempotency/keys-table.ts'
import { findMemberIndex } from '../../plan/relation.ts'
import { isWhole } from '../../plan/row-keys.ts'
import type { Engine } from '../../sql/statement.ts'
import { findings, listNames, type Findings } from './findings.ts'

export interface CheckedTables {
  readonly engine: Engine
  readonly catalog: Catalog
  /** The tables as introspected, including the one for idempotency keys. */
  readonly facts: readonly TableFacts[]
}

export const findKeysTable = (facts: readonly TableFacts[]): TableFacts | undefined => facts.find(({ name }) => name.toLowerCase() === KEYS_TABLE)

export function checkTables ({ engine, catalog, facts }: CheckedTables): Findings {
  const keys = findKeysTable(facts)
  const tables = [...catalog.tables.values()]
  const broken = facts.filter(({ columns }) => columns.length === 0).map(({ name }) => name)
  return [
    ...findings('warning', broken.length === 0 ? [] : [`left out, because the database cannot open them: ${listNames(broken)}`]),
    ...findings('warning', keys === undefined ? [] : findKeysTableProblems(keys, engine).map((problem) => `the table "${keys.name}" is not as "row-query keys" prints it: ${problem}`)),
    ...findings('note', [
      ...keys === undefined ? [`there is no table "${KEYS_TABLE}", so requests with an Idempotency-Key are refused; "row-query keys" prints its statement`] : [],
      ...tables.flatMap(findUnnameableKeys),
      ...tables.flatMap((table) => findMissingIndexes(table, catalog))
    ])
  ]
}

/** Unique keys that `onConflict` cannot name and that do not identify rows. */
function findUnnameableKeys (table: Table): string[] {
  return table.indexes.filter((index) => index.unique && !isWhole(index)).map((index) => `unique key "${index.name}" of "${table.name}" cannot be named in "onConflict", because it compares ${describeParts(index, table)}`)
}

function describeParts ({ parts }: Index, { engine }: Table): string {
  if (parts.some(({ prefix }) => prefix)) return 'only the beginnings of values'
  return engine === 'sqlite' ? 'an expression, or a column by another collation than its own' : 'an expression'
}

/** Foreign keys without an index: an `include` by them would read the whole table that has the key. */
function findMissingIndexes (table: Table, { tables }: Catalog): string[] {
  const parents = new Set(table.foreignKeys.flatMap(({ referencedTable }) => tables.get(referencedTable) ?? []))
  const slow = [...parents].flatMap((parent) => relationsBetween(parent, table).filter((pairs) => {
    const isOurs = table.foreignKeys.some(({ columns }) => columns.length === pairs.length && pairs.every(({ other }) => columns.includes(other.name)))
    return isOurs && findMemberIndex(table, pairs, new Set(), []) === undefined
  }).map((pairs) => ({ parent, columns: pairs.map(({ other }) => other.name) })))
  return slow.map(({ parent, columns }) => `"${table.name}" has no index that begins with ${columns.map((name) => JSON.stringify(name)).join(' or ')}: each "include" of its rows in those of "${parent.name}" reads the whole table`)
}
