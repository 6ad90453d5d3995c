/** Reads the indexes of all tables by one query on information_schema. */
import type { Index, Key } from '../../catalog/catalog.ts'
import { indexesQuery } from '../../sql/mysql-catalog.ts'
import type { Ask, Row } from './connection/session.ts'
import type { MysqlError } from './errors.ts'

/** The indexes of each table, the primary key first. */
export async function loadIndexes (ask: Ask, isMariadb: boolean): Promise<ReadonlyMap<string, Index[]>> {
  const tables = Map.groupBy(await ask(indexesQuery(isMariadb)), ([table]) => table as string)
  const indexes = new Map(Array.from(tables, ([table, parts]): [string, Index[]] => [table, toIndexes(parts)]))
  if (!isMariadb) for (const [table, list] of indexes) if (isAmbiguous(list)) indexes.set(table, await sortByDefinition(ask, table, list))
  return indexes
}

function toIndexes (rows: readonly Row[]): Index[] {
  const indexes = [...Map.groupBy(rows, ([, name]) => name as string)].map(([name, parts]): Index => {
    const [, , , nonUnique, , , , type, usable] = parts[0] as Row
    return {
      name,
      unique: nonUnique === '0',
      ordered: type === 'BTREE' && usable === '1',
      parts: parts.toSorted((one, other) => Number(one[4]) - Number(other[4])).map(([, , column = null, , , collation, length]) => ({ column, descending: collation === 'D', prefix: length !== null }))
    }
  })
  return indexes.sort((one, other) => Number(isPrimary(other)) - Number(isPrimary(one)))
}

const isPrimary = ({ name }: Index): boolean => name === 'PRIMARY'

/** Whether the order of the unique keys matters, because the first one may identify the rows. */
const isAmbiguous = (indexes: readonly Index[]): boolean => !indexes.some(isPrimary) && indexes.filter(({ unique }) => unique).length > 1

/** Sorts by SHOW INDEX of one table, because only this shows the order in which MySQL's indexes were defined. Such tables are rare. */
async function sortByDefinition (ask: Ask, table: string, indexes: readonly Index[]): Promise<Index[]> {
  const rows = await ask(`show index from \`${table.replaceAll('`', '``')}\``).catch((error: MysqlError) => {
    if (error.errno === NO_SUCH_TABLE) return []
    throw error
  })
  const places = new Map(rows.map(([, , name], place) => [name, place]))
  return indexes.toSorted((one, other) => (places.get(one.name) ?? 0) - (places.get(other.name) ?? 0))
}

/** The error for a table that was dropped after its indexes were read. */
const NO_SUCH_TABLE = 1146

/** The unique keys, without the expressions in them. */
export function toKeys (indexes: readonly Index[]): Key[] {
  const keys = indexes.filter(({ unique }) => unique).map(({ name, parts }): Key => ({ name, columns: parts.flatMap(({ column }) => column ?? []) }))
  return keys.filter(({ columns }) => columns.length > 0)
}
