/** The table that keeps the answers to requests with a key. It belongs to the service and is in no catalog. */
import { KEYS_TABLE, OF_RESULT, type Column, type Table } from '../catalog/catalog.ts'
import { controlTable } from '../dialects/control-statement.ts'
import type { Engine, Statement } from '../sql/statement.ts'
import { unknownType } from '../types/text.ts'
import type { Parameter } from '../types/column-type.ts'

/** The statements that create the table. */
export const CREATE: Readonly<Record<Engine, string>> = {
  mysql: `create table ${KEYS_TABLE} (
  k binary(32) not null primary key,
  request binary(32) not null,
  answer mediumblob null,
  created timestamp not null default current_timestamp,
  key ${KEYS_TABLE}_created (created)
) engine = InnoDB;
`,
  sqlite: `create table ${KEYS_TABLE} (
  k blob not null primary key,
  request blob not null,
  answer blob null,
  created timestamp not null default current_timestamp
);
create index ${KEYS_TABLE}_created on ${KEYS_TABLE} (created);
`
}

const TABLE: Table = { ...controlTable(KEYS_TABLE), uniqueKeys: [{ name: 'PRIMARY', columns: ['k'] }], primaryKey: ['k'] }
const STORED = ['request', 'answer'].map((name): Column => ({ ...OF_RESULT, name, type: unknownType('blob'), declaration: 'blob', nullable: true }))

const statementOf = (verb: Statement['verb'], sql: string, columns: readonly Column[] = []) => {
  const common = { verb, table: TABLE, sql, pieces: sql.split('?'), columns, assigned: [], confirmation: undefined }
  return (...parameters: Parameter[]): Statement => ({ ...common, parameters })
}

/** Refused with UNIQUE_VIOLATION where the key exists. */
export const insertClaim = statementOf('insert', `insert into ${KEYS_TABLE} (k, request) values (?, ?)`)
export const updateAnswer = statementOf('update', `update ${KEYS_TABLE} set answer = ? where k = ?`)

/** Waits for a transaction that holds the key. MariaDB has no FOR SHARE. */
export const selectAnswer: Readonly<Record<Engine, ReturnType<typeof statementOf>>> = {
  mysql: statementOf('select', `select request as v0, answer as v1 from ${KEYS_TABLE} where k = ? lock in share mode`, STORED),
  sqlite: statementOf('select', `select request as v0, answer as v1 from ${KEYS_TABLE} where k = ?`, STORED)
}

/** Keys that are deleted at a time. */
export const DELETED_AT_ONCE = 1000

/** With the age in seconds. */
export const deleteOld: Readonly<Record<Engine, ReturnType<typeof statementOf>>> = {
  mysql: statementOf('delete', `delete from ${KEYS_TABLE} where created < current_timestamp - interval ? second limit ${DELETED_AT_ONCE}`),
  sqlite: statementOf('delete', `delete from ${KEYS_TABLE} where k in (select k from ${KEYS_TABLE} where created < datetime('now', '-' || ? || ' seconds') limit ${DELETED_AT_ONCE})`)
}
