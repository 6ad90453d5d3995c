import type { InsertBody } from '../../schemas/body.ts'
import { mayFillColumns, type Table } from '../catalog/catalog.ts'
import { missingColumn, pointer, withDetails } from '../errors.ts'
import { planAssignments } from './assignments.ts'
import type { InsertPlan } from './plan.ts'

/** Plans an insert. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, MISSING_COLUMN, NOT_NULL_VIOLATION */
export function planInsert ({ data }: InsertBody, table: Table): InsertPlan {
  const assignments = planAssignments(data, table)
  const missing = table.requiredColumns.filter(({ name }) => !Object.hasOwn(data, name))
  // A BEFORE INSERT trigger may fill these columns; only the database knows.
  if (missing.length > 0 && !mayFillColumns(table)) {
    const error = missingColumn(missing.map(({ name }) => `"${name}"`).join(', '))
    throw withDetails(error, ...missing.map(({ name }) => ({ path: pointer('data', name), message: 'has no default' })))
  }
  return Object.freeze({ verb: 'insert', table, assignments } as const)
}
