import { writtenBy } from '../catalog/triggers.ts'
import { pointer, unsupported } from '../errors.ts'
import { nameRelated, type NamedTable } from '../request/related-filters.ts'
import type { DeletePlan, UpdatePlan } from './plan.ts'

/**
 * Refuses filters by the rows of tables that the write itself changes: MySQL and MariaDB cannot do that. The triggers are those that the account
 * may see, and what they do is what their texts show: of the rest only the server knows. @throws NOT_SUPPORTED, to be called when all else is planned
 */
export function refuseWritten ({ verb, table }: UpdatePlan | DeletePlan, filters: Readonly<Record<string, unknown>>): void {
  const named: NamedTable[] = []
  nameRelated(filters, ['filters'], named)
  if (named.length === 0) return
  const byTriggers = writtenBy(table, verb)
  for (const { table: name, path, by } of named) {
    if (name === table.name) throw unsupported(pointer(...path), `"${by}" cannot name the table that is written: select the rows first, and filter by their keys`)
    if (byTriggers.has(name)) throw unsupported(pointer(...path), `"${by}" cannot name "${name}", which a trigger of "${table.name}" writes: select the rows first, and filter by their keys`)
  }
}
