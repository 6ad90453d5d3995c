import { writtenBy } from '../catalog/triggers.ts'
import { pointer, unsupported } from '../errors.ts'
import { nameRelated, type NamedTable } from '../request/related-filters.ts'
import type { DeletePlan, UpdatePlan } from './plan.ts'

/**
 * Refuses filters by the rows of tables that the write itself changes, which MySQL and MariaDB cannot evaluate. Considers the texts of the triggers that
 * the account may see; only the server knows the rest. To be called when all else is planned. @throws NOT_SUPPORTED
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
