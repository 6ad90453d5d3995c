/** Statements of no table that begin and end transactions, in the form in which other statements run. */
import type { Column, Table } from '../catalog/catalog.ts'
import type { Statement } from '../sql/statement.ts'

const NONE: readonly Column[] = []

/** A table without triggers, as errors are described by. */
export const controlTable = (name: string): Table => Object.freeze({
  name,
  kind: 'table',
  comment: '',
  engine: '',
  transactional: true,
  triggers: { known: true, list: [] },
  columns: new Map(),
  columnList: NONE,
  requiredColumns: NONE,
  primaryKey: [],
  uniqueKeys: [],
  indexes: [],
  foreignKeys: [],
  checks: [],
  identity: undefined
})

const NO_TABLE = controlTable('')

export const controlStatement = (verb: Statement['verb'], sql: string): Statement => ({ verb, table: NO_TABLE, sql, pieces: [sql], columns: NONE, assigned: NONE, confirmation: undefined, parameters: [] })
