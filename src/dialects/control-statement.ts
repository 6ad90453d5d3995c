/** Statements that begin and end transactions, in the form of other statements but without a table. */
import type { Column, Table } from '../catalog/catalog.ts'
import type { Statement } from '../sql/statement.ts'

const NONE: readonly Column[] = []

/** A table without triggers, for the description of errors. */
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
