/** The document of one database: one path for each table, with the schemas of its columns. */
import { setImmediate } from 'node:timers/promises'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import type { DocumentLimits, DocumentSettings, Subject } from './document-settings.ts'
import { createDocumentWriter, type DocumentText } from './document-text.ts'
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

/** The number of tables that are described before the event loop handles other requests. */
const SLICE = 20

/** Schema names that no table may use. */
const SHARED = [REFUSAL, ...Object.keys(GROUPS), ...MEMBER_NAMES, ...OPERATION_NAMES, ...TYPED_NAMES]

export interface DatabaseDocument {
  /** Name of the database in paths. */
  readonly database: string
  readonly tables: readonly VisibleTable[]
  readonly settings: DocumentSettings
}

/** Creates the document, and lets other requests run after every few tables. */
export async function createDatabaseDocument (options: DatabaseDocument): Promise<DocumentText> {
  const writing = writeDocument(options)
  for (let step = writing.next(); ; step = writing.next()) {
    if (step.done === true) return step.value
    await setImmediate()
  }
}

/** Creates the document for callers that cannot wait. */
export function createDatabaseDocumentNow (options: DatabaseDocument): DocumentText {
  const writing = writeDocument(options)
  for (let step = writing.next(); ; step = writing.next()) if (step.done === true) return step.value
}

/** Writes the document, and yields after every few tables. */
function * writeDocument ({ database, tables, settings }: DatabaseDocument): Generator<undefined, DocumentText> {
  const names = createNames([...SHARED, ...filterNames(tables), ...formNames(tables.map(({ table }) => table))])
  const filters = createFilterSchemas(settings.limits)
  const subjects = nameTables(tables, names, settings.limits)
  const slices = Array.from({ length: Math.ceil(subjects.length / SLICE) }, (_, index) => subjects.slice(index * SLICE, (index + 1) * SLICE))
  const document = createDocumentWriter()
  document.add({ ...createHead(database, settings), tags: subjects.map(tagOf) })
  document.open('paths')
  if (subjects.length > 0) document.add({ [`/${encodeSegment(database)}`]: operationsPath(database, subjects) })
  for (const slice of slices) {
    document.add(Object.fromEntries(slice.map((subject) => pathOf(subject, database))))
    yield
  }
  document.close()
  document.open('components')
  document.add({ securitySchemes, ...(subjects.length > 0 && { responses: sharedResponses(refTo(REFUSAL)) }) })
  document.open('schemas')
  for (const slice of slices) {
    for (const subject of slice) document.add(tableSchemas(subject, filters, names))
    yield
  }
  document.add({ ...filters.schemas, ...sharedSchemas(subjects, settings.limits) })
  document.close()
  document.close()
  return document.end()
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
