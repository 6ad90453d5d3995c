/** The document of one database: one path for each table, with the schemas of its columns. */
import { createHash } from 'node:crypto'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import type { Column, Table } from '../catalog/catalog.ts'
import { resultTooLarge, type ServiceError } from '../errors.ts'
import { toTag } from '../http/query-method.ts'
import { allOf, inPieces, type LongWork } from '../in-pieces.ts'
import {
  type DocumentLimits, type DocumentSettings, type Subject, findRelatedTables, type VisibleTable, writableColumns
} from './visible.ts'
import {
  REFUSAL, refusalSchema, responseReferences, sharedResponses, createHead, createOperationsItem, createPathItem,
  securitySchemes
} from './operation.ts'
import { canInclude, requestSchemas, RESERVED, sharedSchemas } from './request-schemas.ts'
import { createFilterSchemas, filterKey, operatorSchemas, rowSchemas, sharedNames } from './table-schemas.ts'
import {
  createNames, membersOf, type Names, pascalCase, plainText, refTo, type Schema
} from './value-schema.ts'

// Example requests, which can be sent unchanged.

/** The most columns in the example of select. */
const MAX_COLUMNS = 6
const ROWS = 10

const build: Readonly<Record<Verb, (table: Table, columns: readonly Column[]) => object>> = {
  select: (table, columns) => ({
    columns: columns.slice(0, MAX_COLUMNS).map(({ name }) => name),
    ...orderOf(keyOf(table, columns)),
    limit: ROWS
  }),
  insert: (table) => ({ data: rowOf(toInsert(table)) }),
  update: (table, columns) => ({ data: rowOf(toUpdate(table)), filters: filterWithoutMatch(keyOf(table, columns)) }),
  delete: (table, columns) => ({ filters: filterWithoutMatch(keyOf(table, columns)) })
}

function requestExamples (table: Table, verbs: readonly Verb[]): Record<string, Schema> {
  const columns = [...table.columns.values()]
  return Object.fromEntries(
    verbs.map((verb) => [verb, { summary: verb, value: { verb, ...build[verb](table, columns) } }])
  )
}

const exampleOf = ({ type }: Column): unknown => (type.schema.examples as unknown[])[0]

const rowOf = (columns: readonly Column[]): object =>
  Object.fromEntries(columns.map((column) => [column.name, exampleOf(column)]))

/** The required columns; if there are none, one optional column. */
function toInsert (table: Table): Column[] {
  const writable = writableColumns(table, 'insert')
  const required = writable.filter(
    (column) => table.requiredColumns.includes(column) || table.granted?.required.has(column.name) === true
  )
  return required.length > 0 ? required : writable.filter(({ autoIncrement }) => !autoIncrement).slice(0, 1)
}

/** One column, preferably not part of a key. */
function toUpdate (table: Table): Column[] {
  const { primaryKey, foreignKeys } = table
  const keys = new Set([...primaryKey, ...foreignKeys.flatMap((key) => key.columns)])
  const writable = writableColumns(table, 'update')
  const notOfKey = writable.filter(({ name }) => !keys.has(name))
  return (notOfKey.length > 0 ? notOfKey : writable).slice(0, 1)
}

/** The column that identifies rows in examples: the first of the primary key, or the first that can be compared. */
function keyOf ({ primaryKey }: Table, columns: readonly Column[]): Column {
  return (
    columns.find(({ name }) => name === primaryKey[0]) ??
    columns.find(({ type }) => type.comparison !== 'none') ??
    (columns[0] as Column)
  )
}

function orderOf ({ name, type }: Column): object {
  if (!type.sortable) return {}
  return { orderBy: /^\w+$/.test(name) ? `${name} DESC` : [{ [name]: 'DESC' }] }
}

/** Filters that are unlikely to match a row, because users may send an example without reading it. */
function filterWithoutMatch (column: Column): object {
  const key = filterKey(column)
  if (column.type.comparison === 'none') return { [key]: null }
  return { [key]: membersOf(column.type.schema).some(({ type }) => type === 'integer') ? 0 : exampleOf(column) }
}

/** The suffixes of schema names. A table reserves all of them, whatever verbs the document has. */
const ENDINGS = [
  'Row', 'Column', 'Filters', 'Related', 'Counted', 'Position', 'Aggregate', 'Part', 'Insert', 'OnConflict', 'Update',
  'Entry', 'Request', 'Response', 'Member',
  ...['Select', 'Insert', 'Update', 'Delete'].flatMap((verb) =>
    ['Request', 'Response', 'Operation'].map((ending) => `${verb}${ending}`))
]

export interface DatabaseDocument {
  /** The name in paths. */
  readonly database: string
  readonly tables: readonly VisibleTable[]
  readonly settings: DocumentSettings
  /** The maximum size of the document, in bytes; without one, a document of any size is created. */
  readonly maxBytes?: number
}

/** Other requests run between parts of the document. @throws RESULT_TOO_LARGE */
export const createDatabaseDocument = (options: DatabaseDocument): Promise<DocumentText> =>
  inPieces(describeDatabase(options))

/** Creates the document for callers that cannot wait. @throws RESULT_TOO_LARGE */
export const createDatabaseDocumentNow = (options: DatabaseDocument): DocumentText => allOf(describeDatabase(options))

function * describeDatabase ({
  database,
  tables,
  settings,
  maxBytes = Infinity
}: DatabaseDocument): LongWork<DocumentText> {
  const names = createNames([REFUSAL, ...RESERVED, ...sharedNames(tables.map(({ table }) => table))])
  const filters = createFilterSchemas(settings.limits)
  const subjects = nameTables(tables, names, settings.limits)
  const [document, paths, components, schemas] = [new Members(), new Members(), new Members(), new Members()]
  yield document.add({ ...createHead(database, settings), tags: subjects.map(tagOf) })
  if (subjects.length > 0) paths.add({ [`/${encodeSegment(database)}`]: operationsPath(database, subjects) })
  let fitting = 0
  for (const subject of subjects) {
    yield paths.add(Object.fromEntries([pathOf(subject, database)]))
    const ofTable = { ...rowSchemas(subject, filters, names), ...requestSchemas(subject) }
    for (const [name, schema] of Object.entries(ofTable)) yield schemas.add({ [name]: schema })
    const bytes = document.bytes + paths.bytes + schemas.bytes
    if (bytes > maxBytes) throw documentTooLarge(subjects, fitting, maxBytes)
    if (bytes < maxBytes * OF_TABLES) fitting++
  }
  components.add({ securitySchemes, ...(subjects.length > 0 && { responses: sharedResponses(refTo(REFUSAL)) }) })
  const shared = subjects.length > 0 && {
    ...operatorSchemas(subjects),
    ...sharedSchemas(subjects, tablesByVerb(subjects), settings.limits),
    [REFUSAL]: refusalSchema
  }
  for (const [name, schema] of Object.entries({ ...filters.schemas, ...shared })) yield schemas.add({ [name]: schema })
  components.addObject('schemas', schemas)
  document.addObject('paths', paths)
  document.addObject('components', components)
  const written = yield * writeDocument(document)
  if (written.bytes.length > maxBytes) throw documentTooLarge(subjects, fitting, maxBytes)
  return written
}

/** The part of the largest document that its tables take, about; the rest is what all of them share. */
const OF_TABLES = 0.75

/** The most tables that a refusal names. */
const MAX_NAMED = 100

/** `fitting`: the number of tables that a document has room for. */
function documentTooLarge (subjects: readonly Subject[], fitting: number, maxBytes: number): ServiceError {
  const named = subjects.slice(0, Math.min(fitting, MAX_NAMED)).map(({ table: { name } }) => JSON.stringify(name))
  const more = fitting > MAX_NAMED ? ` and ${fitting - MAX_NAMED} others` : ''
  return resultTooLarge(
    `the document of ${subjects.length} tables would be larger than ${maxBytes} bytes; use a token with permissions ` +
    `on fewer tables: it has room for ${named.join(', ')}${more}`
  )
}

function nameTables (tables: readonly VisibleTable[], names: Names, limits: DocumentLimits): Subject[] {
  const visible = new Map(tables.map(({ table }) => [table.name, table]))
  const prefixes = new Map(tables.map(({ table }) => [table, names.take(pascalCase(table.name), ENDINGS)]))
  const related = findRelatedTables(tables)
  const hasMembers = canInclude(limits, tables)
  return tables.map(({ table, verbs }) => ({
    table,
    verbs,
    limits,
    name: prefixes.get(table) as string,
    related: (related.get(table) ?? []).map(({ other }) => ({
      table: other.name,
      name: prefixes.get(other) as string
    })),
    isVisible: ({ referencedTable, referencedColumns }) =>
      referencedColumns.every((column) => visible.get(referencedTable)?.columns.has(column) === true),
    hasMembers
  }))
}

function pathOf ({ table, verbs, name }: Subject, database: string): [path: string, item: Schema] {
  return [`/${encodeSegment(database)}/${encodeSegment(table.name)}`, createPathItem({
    operationId: `query${name}`,
    summary: `Rows of ${table.name}: ${verbs.join(', ')}`,
    ...(table.comment !== '' && { description: plainText(table.comment) }),
    tags: [table.name],
    isQuery: verbs.includes('select'),
    imports: verbs.includes('insert') ? 'named' : undefined,
    request: refTo(`${name}Request`),
    response: refTo(`${name}Response`),
    examples: requestExamples(table, verbs),
    refusals: responseReferences
  })]
}

function operationsPath (database: string, subjects: readonly Subject[]): Schema {
  return createOperationsItem(tablesByVerb(subjects).get('select')?.[0], {
    operationId: `run${pascalCase(database)}Operations`,
    tags: subjects.slice(0, 1).map(({ table: { name } }) => name),
    refusals: responseReferences
  })
}

function tablesByVerb (subjects: readonly Subject[]): ReadonlyMap<Verb, readonly string[]> {
  const tables = VERBS.map((verb) =>
    [verb, subjects.filter(({ verbs }) => verbs.includes(verb)).map(({ table: { name } }) => name)] as const)
  return new Map(tables.filter(([, names]) => names.length > 0))
}

/**
 * Percent-encodes a path segment, including characters that have a meaning in OpenAPI path templates or in a router.
 */
function encodeSegment (name: string): string {
  return encodeURIComponent(name).replace(
    /[()*]/g,
    (character) => '%' + character.charCodeAt(0).toString(16).toUpperCase()
  )
}

function tagOf ({ table: { name, comment, kind } }: Subject): Schema {
  return {
    name,
    description: plainText(comment || `The ${kind} ${name}`),
    ...(kind === 'view' && { 'x-view': true })
  }
}

// The text of documents is written in pieces, so that a large document does not block the event loop.

export interface DocumentText {
  readonly bytes: Buffer
  readonly etag: string
}

/** Members of an object, as pieces of JSON text. */
export class Members {
  readonly #pieces: Buffer[] = []
  #bytes = 0

  get bytes (): number {
    return this.#bytes
  }

  get pieces (): readonly Buffer[] {
    return this.#pieces
  }

  /** Returns the size of the added text, in bytes. */
  add (members: Schema): number {
    return this.#write(JSON.stringify(members).slice(1, -1))
  }

  addObject (key: string, { pieces }: Members): void {
    this.#write(`${JSON.stringify(key)}:{`)
    for (const piece of pieces) this.#push(piece)
    this.#push(Buffer.from('}'))
  }

  #write (text: string): number {
    if (text === '') return 0
    const piece = Buffer.from(this.#pieces.length === 0 ? text : `,${text}`)
    this.#push(piece)
    return piece.length
  }

  #push (piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
  }
}

export function * writeDocument ({ pieces, bytes: length }: Members): LongWork<DocumentText> {
  const bytes = Buffer.allocUnsafeSlow(length + FRAME.length)
  const hash = createHash('sha256')
  let at = 0
  for (const piece of [FRAME.subarray(0, 1), ...pieces, FRAME.subarray(1)]) {
    at += piece.copy(bytes, at)
    hash.update(piece)
    yield piece.length
  }
  return { bytes, etag: toTag(hash) }
}

const FRAME = Buffer.from('{}\n')
