/** The document of one database: one path for each table, with the schemas of its columns. */
import { VERBS, type Verb } from '../../schemas/grant.ts'
import type { DocumentLimits, DocumentSettings, Subject } from './document-settings.ts'
import { resultTooLarge, type ServiceError } from '../errors.ts'
import { allOf, inPieces, type LongWork } from '../in-pieces.ts'
import { Members, writeDocument, type DocumentText } from './document-text.ts'
import { REFUSAL, refusalSchema, responseReferences, sharedResponses } from './error-responses.ts'
import { createFilterSchemas, nameOfFilter } from './filter-schemas.ts'
import { GROUPS } from './group-schemas.ts'
import { canInclude, MEMBER_NAMES, memberSchemas } from './member-schemas.ts'
import { createNames, pascalCase, type Names } from './names.ts'
import { createHead, createPathItem, securitySchemes } from './operation.ts'
import { createOperationsItem, OPERATION, OPERATION_NAMES, operationSchemas } from './operations-schemas.ts'
import { requestExamples } from './request-examples.ts'
import { findRelatedTables } from './related-tables.ts'
import { plainText, refTo, type Schema } from './schema.ts'
import { ENDINGS, tableSchemas } from './table-schemas.ts'
import { MAX_TYPED_TABLES, TYPED_NAMES, typedOperations } from './typed-operations.ts'
import type { VisibleTable } from './visible.ts'
import { formNames, formSchemas } from './write-schemas.ts'

/** Schema names that no table may use. */
const SHARED = [REFUSAL, ...Object.keys(GROUPS), ...MEMBER_NAMES, ...OPERATION_NAMES, ...TYPED_NAMES]

export interface DatabaseDocument {
  /** Name of the database in paths. */
  readonly database: string
  readonly tables: readonly VisibleTable[]
  readonly settings: DocumentSettings
  /** The maximum size of the document, in bytes; without one, a document of any size is created. */
  readonly maxBytes?: number
}

/** Creates the document, and lets other requests run between parts of it. @throws RESULT_TOO_LARGE */
export const createDatabaseDocument = (options: DatabaseDocument): Promise<DocumentText> => inPieces(describeDatabase(options))

/** Creates the document for callers that cannot wait. @throws RESULT_TOO_LARGE */
export const createDatabaseDocumentNow = (options: DatabaseDocument): DocumentText => allOf(describeDatabase(options))

function * describeDatabase ({ database, tables, settings, maxBytes = Infinity }: DatabaseDocument): LongWork<DocumentText> {
  const names = createNames([...SHARED, ...filterNames(tables), ...formNames(tables.map(({ table }) => table))])
  const filters = createFilterSchemas(settings.limits)
  const subjects = nameTables(tables, names, settings.limits)
  const [document, paths, components, schemas] = [new Members(), new Members(), new Members(), new Members()]
  yield document.add({ ...createHead(database, settings), tags: subjects.map(tagOf) })
  if (subjects.length > 0) paths.add({ [`/${encodeSegment(database)}`]: operationsPath(database, subjects) })
  let fitting = 0
  for (const subject of subjects) {
    yield paths.add(Object.fromEntries([pathOf(subject, database)]))
    for (const [name, schema] of Object.entries(tableSchemas(subject, filters, names))) yield schemas.add({ [name]: schema })
    const bytes = document.bytes + paths.bytes + schemas.bytes
    if (bytes > maxBytes) throw documentTooLarge(subjects, fitting, maxBytes)
    if (bytes < maxBytes * OF_TABLES) fitting++
  }
  components.add({ securitySchemes, ...(subjects.length > 0 && { responses: sharedResponses(refTo(REFUSAL)) }) })
  for (const [name, schema] of Object.entries({ ...filters.schemas, ...sharedSchemas(subjects, settings.limits) })) yield schemas.add({ [name]: schema })
  components.addObject('schemas', schemas)
  document.addObject('paths', paths)
  document.addObject('components', components)
  const written = yield * writeDocument(document)
  if (written.bytes.length > maxBytes) throw documentTooLarge(subjects, fitting, maxBytes)
  return written
}

/** The part of the largest document that its tables take, about; the rest is what all of them share. */
const OF_TABLES = 0.75

/** The number of tables that a refusal names. */
const MAX_NAMED = 100

/** `fitting`: the number of tables that a document has room for. */
function documentTooLarge (subjects: readonly Subject[], fitting: number, maxBytes: number): ServiceError {
  const named = subjects.slice(0, Math.min(fitting, MAX_NAMED)).map(({ table: { name } }) => JSON.stringify(name))
  const others = fitting > MAX_NAMED ? ` and ${fitting - MAX_NAMED} others` : ''
  return resultTooLarge(`the document of ${subjects.length} tables would be larger than ${maxBytes} bytes; use a token with permissions on fewer tables: it has room for ${named.join(', ')}${others}`)
}

/** Names of the filter schemas that tables share. */
function filterNames (tables: readonly VisibleTable[]): string[] {
  return tables.flatMap(({ table }) => [...table.columns.values()].map((column) => nameOfFilter(column) ?? ''))
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
    related: (related.get(table) ?? []).map(({ other }) => ({ table: other.name, name: prefixes.get(other) as string })),
    isVisible: ({ referencedTable, referencedColumns }) => referencedColumns.every((column) => visible.get(referencedTable)?.columns.has(column) === true),
    members: hasMembers ? related.get(table) ?? [] : undefined
  }))
}

function pathOf ({ table, verbs, name }: Subject, database: string): [path: string, item: Schema] {
  return [`/${encodeSegment(database)}/${encodeSegment(table.name)}`, createPathItem({
    operationId: `query${name}`,
    summary: `Rows of ${table.name}: ${verbs.join(', ')}`,
    ...(table.comment !== '' && { description: plainText(table.comment) }),
    tags: [table.name],
    request: refTo(`${name}Request`),
    answer: refTo(`${name}Response`),
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
  const tables = new Map(VERBS.map((verb) => [verb, subjects.filter(({ verbs }) => verbs.includes(verb)).map(({ table: { name } }) => name)]))
  return new Map([...tables].filter(([, names]) => names.length > 0))
}

/** Percent-encodes a path segment, including characters that have a meaning in OpenAPI path templates or in a router. */
function encodeSegment (name: string): string {
  return encodeURIComponent(name).replace(/[()*]/g, (character) => '%' + character.charCodeAt(0).toString(16).toUpperCase())
}

function tagOf ({ table: { name, comment, kind } }: Subject): Schema {
  return { name, description: plainText(comment || `The ${kind} ${name}`) }
}

function sharedSchemas (subjects: readonly Subject[], limits: DocumentLimits): Record<string, Schema> {
  const verbs = new Set(subjects.flatMap((subject) => subject.verbs))
  const isTyped = subjects.length <= MAX_TYPED_TABLES
  return {
    ...(verbs.has('select') && GROUPS),
    ...(subjects[0]?.members !== undefined && memberSchemas(subjects, limits, isTyped)),
    ...formSchemas(subjects),
    ...(subjects.length > 0 && { ...operationSchemas(tablesByVerb(subjects), limits.operations, isTyped ? typedOperations(OPERATION, subjects) : undefined), [REFUSAL]: refusalSchema })
  }
}
