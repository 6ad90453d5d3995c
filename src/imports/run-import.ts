/**
 * Each batch is planned and executed like the body of an insert; one transaction contains all of them, or one each. A
 * transaction, because a deadlock then runs the batch again, and because only a connection that is lost during COMMIT
 * leaves open what has happened.
 */
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { InsertBody, OnConflict } from '../../schemas/body.ts'
import { nameTables } from '../access/violated-keys.ts'
import type { Access } from '../access/authorize.ts'
import { principalOf } from '../access/grant.ts'
import type { Column, Table } from '../catalog/catalog.ts'
import { TRAITS } from '../catalog/traits.ts'
import { toStale, withFreshCatalog } from '../databases/stale-catalog.ts'
import type { Client, Transaction, TransactionOptions } from '../dialects/dialect.ts'
import {
  bodyTooLarge, type Committed, databaseUnavailable, deadlock, isServiceError, queryTimeout, requestTimeout, toWritable,
  type ServiceError, statementTooLarge, unsupported, withDetails, at, invalidBody, didYouMean
} from '../errors.ts'
import { type Keyed, transactOnce } from '../idempotency/run-once.ts'
import { findBySteps, stepsOf } from '../json/plain-values.ts'
import { authorizeAndPlan } from '../pipeline.ts'
import type { Plan } from '../plan/plan.ts'
import type { RequestLimits } from '../plan/limits.ts'
import { requireUndoable, mayMoveNew } from '../plan/write-options.ts'
import type { StreamFormat } from '../response/csv-ndjson-rows.ts'
import { finishWrite } from '../response/result.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { respondIn } from '../verbs/execute.ts'
import { createPlan, createPlanOfRows, refuseView } from '../verbs/index.ts'
import { type Batch, BatchReader, MAX_BYTES } from './batch-reader.ts'
import { type CsvCells, CsvParser, findColumns, readCells, SEPARATORS } from './csv-parser.ts'
import { NdjsonParser, atLine } from './row-parser.ts'

export interface ImportRequest extends Keyed {
  readonly access: Access
  readonly options: ImportOptions
  readonly limits: RequestLimits
  /** How long to wait for bytes, in milliseconds; only the time limit of the import applies if omitted. */
  readonly bodyTimeout?: number
  /** The line of the first row that is written; 1 if omitted. */
  readonly fromLine?: number
  readonly client?: Client | undefined
  readonly record?: RequestRecord | null | undefined
  /** The open transaction of the app in which the whole runs. */
  readonly within?: Transaction
  /** The hook for writes runs the import itself, and is not called. */
  readonly isOfHook?: boolean
}

interface Counts { inserted: number, updated: number, unchanged: number }

/** The longest delay of a timer, in milliseconds. */
const NEVER = 2 ** 31 - 1

/** How long an import in one transaction on SQLite may wait for its client in all, because other writes wait, too. */
const PATIENCE = 5000

/** Checked as far as it can be without its rows. */
export class Import {
  readonly #request: ImportRequest
  /** The table as the grant sees it. */
  readonly #table: Table
  readonly #parser: CsvParser | NdjsonParser
  #reader: BatchReader | undefined
  #counts: Counts = { inserted: 0, updated: 0, unchanged: 0 }
  /** Written, and the line in which they end. */
  #rows = 0
  #line = 0
  #patience = PATIENCE
  #failure: unknown
  /** Looks whether the table has got the columns of the header. Resolves with the error if it has not. */
  #header: Promise<unknown> | undefined
  /** When the time limit of the whole ends, as `performance.now()`. */
  #deadline = Infinity

  /** @throws PERMISSION_DENIED, TABLE_NOT_FOUND, NOT_SUPPORTED */
  static async begin (request: ImportRequest): Promise<Import> {
    const { access, access: { database }, options, limits, record } = request
    const body = bodyOf([], options.onConflict)
    const table = await authorizeAndPlan(access, { body, limits }, ({ table }) => {
      record?.begin(table)
      refuseView('insert', table)
      if (options.transaction === 'whole') requireUndoable(table, '')
      return table
    })
    if (database.onWrite !== undefined && request.isOfHook !== true) {
      throw unsupported('', 'the app checks each write by a hook, which an import does not call')
    }
    return new Import(request, table)
  }

  private constructor (request: ImportRequest, table: Table) {
    this.#request = request
    this.#table = table
    const { format, separator } = request.options
    const parser = this.#parser = format === 'csv' ? new CsvParser(separator) : new NdjsonParser()
    if (parser instanceof CsvParser) parser.onNames = () => { this.#checkHeader(parser) }
  }

  /** Before the first batch is complete. Waits only if the table as it was refuses the header. */
  #checkHeader (parser: CsvParser): void {
    try {
      this.#columnsOf(this.#table, parser)
    } catch {
      this.#header = this.#planNoRows().catch((refusal: unknown) => {
        this.fail(refusal)
        return refusal
      })
    }
  }

  /** What is wrong in the header or the options is refused as it is with rows. @throws ServiceError */
  async #planNoRows (): Promise<void> {
    const lines = this.#parser instanceof CsvParser ? [this.#parser.headerLine] : []
    await this.#plan({ rows: [], lines, first: 0, lastLine: 0, size: 0 })
  }

  get bytes (): number {
    return this.#reader?.bytes ?? 0
  }

  /** Written and, with a transaction for each batch, committed. */
  get committed (): Committed {
    return { rows: this.#rows, line: this.#line }
  }

  /** Ends the import after its running statement. */
  fail (error: unknown): void {
    this.#failure ??= error
    this.#reader?.fail(error)
  }

  /** For the reader of the stream, when bytes have arrived that are not decompressed yet. */
  noteProgress (): void {
    this.#reader?.noteProgress()
  }

  /** Returns the body of the response. @throws ServiceError, with `committed` if batches are committed one by one */
  async run (stream: () => Readable): Promise<string | Buffer> {
    const { access: { database: { streams, running }, grant } } = this.#request
    streams.add(this, principalOf(grant), 'imports')
    const whole = this.#run(stream)
    running.add(whole)
    try {
      return await whole
    } finally {
      running.delete(whole)
      streams.remove(this)
    }
  }

  async #run (stream: () => Readable): Promise<string | Buffer> {
    const { access: { database }, options, limits, bodyTimeout = NEVER, fromLine = 1, record } = this.#request
    const timer = setTimeout(() => this.fail(queryTimeout()), database.importTimeout)
    this.#deadline = performance.now() + database.importTimeout
    try {
      const reader = new BatchReader<unknown>(stream(), this.#parser, {
        rowSize: limits.importRow,
        rows: limits.importRows ?? Infinity,
        timeout: bodyTimeout,
        fromLine
      })
      this.#reader = reader
      if (this.#failure !== undefined) reader.fail(this.#failure)
      record?.planned()
      record?.compiled()
      const response = await (options.transaction === 'whole'
        ? this.#runWhole(reader)
        : this.#runBatches(reader))
      record?.executed(this.#counts.inserted + this.#counts.updated)
      return response
    } catch (refusal) {
      this.#reader?.fail(refusal)
      // rather than what is wrong in the rows below it
      const error = await this.#header ?? refusal
      if (record != null && options.transaction === 'batch') record.rows = this.#rows
      throw options.transaction === 'whole' || !isServiceError(error) ? error : this.#withCommitted(error)
    } finally {
      clearTimeout(timer)
    }
  }

  async #runWhole (reader: BatchReader): Promise<string | Buffer> {
    const { access: { database, grant, tableName: path }, options, key, onReplay, record, within } = this.#request
    const hash = createHash('sha256')
    if (key !== undefined) reader.onBytes = (bytes) => { hash.update(bytes) }
    const batches = new Batches(reader)
    // nothing is locked while the client has not sent anything
    await batches.current
    const work = async (tx: Transaction): Promise<string | Buffer> => {
      record?.attempted(tx.attempt)
      // the rows of earlier batches are gone
      if (this.#rows > 0) throw tx.attempt > 1 ? deadlock() : databaseUnavailable()
      for (;;) {
        const batch = await this.#take(batches)
        if (batch === undefined) return await this.#respond()
        this.#note(batch, await this.#writeIn(tx, batch, await this.#plan(batch)))
        batches.advance()
      }
    }
    if (within !== undefined) return await work(within)
    const complete = async (): Promise<void> => {
      while (await this.#take(batches) !== undefined) batches.advance()
    }
    return await withFreshCatalog(database, () => transactOnce({
      grant,
      database,
      path,
      tables: [this.#table],
      key,
      onReplay,
      reading: { bodyHash: () => JSON.stringify([options, hash.copy().digest('hex')]), complete },
      transaction: this.#transaction
    }, work))
  }

  async #runBatches (reader: BatchReader): Promise<string | Buffer> {
    const { access: { database, grant }, record } = this.#request
    const batches = new Batches(reader)
    for (;;) {
      const batch = await this.#take(batches)
      if (batch === undefined) return await this.#respond()
      this.#note(batch, await withFreshCatalog(database, async () => {
        const plan = await this.#plan(batch)
        return await database.dialect.transaction(async (tx) => {
          record?.attempted(tx.attempt)
          return await this.#writeIn(tx, batch, plan)
        }, this.#transaction).catch((error: unknown) => { throw placed(nameTables(error, grant, database), batch) })
      }))
      batches.advance()
    }
  }

  /** The transaction has the rest of the time of the whole. */
  get #transaction (): TransactionOptions {
    const { options: { dryRun }, client } = this.#request
    const timeLimit = Math.max(1, this.#deadline - performance.now())
    const isolation = mayMoveNew(this.#table) ? 'repeatableRead' : 'readCommitted'
    return { readOnly: false, isolation, dryRun, client, timeLimit }
  }

  /** Plans a batch by the catalog as it is now. @throws ServiceError, with the places of the rows */
  async #plan (batch: Batch): Promise<Plan> {
    const { access, options: { onConflict, dryRun }, limits } = this.#request
    // parsing a long row has taken its time
    if (batch.size > MAX_BYTES) await setImmediate()
    const parser = this.#parser
    const isCsv = parser instanceof CsvParser
    const named = isCsv ? [Object.fromEntries(parser.names.map((name) => [name, null]))] : batch.rows as object[]
    const body = { ...bodyOf(named, onConflict), ...(dryRun && { dryRun }) } as InsertBody
    try {
      return await authorizeAndPlan(access, { body, limits }, (tables) => isCsv
        ? createPlanOfRows(readCells(batch.rows as CsvCells[], this.#columnsOf(tables.table, parser)), body, tables)
        : createPlan(body, tables, limits))
    } catch (error) {
      throw placed(isCsv ? inHeader(error) : showValue(error, batch), batch)
    }
  }

  /** @throws ServiceError, with the places of the rows; StaleAttempt */
  async #writeIn (tx: Transaction, batch: Batch, plan: Plan): Promise<string | Buffer> {
    const { access: { database, grant } } = this.#request
    try {
      return (await respondIn(tx, { plan, database, maxBytes: database.resultLimit })).response
    } catch (error) {
      throw toStale(placed(nameTables(error, grant, database), batch), plan)
    }
  }

  /** @throws the reason why the import ends */
  async #take (batches: Batches): Promise<Batch | undefined> {
    if (this.#failure !== undefined) throw this.#failure
    const { access: { database: { dialect } }, options } = this.#request
    if (!TRAITS[dialect.engine].hasOneWriter || options.transaction === 'batch') return await batches.current
    const since = performance.now()
    const timer = setTimeout(() => this.fail(requestTimeout()), this.#patience)
    try {
      return await batches.current
    } finally {
      clearTimeout(timer)
      this.#patience -= performance.now() - since
    }
  }

  /** The columns of the header. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE */
  #columnsOf (table: Table, { names, headerLine }: CsvParser): Column[] {
    try {
      return findColumns(table, names, this.#request.options.separator)
    } catch (error) {
      throw atLine(error as ServiceError, headerLine)
    }
  }

  #note ({ rows, lastLine }: Batch, response: string | Buffer): void {
    this.#rows += rows.length
    this.#line = lastLine
    const { data } = JSON.parse(response.toString()) as { readonly data: Partial<Counts> }
    for (const name of ['inserted', 'updated', 'unchanged'] as const) this.#counts[name] += data[name] ?? 0
  }

  async #respond (): Promise<string | Buffer> {
    if (this.#rows === 0) await this.#planNoRows()
    const { inserted, updated, unchanged } = this.#counts
    const members = `"inserted":${inserted},"updated":${updated},"unchanged":${unchanged}`
    return finishWrite(this.#request.options.dryRun ? { dryRun: true } : {}, members, undefined)
  }

  #withCommitted (reported: ServiceError): ServiceError {
    const { committed } = this
    const error = toWritable(reported)
    if (this.#rows > 0) {
      error.message = error.message.replace('nothing was changed', `no row after line ${this.#line} was changed`)
    }
    return Object.assign(error, { committed })
  }
}

/** One is written, while the one after it is read. */
class Batches {
  readonly #reader: BatchReader
  #current: Promise<Batch | undefined>
  #next: Promise<Batch | undefined> | undefined

  constructor (reader: BatchReader) {
    this.#reader = reader
    this.#current = reader.next()
    this.#prefetch()
  }

  get current (): Promise<Batch | undefined> {
    return this.#current
  }

  #prefetch (): void {
    const current = this.#current
    this.#next = current.then((batch) => batch === undefined ? undefined : this.#reader.next())
    // they are awaited later
    current.catch(() => {})
    this.#next.catch(() => {})
  }

  /** The current batch has been written. */
  advance (): void {
    this.#current = this.#next as Promise<Batch | undefined>
    this.#prefetch()
  }
}

const bodyOf = (data: readonly object[], onConflict: OnConflict | undefined): InsertBody =>
  ({ verb: 'insert', data, ...(onConflict !== undefined && { onConflict }) }) as InsertBody

const ROW = /^\/data\/(\d+)/

/** Adds the place of the batch to the details of an error about one of its rows. */
function placed (error: unknown, { lines, first }: Batch): unknown {
  // an error of the header has its line
  if (!isServiceError(error) || error.details.some(({ line }) => line !== undefined)) return error
  // rows whose statement is too large are written one by one
  const refusal = error.message === statementTooLarge().message ? bodyTooLarge() : error
  return withDetails(refusal, ...error.details.map(({ path, message }) => {
    const [start = '', index] = ROW.exec(path) ?? []
    if (index === undefined) return { path, message }
    const line = lines[Number(index)]
    return {
      path: `/data/${first + Number(index)}${path.slice(start.length)}`,
      message,
      ...(line !== undefined && { line })
    }
  }))
}

/** What a request calls "data" is the header of CSV. */
function inHeader (error: unknown): unknown {
  if (isServiceError(error)) error.message = error.message.replace('"data" is missing', 'The header is missing')
  return error
}

/** Characters of a value in a message. */
const SHOWN = 40

/** Adds the refused value of a row of NDJSON to the message. */
function showValue (error: unknown, { rows }: Batch): unknown {
  if (!isServiceError(error) || error.code !== 'INVALID_VALUE') return error
  const [{ path = '', message = '' } = {}] = error.details
  const value = findBySteps({ data: rows }, stepsOf(path))
  if (value === undefined) return error
  const text = JSON.stringify(value)
  error.message = `${message}; the value is ${text.slice(0, SHOWN).toWellFormed()}${text.length > SHOWN ? '…' : ''}`
  return at(path, error)
}

export interface ImportOptions {
  readonly format: StreamFormat
  readonly onConflict: OnConflict | undefined
  readonly dryRun: boolean
  /** One transaction contains all rows, or each batch has its own. */
  readonly transaction: 'whole' | 'batch'
  /** The character between two cells. */
  readonly separator: string
}

/** The options in the query string of an import: what a document says of each, and the texts that it may be. */
export const OPTIONS = {
  onConflict: { description: 'Columns of a unique key, separated by commas; rows that exist change.' },
  set: { description: 'Columns that are then updated; all others than the key if omitted.' },
  dryRun: { choices: new Map([['true', true]]), description: 'Nothing is changed.' },
  transaction: {
    choices: new Map([['whole', 'whole'], ['batch', 'batch']] as const),
    description: 'One transaction, or one for each batch.'
  },
  separator: { choices: SEPARATORS, description: 'Between the cells of CSV.' }
} as const

export const OPTION_NAMES = Object.keys(OPTIONS) as ReadonlyArray<keyof typeof OPTIONS>

const refuse = (name: string, message: string): ServiceError => at('', invalidBody(`The option "${name}" ${message}`))

/** Each option may appear once. @throws INVALID_BODY */
export function readImportOptions (format: StreamFormat, query: Iterable<readonly [string, string]>): ImportOptions {
  const names: readonly string[] = OPTION_NAMES.filter((name) => format === 'csv' || name !== 'separator')
  const texts = new Map<string, string>()
  for (const [name, value] of query) {
    if (!names.includes(name)) throw refuse(name, `is not one of ${names.join(', ')}${didYouMean(name, names)}`)
    if (texts.has(name)) throw refuse(name, 'appears twice')
    texts.set(name, value)
  }
  const choose = <T>(name: string, choices: ReadonlyMap<string, T>, otherwise: T): T => {
    const value = texts.get(name)
    if (value === undefined) return otherwise
    const chosen = choices.get(value)
    if (chosen === undefined) throw refuse(name, `must be one of ${[...choices.keys()].join(' ')}`)
    return chosen
  }
  const transaction = choose('transaction', OPTIONS.transaction.choices, 'whole')
  const dryRun = choose('dryRun', OPTIONS.dryRun.choices, false)
  if (dryRun && transaction === 'batch') throw refuse('dryRun', 'is not allowed with transaction=batch')
  return {
    format,
    onConflict: readConflict(texts),
    dryRun,
    transaction,
    separator: choose('separator', SEPARATORS, ',')
  }
}

function readConflict (parameters: ReadonlyMap<string, string>): OnConflict | undefined {
  const key = parameters.get('onConflict')
  const set = parameters.get('set')
  if (key === undefined) {
    if (set !== undefined) throw refuse('set', 'is only allowed with onConflict')
    return undefined
  }
  return {
    key: namesOf('onConflict', key),
    ...(set !== undefined && { set: set === '' ? [] : namesOf('set', set) })
  }
}

/** Separated by commas. @throws INVALID_BODY */
function namesOf (option: string, text: string): string[] {
  const names = text.split(',')
  if (names.includes('')) throw refuse(option, 'must name columns, separated by commas')
  if (new Set(names).size < names.length) throw refuse(option, 'names a column twice')
  return names
}
