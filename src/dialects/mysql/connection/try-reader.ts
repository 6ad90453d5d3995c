/**
 * row-command.ts leans on the inside of mysql2, which may change with any version of it. So it is tried before it is used, once in a process:
 * the same statements go through mysql2's public ways and through it. Where it gives something else, or does not answer in time, rows are
 * read by plain-command.ts.
 */
import type { Connection } from 'mysql2'
import type { Column } from '../../../catalog/catalog.ts'
import { RowWriter } from '../../../response/sink.ts'
import { textType } from '../../../types/text.ts'
import { valueClass } from '../../../types/value-classes.ts'
import { readDefinition } from './definitions.ts'
import type { MysqlError } from '../errors.ts'
import { sendPlainCommand } from './plain-command.ts'
import { createCommandSender, queryClass, type SendCommand } from './row-command.ts'
import { within } from './session.ts'

/** How long the reader may take for the statements, in milliseconds. */
const PATIENCE = 2000
const ENOUGH = 1_000_000

/** Cells that are NULL, empty, quoted, and longer than one read; no rows; an answer that has none; an error; and that it goes on after each. */
const STATEMENTS = [
  'select /* trial */ 1 as v0, null as v1, \'\' as v2, \'a "quoted" \\u0127 ħ\' as v3, repeat(\'x\', 300) as v4 union all select 18446744073709551615, \'b\', repeat(\'y\', 70000), \'\', null',
  'select /* trial */ 1 as v0, 2 as v1, 3 as v2, 4 as v3, 5 as v4 from (select 1) as one where 1 = 0',
  'do /* trial */ 0',
  'select /* trial */ 1 as v0 from (select 1 union all select 2) as two where (select 1 union all select 2) = 1',
  'select /* trial */ \'at\' as v0, \'the\' as v1, \'end\' as v2, 1.5 as v3, null as v4'
]

/** As many as the statements have. */
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
  /** Why it is not the reader of bytes; undefined where it is. */
  readonly reason?: string
  /** Whether the connection may have an answer under way. */
  readonly isSpoilt: boolean
}

/** Tries it on a connection. @throws the driver's error where the public ways fail as well */
export async function tryReader (connection: Connection): Promise<Trial> {
  const expected = await readAll(connection, sendPlainCommand)
  const send = createCommandSender(connection)
  if (send === undefined) return { send: sendPlainCommand, reason: 'mysql2 lacks methods', isSpoilt: false }
  const found = await within(PATIENCE, readAll(connection, send)).catch((error: MysqlError) => error)
  if (found === expected) return { send, isSpoilt: false }
  return { send: sendPlainCommand, reason: found instanceof Error ? 'it does not answer' : 'it reads something else', isSpoilt: true }
}

async function readAll (connection: Connection, send: SendCommand): Promise<string> {
  const answers = []
  for (const sql of STATEMENTS) answers.push(await read(connection, send, sql))
  return JSON.stringify(answers)
}

/** What a statement gives: its classes of values and its rows, the number of its changes, or the number of its error. */
function read (connection: Connection, send: SendCommand, sql: string): Promise<unknown> {
  const writer = new RowWriter(columns, ENOUGH)
  const classes: string[] = []
  const definitions = {
    columns,
    isExpected: (_index: number, definition: Parameters<typeof valueClass>[0]) => classes.push(valueClass(definition)) > 0,
    isExpectedIn: (_index: number, bytes: Buffer, from: number, end: number) => classes.push(valueClass(readDefinition(bytes, from, end))) > 0
  }
  return new Promise((resolve, reject) => send(connection, {
    sql,
    writer,
    definitions,
    listener: {
      stop () {},
      fail: reject,
      done (error, header) {
        if (error === null) return resolve(classes.length === 0 ? header?.affectedRows : [classes, writer.finish()])
        if (error.sqlState === undefined) return reject(error)
        resolve(error.errno)
      }
    }
  }))
}

/** By mysql2's class of queries, which is one in a process. */
const trials = new WeakMap<object, Promise<Trial>>()
const NO_CLASS = {}

/** The trial of this process, begun by `begin` if there was none; one that could not be done is begun anew by the next. */
export function trialOf (begin: () => Promise<Trial>): Promise<Trial> {
  const key = queryClass() ?? NO_CLASS
  const known = trials.get(key)
  if (known !== undefined) return known
  const trial = begin()
  trials.set(key, trial)
  trial.catch(() => trials.delete(key))
  return trial
}
