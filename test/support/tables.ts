/** Creates tables as introspection returns them, for tests without a database. */
import {
  createCatalog, type Check, type Column, type ForeignKey, type Index, type Key, type Table, type Triggers
} from '../../src/catalog/catalog.ts'
import type { Engine } from '../../src/catalog/traits.ts'
import type { Statement } from '../../src/sql/statement.ts'
import { mysqlType } from '../../src/types/mysql.ts'
import { sqliteType } from '../../src/types/sqlite.ts'

type Rest = Partial<Omit<Column, 'name' | 'type' | 'declaration'>>

const columnOf = (engine: Engine) => (name: string, declaration: string, rest: Rest = {}): Column => {
  const [, type = '', length = null, scale = null] = /^(\w+)(?:\((\d+)(?:,(\d+))?\))?/.exec(declaration) ?? []
  const facts = {
    name: type,
    declaration,
    length: length === null ? null : Number(length),
    bytes: null,
    scale: scale === null ? null : Number(scale),
    charset: null,
    srid: null,
    json: false
  }
  return {
    name,
    type: engine === 'mysql' ? mysqlType(facts) : sqliteType(facts),
    declaration,
    nullable: true,
    generated: false,
    autoIncrement: false,
    optional: true,
    defaultText: null,
    comment: '',
    ...rest
  }
}

/** Creates a column from a declaration such as `decimal(10,2)`; by default it is nullable and optional. */
export const mysqlColumn = columnOf('mysql')
export const sqliteColumn = columnOf('sqlite')

interface TableParts {
  name?: string,
  columns: Column[],
  primaryKey?: string[],
  uniqueKeys?: Key[],
  foreignKeys?: ForeignKey[],
  kind?: Table['kind'],
  engine?: string,
  transactional?: boolean,
  triggers?: Triggers,
  checks?: Check[],
  indexes?: Index[]
}

export function tableOf ({
  name = 'items',
  columns,
  primaryKey = [],
  uniqueKeys = [],
  foreignKeys = [],
  kind = 'table',
  engine = '',
  transactional = true,
  triggers = { isComplete: true, list: [] },
  checks = [],
  indexes = []
}: TableParts): Table {
  const catalog = createCatalog([{
    name,
    kind,
    comment: '',
    engine,
    transactional,
    triggers,
    columns,
    primaryKey,
    uniqueKeys,
    indexes,
    foreignKeys,
    checks
  }], 0)
  return catalog.tables.get(name) as Table
}

/** A statement as a dialect gets it, for tests that do not run it. */
export function statementOf (verb: Statement['verb'], table: Table, rest: Partial<Statement> = {}): Statement {
  return { verb, table, sql: '', pieces: [''], parameters: [], columns: [], assigned: [], confirmations: [], ...rest }
}
