/**
 * The program that has a SQLite file open, in its own process: a statement of SQLite blocks its thread and cannot be
 * interrupted, but a process can be killed. session.ts starts it with the path of the file, and READS_ONLY if it must
 * not write.
 */
import { rmSync } from 'node:fs'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { BoundedMap } from '../../bounded-map.ts'
import { cannotOpen, encodingOf, type Encoding, identify, openFile, TextCheck } from './open-file.ts'
import type { DriverValue } from '../../types/column-type.ts'
import {
  FILE, READS_ONLY, SCHEMA_CHANGED, SCHEMA_VERSION, type Order, type ReadOrder, type Reply, type Row, type RowsOrder,
  type RunOrder, type TransactionOrder
} from './protocol.ts'

const MAX_PREPARED = 100

/** Approximate size of the texts and blobs of one reply, in bytes. A reply has at least one row, whatever its size. */
const BATCH = 65_536

/** The size of each value in addition to the bytes of a text or blob. */
const VALUE = 16

/** SQLITE_CONSTRAINT and SQLITE_CONSTRAINT_FOREIGNKEY (https://www.sqlite.org/rescode.html) */
const REFUSED = new Set<number | undefined>([19, 0]) // Node 22.13 reads the code too late
const BROKEN_KEY = 787
const NO_CHANGES = new Uint8Array(0)

/** A function of SQL that an upsert calls for the row that it has found, with its id (src/sql/compile-insert.ts). */
const EXISTS = 'row_query_exists'

/** SQLITE_READONLY_DBMOVED */
const MOVED = { errcode: 1032 }

/** One after the other, in the file that has the path when it is opened. */
class Connection {
  readonly #path: string
  readonly #file: string
  /** The file of WAL mode beside it, if there is one. */
  readonly #log: string | undefined
  readonly #database: DatabaseSync
  readonly #prepared = new BoundedMap<string, StatementSync>(MAX_PREPARED)
  /** A transaction order has begun a transaction. */
  #isOpen = false
  #rows: {
    readonly iterator: Iterator<object>
    /** The size that the next rows may have, in bytes. */
    room: number
    /** Undefined if rows are objects. */
    readonly check: TextCheck | undefined
  } | undefined

  #encoding: Encoding | undefined
  /** The argument of the last call of EXISTS, if the running statement has called it. */
  #existingId: DriverValue | null | undefined

  readonly isReadOnly: boolean

  /** @throws SqliteError if the file cannot be opened */
  constructor (path: string, readsOnly: boolean) {
    const file = identify(path)
    if (file === undefined) throw cannotOpen()
    const { database, isReadOnly } = openFile(path)
    if (readsOnly) database.exec('pragma query_only = on')
    this.#path = path
    this.#file = file
    this.#log = isReadOnly ? undefined : identify(`${path}-wal`)
    this.#database = database
    database.function(FILE, { directOnly: true }, () => file)
    this.isReadOnly = isReadOnly
    database.function(EXISTS, { directOnly: true, useBigIntArguments: true }, (id) => {
      this.#existingId = id as DriverValue | null
      return 1
    })
  }

  reply (order: Order): Reply {
    try {
      switch (order.kind) {
        case 'run': return this.#run(order)
        case 'transaction': return this.#begin(order)
        case 'checkKeys': return this.#checkKeys()
        case 'read': return this.#read(order)
        case 'script': return this.#script(order.sql)
        case 'more': return this.#more()
        case 'end': return this.#end()
      }
    } catch (error) {
      this.#end()
      if (!this.#isOpen) this.#rollBack()
      else if (!this.#isInTransaction()) {
        this.#isOpen = false
        Object.assign(error as Error, { isRolledBack: true })
      }
      return toReply(error)
    }
  }

  close (): void {
    this.#database.close()
  }

  /**
   * Whether another file has the path now, in which the order must run: none of a transaction or select that has begun.
   * @throws SqliteError if no file has the path, or when a transaction would end in a file that has lost it
   */
  isReplaced (order: Order): boolean {
    const isBusy = this.#isOpen || this.#rows !== undefined
    if (isBusy && !(order.kind === 'transaction' && order.sql === 'commit')) return false
    const file = identify(this.#path)
    if (file === this.#file) return false
    if (file === undefined) throw cannotOpen()
    if (isBusy) throw Object.assign(new Error('the file has been replaced'), MOVED)
    return true
  }

  /**
   * Closes a file whose path another one has. SQLite would apply the log that the file has left beside it to that one.
   * The lock keeps other processes of the service from creating the log of the new file meanwhile. @throws SqliteError
   */
  leave (): void {
    const isLogLeft = (): boolean => this.#log !== undefined && identify(`${this.#path}-wal`) === this.#log
    if (isLogLeft()) {
      this.#database.exec('pragma query_only = off; pragma wal_checkpoint; begin immediate')
      if (isLogLeft()) for (const suffix of ['-wal', '-shm']) rmSync(this.#path + suffix, { force: true })
    }
    this.close()
  }

  #run (order: RunOrder): Reply {
    if (order.begin === true) this.#prepare('begin immediate').run()
    this.#requireVersion(order.version)
    const reply = order.rows === undefined ? this.#runStatement(order) : this.#runRows(order, order.rows)
    if (order.begin === true) this.#isOpen = true
    return reply
  }

  /** @throws the error of a statement whose schema has changed */
  #requireVersion (planned: string | undefined): void {
    if (planned === undefined) return
    if ((this.#prepare(SCHEMA_VERSION).get() as { version: string }).version === planned) return
    throw Object.assign(new Error('database schema has changed'), { errcode: SCHEMA_CHANGED })
  }

  #runStatement ({ sql, parameters }: RunOrder): Reply {
    const { changes, lastInsertRowid } = this.#execute(sql, parameters)
    return { changes: Number(changes), insertId: String(lastInsertRowid) }
  }

  #execute (sql: string, parameters: readonly unknown[]): ReturnType<StatementSync['run']> {
    const statement = this.#prepare(sql)
    statement.setReadBigInts(true)
    return statement.run(...parameters as SQLInputValue[])
  }

  #runRows ({ sql, parameters }: RunOrder, { count, cells, isIdle }: RowsOrder): Reply {
    const shared = parameters.slice(count * cells)
    let [changes, duplicates] = [0, 0]
    let insertId: string | undefined
    const untouched: number[] = []
    this.#prepare('savepoint list').run()
    for (let row = 0; row < count; row++) {
      this.#existingId = undefined
      try {
        if (isIdle) this.#prepare('savepoint row').run()
        const result = this.#execute(sql, [...parameters.slice(row * cells, (row + 1) * cells), ...shared])
        const isUntouched = result.changes !== 1n
        if (isIdle) isUntouched ? this.#undo('row') : this.#prepare('release row').run()
        if (isUntouched) untouched.push(row)
        else if (this.#existingId !== undefined) {
          changes += 2
          duplicates++
        } else {
          changes++
          if (row === 0) insertId = String(result.lastInsertRowid)
        }
      } catch (error) {
        this.#undo('list')
        throw Object.assign(error as Error, { row })
      }
    }
    this.#prepare('release list').run()
    return {
      changes,
      duplicates,
      untouched,
      ...(insertId !== undefined && { insertId }),
      ...(this.#existingId !== undefined && { existingId: this.#existingId })
    }
  }

  #undo (savepoint: 'list' | 'row'): void {
    try {
      this.#database.exec(`rollback to ${savepoint}; release ${savepoint}`)
    } catch { /* the error has ended the transaction */ }
  }

  #begin ({ sql }: TransactionOrder): Reply {
    const begins = sql.startsWith('begin')
    if (begins) this.#isOpen = false
    this.#prepare(sql).run()
    this.#isOpen = begins
    return {}
  }

  /**
   * Applies an empty changeset, to which SQLite reports whether a key of the open transaction is broken
   * (SQLITE_CHANGESET_FOREIGN_KEY in https://www.sqlite.org/session/c_changeset_abort.html). By default Node answers
   * "abort"; after "omit", COMMIT would accept the key.
   */
  #checkKeys (): Reply {
    try {
      this.#database.applyChangeset(NO_CHANGES)
      return {}
    } catch (error) {
      throw REFUSED.has((error as { errcode?: number }).errcode)
        ? Object.assign(error as Error, { errcode: BROKEN_KEY })
        : error
    }
  }

  #read ({ sql, parameters, limit, named = false, describes, version }: ReadOrder): Reply {
    this.#requireVersion(version)
    const statement = this.#prepare(sql)
    if (describes === true) return { rows: (statement.columns?.() ?? []) as object[] as Row[] }
    statement.setReadBigInts(!named)
    const values = parameters as SQLInputValue[]
    const check = named
      ? undefined
      : new TextCheck(this.#database, (this.#encoding ??= encodingOf(this.#database)), { sql, parameters: values })
    this.#rows = { iterator: statement.iterate(...values), room: limit, check }
    return this.#more()
  }

  #script (sql: string): Reply {
    this.#database.exec(sql)
    return {}
  }

  #more (): Reply {
    const source = this.#rows
    const rows: Row[] = []
    if (source === undefined) return { rows, more: false }
    let size = 0
    while (size < BATCH) {
      const { value, done = false } = source.iterator.next()
      if (done) {
        source.check?.end()
        this.#rows = undefined
        return { rows, more: false }
      }
      // Node 22.13 can only return objects. Their keys keep the order of the columns, because the query names them v0,
      // v1, …
      const values = source.check?.check(value as object) ?? Object.values(value as object) as Row
      const bytes = bytesOf(values)
      source.room -= bytes
      if (source.room < 0) return { ...this.#end(), tooLarge: true }
      size += bytes + values.length * VALUE
      rows.push(source.check === undefined ? value : values)
    }
    return { rows, more: true }
  }

  #end (): Reply {
    this.#rows?.check?.end()
    this.#rows?.iterator.return?.()
    this.#rows = undefined
    return {}
  }

  /** An error or trigger may have ended it, for which Node 22.13 cannot ask SQLite. */
  #isInTransaction (): boolean {
    try {
      this.#database.exec('begin')
    } catch {
      return true
    }
    this.#rollBack()
    return false
  }

  /** Rolls back after a failed statement, unless SQLite has already ended the transaction. */
  #rollBack (): void {
    try {
      this.#database.exec('rollback')
    } catch { /* there is no transaction */ }
  }

  /** Drops the least recently used one if there are too many. */
  #prepare (sql: string): StatementSync {
    const statement = this.#prepared.get(sql) ?? this.#database.prepare(sql)
    this.#prepared.set(sql, statement)
    return statement
  }
}

/** Their minimum in the response: each character has at least one byte. */
function bytesOf (values: Row): number {
  let bytes = 0
  for (const value of values) if (typeof value === 'string' || value instanceof Uint8Array) bytes += value.length
  return bytes
}

function toReply (error: unknown): Reply {
  const { errcode, errstr, isRolledBack, row } = error as Omit<NonNullable<Reply['error']>, 'thrown'>
  return { error: { thrown: error as Error, errcode, errstr, isRolledBack, row } }
}

/** They also reach the service, which decides when this process ends. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The service may have been killed, which `disconnect` reports. */
const reply = (message: Reply): void => { process.send?.(message, () => {}) }

for (const signal of SIGNALS) process.on(signal, () => {})
try {
  const [, , path, use] = process.argv
  const open = (): Connection => new Connection(path as string, use === READS_ONLY)
  let connection: Connection | undefined = open()
  reply({ isReadOnly: connection.isReadOnly })
  const execute = (order: Order): Reply => {
    try {
      if (connection?.isReplaced(order) === true) {
        connection.leave()
        connection = undefined
      }
      connection ??= open()
    } catch (error) {
      return toReply(error)
    }
    return connection.reply(order)
  }
  process.on('message', (order: Order) => reply(execute(order)))
  process.on('disconnect', () => connection?.close())
} catch (error) {
  reply(toReply(error))
}
