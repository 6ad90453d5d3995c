import { mayFillColumns, type Table } from '../catalog/catalog.ts'
import { missingColumn, pointer, withDetails, type Path } from '../errors.ts'

/** Requires a value for every column without a default. `path`: of the row in the body. @throws MISSING_COLUMN */
export function requireColumns (data: Readonly<Record<string, unknown>>, table: Table, path: Path): void {
  const missing = table.requiredColumns.filter(({ name }) => !Object.hasOwn(data, name))
  // A BEFORE INSERT trigger may fill these columns; only the database knows.
  if (missing.length === 0 || mayFillColumns(table)) return
  const error = missingColumn(missing.map(({ name }) => `"${name}"`).join(', '))
  throw withDetails(error, ...missing.map(({ name }) => ({ path: pointer(...path, name), message: 'has no default' })))
}
