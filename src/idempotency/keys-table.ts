/** The table of responses to requests with a key belongs to the service and is in no catalog. */
import { type Column, KEYS_TABLE, OF_RESULT, type Table, type TableFacts } from '../catalog/catalog.ts'
import type { Engine } from '../catalog/traits.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { controlTable } from '../dialects/transaction-commands.ts'
import type { Statement } from '../sql/statement.ts'
import {
  DELETE_OLD, DELETED_AT_ONCE, INSERT_RESERVATION, SELECT_ANSWER, SELECT_ANSWER_ALONE, UPDATE_ANSWER
} from '../sql/key-statements.ts'
import type { Parameter } from '../types/column-type.ts'
import { unknownType } from '../types/text.ts'

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

const COLUMNS: Readonly<Record<Engine, ReadonlyArray<readonly [name: string, declaration: RegExp]>>> = {
  mysql: [
    ['k', /^binary\(32\)$/],
    ['request', /^binary\(32\)$/],
    ['answer', /^(medium|long)blob$/],
    ['created', /^timestamp/]
  ],
  sqlite: [
    ['k', /^blob$/i],
    ['request', /^blob$/i],
    ['answer', /^blob$/i],
    ['created', /^timestamp$/i]
  ]
}

/** Compared with `CREATE`. */
export function findKeysTableProblems (
  { columns, primaryKey, indexes, transactional }: TableFacts,
  engine: Engine
): string[] {
  const expected = new Map(COLUMNS[engine])
  const byName = new Map(columns.map((column) => [column.name, column]))
  return [
    ...[...expected.keys()].filter((name) => !byName.has(name)).map((name) => `it has no column "${name}"`),
    ...columns
      .filter(({ name, declaration }) => expected.get(name)?.test(declaration) === false)
      .map(({ name, declaration }) => `column "${name}" is ${declaration}`),
    ...columns
      .filter(({ name, optional }) => !expected.has(name) && !optional)
      .map(({ name }) => `column "${name}" is not one of its columns and has no default`),
    ...(primaryKey.join() === 'k' ? [] : ['its primary key is not "k"']),
    ...(indexes.some(({ parts: [first] }) => first?.column === 'created')
      ? []
      : ['it has no index on "created", by which old keys are deleted']),
    ...(transactional ? [] : ['its engine has no transactions'])
  ]
}

const TABLE: Table = {
  ...controlTable(KEYS_TABLE),
  uniqueKeys: [{ name: 'PRIMARY', columns: ['k'] }],
  primaryKey: ['k']
}
const STORED = ['request', 'answer'].map((name): Column => ({
  ...OF_RESULT,
  name,
  type: unknownType('blob'),
  declaration: 'blob',
  nullable: true
}))

type StatementOf = (...parameters: Parameter[]) => Statement

const statementsOf = (
  verb: Statement['verb'],
  texts: Readonly<Record<Engine, string>>,
  columns: readonly Column[] = []
): Readonly<Record<Engine, StatementOf>> => {
  const statementOf = (sql: string): StatementOf => {
    const common = { verb, table: TABLE, sql, pieces: sql.split('?'), columns, assigned: [], confirmations: [] }
    return (...parameters) => ({ ...common, parameters })
  }
  return { mysql: statementOf(texts.mysql), sqlite: statementOf(texts.sqlite) }
}

/** Fails with UNIQUE_VIOLATION if the key exists. */
export const insertReservation = statementsOf('insert', INSERT_RESERVATION)
export const updateAnswer = statementsOf('update', UPDATE_ANSWER)

const selects = statementsOf('select', SELECT_ANSWER, STORED)
const selectsAlone = statementsOf('select', { mysql: SELECT_ANSWER_ALONE, sqlite: SELECT_ANSWER.sqlite }, STORED)

/** Waits for a transaction that holds the key. */
export const selectAnswer = ({ engine, traits }: Pick<Dialect, 'engine' | 'traits'>, key: Buffer): Statement =>
  (traits?.sharesLocks === false ? selectsAlone : selects)[engine](key)

/** Parameter: age in seconds. */
const deleteOld = statementsOf('delete', DELETE_OLD)

export interface KeyCleanUp {
  /** Clean-ups run while keys are used. */
  noteUse (): void
  stop (): void
}

/** The interval of clean-ups while keys are used, and the delay of the first one, in milliseconds. */
const INTERVAL = 600_000

/**
 * `lifetime`: in milliseconds. Several processes may clean up at once: each deletes a limited number of the remaining
 * rows at a time.
 */
export function createKeyCleanUp (
  dialect: Dialect,
  { lifetime, interval = INTERVAL, onError }: {
    readonly lifetime: number
    readonly interval?: number
    readonly onError: (error: unknown) => void
  }
): KeyCleanUp {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  const deleteSome = async (): Promise<number> => {
    const statement = deleteOld[dialect.engine](Math.ceil(lifetime / 1000))
    // REPEATABLE READ would lock the gaps into which new keys are inserted
    const { changed } = await dialect.transaction((tx) => tx.run(statement), {
      readOnly: false,
      isolation: 'readCommitted'
    })
    return changed
  }

  const deleteAll = async (): Promise<void> => {
    if (!isStopped && (await deleteSome()) >= DELETED_AT_ONCE) await deleteAll()
  }
  const cleanUp = async (): Promise<void> => {
    await deleteAll().catch(onError)
    timer = undefined
  }

  return {
    noteUse () {
      if (!isStopped) timer ??= setTimeout(cleanUp, interval).unref()
    },
    stop () {
      isStopped = true
      clearTimeout(timer)
    }
  }
}
