/**
 * Tests statement-command.ts once per process before it is used, because it relies on private parts of mysql2, which
 * any version may change. The same statements run by mysql2's public interface and by statement-command.ts. If the
 * results differ, or none arrives in time, the public interface reads the rows.
 */
import mysql, { type Connection, type FieldPacket, type QueryError, type ResultSetHeader } from 'mysql2'
import type { Column } from '../../../catalog/catalog.ts'
import { textType } from '../../../types/text.ts'
import { type ColumnDefinition, valueClass } from '../../../types/value-classes.ts'
import { StaleCatalog } from '../../dialect.ts'
import type { MysqlError } from '../errors.ts'
import { AS_BYTES } from '../options.ts'
import { readDefinition } from './definitions.ts'
import { copyValues, toOkPacket } from './packets.ts'
import { within } from './session.ts'
import { type CommandOptions, type CommandSink, createCommandSender, type SendCommand } from './statement-command.ts'

// Does the work of statement-command.ts by mysql2's public interface, with rows as arrays of bytes.

export const sendPlainCommand: SendCommand = (connection, options) => {
  const { sql, listener, isPausable = false } = options
  const reader = new PlainReader(options)
  if (!isPausable) {
    connection.query({ sql, ...AS_BYTES }, (error, answer, fields) => {
      if (error !== null) return listener.done(error)
      if (!Array.isArray(answer)) return listener.done(null, toOkPacket(answer as ResultSetHeader))
      reader.begin(fields)
      reader.takeAll(answer as unknown as Buffer[][]).then(() => listener.done(null))
    })
    return
  }
  // reads row by row, so that the connection can be paused between rows; mysql2 then reports a lost connection only to
  // the connection
  let hasEnded = false
  const end = (error: QueryError | null): void => {
    connection.off('error', end)
    if (!hasEnded) listener.done(error)
    hasEnded = true
  }
  connection.on('error', end)
  connection.query({ sql, ...AS_BYTES })
    .on('fields', (fields: FieldPacket[]) => reader.begin(fields))
    .on('result', (row: unknown) => {
      const taking = reader.take(row as Buffer[])
      if (taking !== undefined) listener.wait(taking)
    })
    .on('error', end)
    .on('end', () => end(null))
}

/** Passes rows on until the sink is full or has failed. */
class PlainReader {
  readonly #options: CommandOptions
  #isOver = false

  constructor (options: CommandOptions) {
    this.#options = options
  }

  begin (fields: readonly FieldPacket[] | undefined): void {
    const { definitions, sink } = this.#options
    if (definitions === undefined) return
    this.#try(() => {
      if (fields?.every((field, index) => definitions.isExpected(index, toDefinition(field))) === false) {
        throw new StaleCatalog()
      }
      sink?.begin(definitions.columns)
    })
  }

  /** Takes rows until no more are taken. */
  async takeAll (rows: readonly Buffer[][]): Promise<void> {
    for (const row of rows) {
      await this.take(row)
      if (this.#isOver) return
    }
  }

  /** Takes a row. Returns a promise, which does not reject, if that is done between turns of the event loop. */
  take (row: Buffer[]): Promise<void> | undefined {
    if (this.#isOver) return undefined
    const taking = this.#try(() => this.#options.sink?.row(row))
    if (taking !== undefined) return taking.then(() => this.#stopIfFull(), (reason) => this.#fail(reason))
    this.#stopIfFull()
    return undefined
  }

  #stopIfFull (): void {
    const { sink, listener } = this.#options
    if (this.#isOver || sink?.full !== true) return
    this.#isOver = true
    listener.stop()
  }

  #try<T> (work: () => T): T | undefined {
    try {
      return work()
    } catch (reason) {
      this.#fail(reason)
      return undefined
    }
  }

  #fail (reason: unknown): void {
    this.#isOver = true
    this.#options.listener.fail(reason)
  }
}

/** Converts what mysql2 has parsed. */
function toDefinition (field: FieldPacket): ColumnDefinition {
  const {
    columnType = 0,
    characterSet = 0,
    flags,
    columnLength = 0,
    extendedTypeName = '',
    extendedFormat = ''
  } = field
  return {
    type: columnType,
    charset: characterSet,
    flags: flags as number,
    length: columnLength,
    extendedType: extendedTypeName,
    format: extendedFormat
  }
}

/** Time limit of the reader for all statements, in milliseconds. */
const PATIENCE = 2000

/**
 * Statements for: cells that are NULL, empty, quoted, and longer than one read; no rows; answers without rows, with a
 * warning and with a changed variable; an error; and a statement after each of them.
 */
const STATEMENTS = [
  "select /* trial */ 1 as v0, null as v1, '' as v2, 'a \"quoted\" \\u0127 ħ' as v3, repeat('x', 300) as v4 union " +
  "all select 18446744073709551615, 'b', repeat('y', 70000), '', null",
  'select /* trial */ 1 as v0, 2 as v1, 3 as v2, 4 as v3, 5 as v4 from (select 1) as one where 1 = 0',
  "do /* trial */ cast('x' as signed)",
  'set /* trial */ time_zone = @@time_zone',
  'select /* trial */ 1 as v0 from (select 1 union all select 2) as two where (select 1 union all select 2) = 1',
  "select /* trial */ 'at' as v0, 'the' as v1, 'end' as v2, 1.5 as v3, null as v4"
]

/** As many columns as the statements have. */
const columns = Array.from({ length: 5 }, (_, index): Column => ({
  name: `c${index}`,
  type: textType({ characters: null, bytes: null }),
  declaration: 'text',
  nullable: true,
  generated: false,
  autoIncrement: false,
  optional: true,
  defaultText: null,
  comment: ''
}))

export interface Trial {
  readonly send: SendCommand
  /** The reason why rows are not read as bytes; undefined if they are. */
  readonly reason?: string
  /** Whether an answer may still arrive on the connection. */
  readonly isSpoilt: boolean
}

/** Tries the reader on a connection. @throws the driver's error if the public interface fails as well */
export async function tryReader (connection: Connection): Promise<Trial> {
  const expected = await readAll(connection, sendPlainCommand)
  const send = createCommandSender(connection)
  if (send === undefined) return { send: sendPlainCommand, reason: 'mysql2 lacks methods', isSpoilt: false }
  const found = await within(PATIENCE, readAll(connection, send)).catch((error: MysqlError) => error)
  if (found === expected) return { send, isSpoilt: false }
  return {
    send: sendPlainCommand,
    reason: found instanceof Error ? 'it does not answer' : 'it reads something else',
    isSpoilt: true
  }
}

/** A sink that collects the texts of the cells. */
function collect (rows: Array<Array<string | null>>): CommandSink {
  return {
    full: false,
    begin () {},
    textRow (bytes, from, to) { this.row(copyValues(bytes, from, to)) },
    row (values) { rows.push(values.map((value) => value === null ? null : String(value))) }
  }
}

async function readAll (connection: Connection, send: SendCommand): Promise<string> {
  const answers = []
  for (const sql of STATEMENTS) answers.push(await read(connection, send, sql))
  return JSON.stringify(answers)
}

/** The result of a statement: its value classes and rows, its OK packet, or the number of its error. */
function read (connection: Connection, send: SendCommand, sql: string): Promise<unknown> {
  const rows: Array<Array<string | null>> = []
  const classes: string[] = []
  const definitions = {
    columns,
    isExpected: (_index: number, definition: Parameters<typeof valueClass>[0]) =>
      classes.push(valueClass(definition)) > 0,
    isExpectedIn: (_index: number, bytes: Buffer, from: number, end: number) =>
      classes.push(valueClass(readDefinition(bytes, from, end))) > 0
  }
  return new Promise((resolve, reject) => send(connection, {
    sql,
    sink: collect(rows),
    definitions,
    listener: {
      stop () {},
      wait () {},
      fail: reject,
      done (error, ok) {
        if (error === null) return resolve(classes.length === 0 ? ok : [classes, rows])
        if (error.sqlState === undefined) return reject(error)
        resolve(error.errno)
      }
    }
  }))
}

/** Trials by mysql2's method that takes commands, of which a process has one. */
const trials = new WeakMap<object, Promise<Trial>>()
const NO_METHOD = {}

/**
 * The trial of this process, started by `begin` if there was none. A trial that failed is started again by the next
 * call.
 */
export function trialOf (begin: () => Promise<Trial>): Promise<Trial> {
  const { addCommand: key = NO_METHOD } = mysql.Connection.prototype as { addCommand?: object }
  const known = trials.get(key)
  if (known !== undefined) return known
  const trial = begin()
  trials.set(key, trial)
  trial.catch(() => trials.delete(key))
  return trial
}
