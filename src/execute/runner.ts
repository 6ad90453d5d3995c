import type { Column, Table } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import type { Database } from '../databases/database.ts'
import {
  type Executor, type ReadOptions, type RowSink, StaleCatalog, type StatementResult
} from '../dialects/dialect.ts'
import { resultTooLarge, unsupported, type ServiceError } from '../errors.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { combine } from '../plan/filters/scope.ts'
import { textOf } from '../plan/foreign-keys.ts'
import { knownDefault, factsOf, isComputed } from '../plan/writes.ts'
import type { Assignment, Condition, CountPlan, SelectPlan, PlannedRow, Returned, UpdatePlan } from '../plan/plan.ts'
import { storedKey } from '../plan/row-keys.ts'
import { rowRefused } from '../plan/row-rules.ts'
import { within } from '../plan/rule.ts'
import { writeValue } from '../response/json-rows.ts'
import { LastRow, ResponseSink, RowCounter } from '../response/response-sink.ts'
import { compileInsert, type RowBatch } from '../sql/compile-insert.ts'
import { compileRowsOfValues, type RowsOfValues } from '../sql/rows-of-values.ts'
import { compileNumber, type CompiledPlan, compileStatement } from '../sql/statement-cache.ts'
import { bindCells, type Statement } from '../sql/statement.ts'
import { type Cell, type DriverValue, type Parameter, type Value, hasMoment, isMoment } from '../types/column-type.ts'
import { type Clock, fromMicros, systemClock } from '../types/moment.ts'
import { boundValue, type Given, givenValue } from '../plan/holes.ts'

/** The most bytes of the keys of a write: enough for a thousand keys of the size that an index allows. */
const MAX_BYTES = 4 * 1024 * 1024

/** Keeps the keys of rows as parameters of later statements. */
export class KeyList extends RowCounter {
  override readonly maxBytes = MAX_BYTES
  readonly #columns: readonly Column[]
  readonly keys: Value[][] = []

  constructor (columns: readonly Column[]) {
    super()
    this.#columns = columns
  }

  override begin (): void {
    super.begin()
    this.keys.length = 0
  }

  /**
   * A value that a select returns finds its row as a parameter. @throws NOT_SUPPORTED for NULL, which identifies no row
   */
  override row (values: ReadonlyArray<DriverValue | null>): undefined {
    super.row(values)
    this.keys.push(this.#columns.map((column, index) => readKey(column, values[index] as DriverValue | null)))
  }

  override overflow (): void {
    throw resultTooLarge(`the keys of the rows are larger than ${MAX_BYTES} bytes`)
  }
}

/** The parameter by which a value finds its row. @throws NOT_SUPPORTED for NULL, and one that the server refuses */
export function readKey ({ type, type: { positions } }: Column, value: DriverValue | null): Value {
  const { read, write } = positions ?? type
  try {
    const key = value === null ? undefined : read(parseExactJson(write(value)))
    if (key !== undefined && positions?.around?.(key) === undefined) return key
  } catch { /* the value cannot be read */ }
  throw unsupported('/returning', 'a row has no key that identifies it')
}

export type Lookup = Pick<SelectPlan, 'table' | 'columns' | 'condition' | 'limit' | 'lock' | 'sequence' | 'members'>

/** Runs a write again, without foreign keys, to be undone. */
export type Repeat = (use: (run: Executor['run']) => Promise<never>) => Promise<never>

/** Runs statements in one session of a database. Each method throws the errors of the session. */
export class Runner {
  readonly database: Database
  readonly #execute: Executor['run']
  readonly #table: Table | undefined
  readonly #repeat: Repeat | undefined
  #clock: Clock | undefined

  /**
   * `table`: of a plan of several statements, which all see the same moment. Without it, the database puts the time of
   * each statement in place of its moments. `repeat`: if it may be necessary (after-write.ts).
   */
  constructor (execute: Executor['run'], database: Database, table?: Table, repeat?: Repeat) {
    this.#execute = execute
    this.#table = table
    this.#repeat = repeat
    this.database = database
  }

  /** Each statement is its own transaction. */
  static alone (database: Database, options: ReadOptions): Runner {
    const { dialect } = database
    return new Runner((statement, rows) => (
      rows === undefined ? dialect.write(statement, options) : dialect.read(statement, rows, options)
    ), database)
  }

  get engine (): Engine {
    return this.database.dialect.engine
  }

  /** Puts values in place of the moments of a plan of several statements. @throws VALUE_OUT_OF_RANGE */
  async bind<C extends Cell | Given> (cells: readonly C[]): Promise<readonly C[]> {
    if (this.#table === undefined || !hasMoment(cells)) return cells
    const clock = this.#clock ??= TRAITS[this.engine].usesLocalClock
      ? systemClock()
      : fromMicros(BigInt(await this.number(compileNumber('clock', this.#table))))
    return bindCells(cells as readonly Cell[], () => clock) as readonly C[]
  }

  /** The same for assignments; not a promise if they have no moments. */
  bindAssignments (assignments: readonly Assignment[]): readonly Assignment[] | Promise<readonly Assignment[]> {
    if (this.#table === undefined || !assignments.some(({ parameter }) => isMoment(parameter))) return assignments
    return this.bind(assignments.map(({ parameter }) => parameter)).then((parameters) =>
      assignments.map((each, index) => ({ ...each, parameter: parameters[index] as Parameter })))
  }

  runStatement (statement: Statement, sink?: RowSink): Promise<StatementResult> {
    const { parameters } = statement
    return this.#table !== undefined && hasMoment(parameters)
      ? this.bind(parameters).then((bound) => this.#execute(this.#withMoments(statement, bound), sink))
      : this.#execute(statement, sink)
  }

  #withMoments (statement: Statement, parameters: readonly Cell[]): Statement {
    const { secondForm } = statement
    if (secondForm === undefined) return { ...statement, parameters }
    const secondFormNow = (): Statement => {
      const second = secondForm()
      return { ...second, parameters: bindCells(second.parameters, () => this.#clock as Clock) }
    }
    return { ...statement, parameters, secondForm: secondFormNow }
  }

  /** Writes, and checks what was written; both again if the write is refused because of a foreign key. */
  async writeAndCheck<T> (
    write: (runner: Runner) => Promise<T>,
    check: (written: T) => Promise<unknown>
  ): Promise<T> {
    const repeat = this.#repeat
    const written = await write(this).catch((error: ServiceError) => {
      if (repeat === undefined || error.code !== 'FOREIGN_KEY_VIOLATION') throw error
      return repeat(async (run) => {
        await check(await write(new Runner(run, this.database, this.#table)))
        throw error
      })
    })
    await check(written)
    return written
  }

  /** `sink`: for a select; that of a response may have refused its rows. */
  run (plan: CompiledPlan, sink?: RowSink): Promise<StatementResult> {
    return this.runStatement(compileStatement(plan, this.engine, this.database.statementCounts), sink)
  }

  /**
   * In a table with UPDATE triggers, an upsert does not report the number of a row that it leaves as it is, but the
   * session has it (compile-insert.ts).
   */
  insert (batch: RowBatch): Promise<StatementResult> {
    const { table, conflict } = batch
    const running = this.runStatement(compileInsert(batch, this.engine, this.database.statementCounts))
    if (conflict?.reported?.autoIncrement !== true || !factsOf(table).seesChanged) return running
    return running.then(async (result) => result.changed === 0 && result.insertId === '0'
      ? { ...result, insertId: await this.number(compileNumber('lastId', table)) }
      : result)
  }

  updateRows (rows: RowsOfValues): Promise<StatementResult> {
    return this.runStatement(compileRowsOfValues(rows, this.engine, this.database.statementCounts))
  }

  /** @throws the refusal of the sink of a response */
  async select (lookup: Lookup, sink: RowSink): Promise<void> {
    await this.run({ verb: 'select', order: [], ...lookup }, sink)
    if (sink instanceof ResponseSink) requireRoom(sink)
  }

  /**
   * Counts the rows that a condition selects, up to a limit, and locks them if requested. Returns the number as digits.
   */
  async count (table: Table, condition: Condition, limit?: number, lock?: CountPlan['lock']): Promise<string> {
    const plan: CountPlan = { verb: 'count', table, condition, limit, ...(lock !== undefined && { lock }) }
    return await this.number(compileStatement(plan, this.engine, this.database.statementCounts))
  }

  /** Locks the row if requested. */
  async exists (table: Table, condition: Condition, lock?: CountPlan['lock']): Promise<boolean> {
    return await this.count(table, condition, 1, lock) !== '0'
  }

  /** @throws NOT_SUPPORTED for NULL */
  async keys ({ columns, ...lookup }: Lookup): Promise<KeyList['keys']> {
    const list = new KeyList(columns)
    await this.select({ columns, ...lookup }, list)
    return list.keys
  }

  /** The one that a statement selects, as digits. */
  async number (statement: Statement): Promise<string> {
    const sink = new LastRow()
    await this.runStatement(statement, sink)
    return String(sink.values?.[0] ?? 0)
  }

  /** Locks the row. As JSON; undefined if no row is found. @throws UNREADABLE_VALUE */
  async value ({
    column,
    ...lookup
  }: Pick<Lookup, 'table' | 'condition'> & { readonly column: Column }): Promise<string | undefined> {
    const sink = new LastRow(this.database.resultLimit)
    await this.select({ ...lookup, columns: [column], limit: 1, lock: 'share' }, sink)
    return sink.values?.map((value) => value === null ? 'null' : writeValue(column, value))[0]
  }
}

/** @throws the reason if the response cannot be sent */
export function requireRoom ({ refusal }: ResponseSink): void {
  if (refusal !== undefined) throw refusal
}

/** Keys in one select, and so comparisons that order each row. All full selects have the same text. */
export const STEP = 100

/** @throws NOT_SUPPORTED, or PERMISSION_DENIED under rules, if a row is not found; the errors of the sink */
export async function readRows (
  runner: Runner,
  sink: ResponseSink,
  { table, columns, members, key, keys, optional }: Returned & {
    readonly table: Table
    readonly key: readonly Column[]
    /** Keys in the order of the response. A row may occur more than once. */
    readonly keys: ReadonlyArray<readonly Value[]>
    /** Indexes in `keys` of rows that may be missing. */
    readonly optional?: ReadonlySet<number> | undefined
  }
): Promise<void> {
  const select = async (conditions: readonly Condition[]): Promise<number> => {
    const before = sink.keptCount
    const condition = combine('or', conditions)
    // rows that the write has left unchanged are not of its snapshot, in which another client may have changed them
    // before the write waited for that one
    await runner.select(
      {
        table,
        columns,
        ...(members !== undefined && { members }),
        lock: 'share',
        condition: table.granted === undefined ? condition : within(table.granted.rules, condition),
        // one more than the key allows: its index may be gone
        limit: conditions.length + 1,
        ...(conditions.length > 1 && { sequence: conditions })
      },
      sink
    )
    const found = sink.count - before
    if (found > conditions.length) throw new StaleCatalog(undefined, { isUndone: true })
    return found
  }
  sink.clear()
  for (let from = 0; from < keys.length; from += STEP) {
    const conditions = keys.slice(from, from + STEP).map((values) => hasKey(key, values))
    if ((await select(conditions)) === conditions.length) {
      sink.keepRows()
      continue
    }
    // a select returns a row that occurs twice only once
    for (const [index, condition] of conditions.entries()) {
      if ((await select([condition])) === 0 && optional?.has(from + index) !== true) throw notFound(table)
      sink.keepRows()
    }
  }
}

/** A missing row probably does not satisfy the rules, if there are any. */
const notFound = ({ granted }: Table): ServiceError => granted !== undefined && granted.rules.length > 0
  ? rowRefused()
  : keyChanged('/returning')

export const hasKey = (key: readonly Column[], values: readonly Value[]): Condition =>
  combine(
    'and',
    key.map((column, index) => ({ kind: 'compare', column, operator: '=', parameter: values[index] as Value }))
  )

export function * inSteps (key: readonly Column[], keys: ReadonlyArray<readonly Value[]>): Generator<Condition> {
  for (let from = 0; from < keys.length; from += STEP) {
    yield combine('or', keys.slice(from, from + STEP).map((values) => hasKey(key, values)))
  }
}

/**
 * Selects the row with the same unique key. Undefined if no such row can exist: NULL equals no value, and a row without
 * a value for an AUTO_INCREMENT column gets a new one. The database compares constant defaults whose exact value only
 * it knows.
 * @throws NOT_SUPPORTED if the database computes a column of the key
 */
export function conditionOf (
  key: readonly Column[],
  { columns, parameters }: Pick<PlannedRow, 'columns' | 'parameters'>
): Condition | undefined {
  const conditions: Condition[] = []
  for (const column of key) {
    const index = columns.indexOf(column)
    const parameter = index >= 0 ? boundValue(parameters[index]) : column.autoIncrement ? null : knownDefault(column)
    if (parameter === null) return undefined
    if (parameter === undefined && isComputed(column)) {
      throw unsupported('/onConflict/key', `the database computes "${column.name}": send a value`)
    }
    conditions.push(
      parameter === undefined
        ? { kind: 'default', column }
        : { kind: 'compare', column, operator: '=', parameter: storedKey(column, parameter) }
    )
  }
  return { kind: 'and', conditions }
}

/** Triggers may change or leave out what the update writes to the key. */
export const mayMoveKey = ({ table, assignments }: UpdatePlan, key: readonly Column[]): boolean =>
  factsOf(table).seesChanged && assignments.some(({ column }) => key.includes(column))

/**
 * Other rows already have one of the keys. If the write succeeds nevertheless, a trigger has changed the key, and the
 * row with that key is another one.
 */
export async function areTaken (runner: Runner, { table, key, keys, ownKeys = [] }: {
  readonly table: Table
  readonly key: readonly Column[]
  /** The write gives them to the rows. */
  readonly keys: ReadonlyArray<readonly Value[]>
  readonly ownKeys?: ReadonlyArray<readonly Value[]>
}): Promise<boolean> {
  const written = new Set(ownKeys.map(textOf))
  for (const condition of inSteps(key, keys)) {
    const found = await runner.keys({ table, columns: key, condition, limit: STEP })
    if (found.some((values) => !written.has(textOf(values)))) return true
  }
  return false
}

/** The values of the key in the rows, without rows that get a number from the database. */
export function givenKeys (key: readonly Column[], rows: readonly PlannedRow[]): Value[][] {
  const keys = rows.map((row) => key.map((column) => boundValue(givenValue(row, column))))
  return keys.filter((values): values is Value[] => !values.includes(null))
}

/** `path`: the field for which rows are found again; empty for the rules of the grant. */
export const keyChanged = (path: string): ServiceError =>
  unsupported(path, 'a row cannot be found after the write: a trigger has changed its key, or left it out')
