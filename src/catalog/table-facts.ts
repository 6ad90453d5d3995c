import type { LongWork } from '../in-pieces.ts'
import { COLUMN_WORK, type TableFacts } from './catalog.ts'

/** Gathers the facts of all tables, between which other work may be done. */
export function * describeAll<Source> (sources: Iterable<Source>, describe: (source: Source) => TableFacts): LongWork<TableFacts[]> {
  const tables: TableFacts[] = []
  for (const source of sources) {
    const table = describe(source)
    tables.push(table)
    yield (table.columns.length + 1) * COLUMN_WORK
  }
  return tables
}
