import type { Column, Table } from '../catalog/catalog.ts'
import type { Engine } from '../catalog/traits.ts'
import type { Database } from '../databases/database.ts'
import type { Executor, StatementResult, RowSink } from '../dialects/dialect.ts'
import { resultTooLarge, unsupported } from '../errors.ts'
import { parseExactJson } from '../json/exact-json.ts'
import type { Condition, CountPlan, SelectPlan } from '../plan/plan.ts'
import { ResponseSink } from '../response/response-sink.ts'
import { CountSink, RowCounter, ValueSink } from '../response/response-sink.ts'
import { type CompiledPlan, compileStatement } from '../sql/compile.ts'
import { compileInsert } from '../sql/compile-insert.ts'
import { compileRowsOfValues, type RowsOfValues } from '../sql/compile-rows-of-values.ts'
import type { RowBatch } from '../sql/row-batches.ts'
import type { Statement } from '../sql/statement.ts'
import type { DriverValue, Value } from '../types/column-type.ts'

/** Maximum size of the keys of a write, in bytes: enough for a thousand keys of the size that an index allows. */
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
   * Keeps the values as they are, because a value that a select returns finds its row as a parameter. @throws
   * NOT_SUPPORTED for NULL, which identifies no row
   */
  override row (values: ReadonlyArray<DriverValue | null>): undefined {
    super.row(values)
    this.keys.push(this.#columns.map((column, index) => readKey(column, values[index] as DriverValue | null)))
  }

  override overflow (): void {
    throw resultTooLarge(`the keys of the rows are larger than ${MAX_BYTES} bytes`)
  }
}

function readKey ({ type }: Column, value: DriverValue | null): Value {
  const { read, write } = type.positions ?? type
  try {
    if (value !== null) return read(parseExactJson(write(value)))
  } catch { /* the value cannot be read */ }
  throw unsupported('/returning', 'a row has no key that identifies it')
}

/** Rows to look up. */
export type Lookup = Pick<SelectPlan, 'table' | 'columns' | 'condition' | 'limit' | 'lock' | 'sequence' | 'members'>

/**
 * Runs statements in one session of a database: those of plans, and the look-ups of their execution. Each method throws
 * the errors of the session.
 */
export class Runner {
  readonly database: Database
  readonly #run: Executor['run']

  constructor (run: Executor['run'], database: Database) {
    this.#run = run
    this.database = database
  }

  get engine (): Engine {
    return this.database.dialect.engine
  }

  /** Runs the statement of a plan. `sink`: for a select. @throws the refusal of the sink of an answer */
  run (plan: CompiledPlan, sink?: RowSink): Promise<StatementResult> {
    const running = this.#run(compileStatement(plan, this.engine, this.database.statementCounts), sink)
    return sink instanceof ResponseSink ? running.then((outcome) => requireRoom(sink, outcome)) : running
  }

  /** Runs the statement of a batch of rows. */
  insert (batch: RowBatch): Promise<StatementResult> {
    return this.#run(compileInsert(batch, this.engine, this.database.statementCounts))
  }

  /** Updates rows with values of their own. */
  updateRows (rows: RowsOfValues): Promise<StatementResult> {
    return this.#run(compileRowsOfValues(rows, this.engine, this.database.statementCounts))
  }

  /** Reads rows into a sink. @throws as `run` */
  async select (lookup: Lookup, sink: RowSink): Promise<void> {
    await this.run({ verb: 'select', order: [], ...lookup }, sink)
  }

  /**
   * Counts the rows that a condition selects, up to a limit, and locks them if requested. Returns the number as digits.
   */
  async count (table: Table, condition: Condition, limit?: number, lock?: CountPlan['lock']): Promise<string> {
    const sink = new CountSink()
    await this.run({ verb: 'count', table, condition, limit, ...(lock !== undefined && { lock }) }, sink)
    return sink.digits
  }

  /** Reads rows, which it can lock, and returns their number. */
  async countRead (lookup: Lookup): Promise<number> {
    const sink = new RowCounter()
    await this.select(lookup, sink)
    return sink.count
  }

  async exists (lookup: Omit<Lookup, 'limit'>): Promise<boolean> {
    return (await this.countRead({ ...lookup, limit: 1 })) > 0
  }

  /** Reads the values of keys. @throws NOT_SUPPORTED for NULL */
  async keys ({ columns, ...lookup }: Lookup): Promise<KeyList['keys']> {
    const list = new KeyList(columns)
    await this.select({ columns, ...lookup }, list)
    return list.keys
  }

  /** Runs a statement that reads rows. */
  read (statement: Statement, sink: RowSink): Promise<StatementResult> {
    return this.#run(statement, sink)
  }

  /** Reads the one number that a statement selects, as digits. */
  async number (statement: Statement): Promise<string> {
    const sink = new CountSink()
    await this.#run(statement, sink)
    return sink.digits
  }

  /** Reads and locks one value, as JSON; undefined if no row is found. @throws UNREADABLE_VALUE */
  async value ({
    column,
    ...lookup
  }: Pick<Lookup, 'table' | 'condition'> & { readonly column: Column }): Promise<string | undefined> {
    const sink = new ValueSink(column, this.database.resultLimit)
    await this.select({ ...lookup, columns: [column], limit: 1, lock: 'share' }, sink)
    return sink.json
  }
}

function requireRoom ({ refusal }: ResponseSink, outcome: StatementResult): StatementResult {
  if (refusal !== undefined) throw refusal
  return outcome
}
