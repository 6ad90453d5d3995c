/** The request and response schemas of one table: those of the interface, with the schemas of its columns. */
import { ANSWERS } from '../../schemas/responses.ts'
import { BODIES } from '../../schemas/body.ts'
import { fieldNamed, MAX_ROWS } from '../../schemas/fields.ts'
import type { Verb } from '../../schemas/grants.ts'
import { mayUse } from '../access/authorize.ts'
import type { Column, Key, Table } from '../catalog/catalog.ts'
import { keysOf } from '../plan/inserted-rows.ts'
import { findPageKey, isPageable } from '../plan/page-after.ts'
import { rowKeysOf } from '../plan/row-keys.ts'
import type { UpdateOperator } from '../types/column-type.ts'
import { includeField, includeRules } from './member-schemas.ts'
import { pascalCase } from './names.ts'
import { aggregatesField, groupBySchema, orderSchema, selectRules, sortable } from './select-schemas.ts'
import {
  anyOf, bare, changedJson, closedObject, defining, membersOf, orNull, plainText, refTo, requiring, type Schema,
  type Schemas, shownSchema, takenSchema, unionByVerb, withoutDefault
} from './value-schema.ts'
import { type Subject, type VisibleTable, writableColumns } from './visible.ts'

// The schemas of a list of rows, and of `onConflict`.

export const onConflictName = (name: string): string => `${name}OnConflict`

/** `data` of an insert: a row or a list. */
function insertData (name: string, { description }: Schema): Schema {
  const row = refTo(`${name}Insert`)
  return { ...anyOf([row, { type: 'array', items: row, minItems: 1, maxItems: MAX_ROWS }]), description }
}

/** Requires a value for the column that the database numbers, if a conflict would write this column. */
function insertRules (table: Table): Schema {
  const number = table.identity?.autoIncrement === true ? table.identity.name : undefined
  if (
    number === undefined ||
    !hasConflicts(table) ||
    !writableColumns(table, 'insert').some(({ name }) => name === number)
  ) { return {} }
  const needed = requiring(number)
  return {
    if: requiring('onConflict', requiring('set', { type: 'array', contains: { enum: [number] } })),
    then: defining({ data: { ...needed, items: needed } })
  }
}

/** Whether there can be conflicts, which need a unique key. */
export const hasConflicts = (table: Table): boolean => keysOf(table).length > 0

/** The columns of each key, without keys that have the same columns. */
function distinct (keys: readonly Key[]): string[][] {
  return [...new Map(keys.map(({ columns }) => [[...columns].sort().join('\0'), [...columns]])).values()]
}

/** The schema of a list of so many of these columns. */
const keyChoice = (names: readonly string[], length: number): Schema => ({
  type: 'array',
  items: { type: 'string', enum: names },
  minItems: length,
  maxItems: length,
  uniqueItems: true
})

/** The schema of `onConflict`. Without the permission update it can only leave existing rows unchanged. */
export function onConflictSchema ({ name, table, verbs }: Subject): Schema {
  const keys = keysOf(table)
  const [wide, single] = [
    keys.filter((key) => key.columns.length > 1),
    keys.filter((key) => key.columns.length === 1)
  ].map(distinct) as [string[][], string[][]]
  const choices = [
    ...(single.length > 0 ? [keyChoice(single.flat(), 1)] : []),
    ...wide.map((names) => keyChoice(names, names.length))
  ]
  const listed = keys.map(({ columns }) => columns.map((column) => `"${column}"`).join(', ')).join('; or ')
  const columns = writableColumns(table, 'update').map((column) => column.name)
  const nothing = {
    type: 'array',
    items: { type: 'string' },
    maxItems: 0,
    description: 'Empty: existing rows stay as they are.'
  }
  return closedObject(
    [
      ['key', { ...anyOf(choices), description: plainText(`The columns of one unique key: ${listed}.`) }],
      [
        'set',
        verbs.includes('update') && columns.length > 0
          ? {
              ...anyOf([
                { type: 'array', items: { type: 'string', enum: columns }, uniqueItems: true },
                refTo(`${name}Update`)
              ]),
              description:
                'What to change in a row that exists: columns, which get the value of the row in `data`, or values. ' +
                'If left out, every column that the row in `data` has, except those of the key. An empty list ' +
                'changes nothing.'
            }
          : nothing
      ]
    ],
    {
      required: verbs.includes('update') ? ['key'] : ['key', 'set'],
      description: 'Updates the rows that have the same values in a unique key, instead of refusing them.'
    }
  )
}

// The schemas of forms such as `{"$inc": 5}`, and of `returning`.

const titleOf = ({ schema }: UpdateOperator): string => schema.title as string

/**
 * The forms of a column that are not already its values, as they are for a JSON column. An insert has only those that
 * need no stored value.
 */
function ownOperators (
  { type: { holdsJson, updates = [] } }: Column,
  verb: 'insert' | 'update'
): readonly UpdateOperator[] {
  return holdsJson === true ? [] : updates.filter(({ sql }) => verb === 'update' || sql === undefined)
}

/** The schema of the values and forms that an insert or update accepts for a column. */
export function changeSchema (column: Column, verb: 'insert' | 'update'): Schema {
  if (column.type.holdsJson === true && verb === 'update') return changedJson(column)
  const taken = takenSchema(column)
  const forms = ownOperators(column, verb)
  if (forms.length === 0) return taken
  const { description, 'x-sql-type': declaration, ...value } = taken
  return {
    ...anyOf([...membersOf(value), ...forms.map((form) => refTo(titleOf(form)))]),
    ...(description !== undefined && { description }),
    'x-sql-type': declaration
  }
}

/** The forms that the writes and filters of these tables accept, by the names of their schemas. */
export function formSchemas (subjects: readonly VisibleTable[]): Schemas {
  const forms = subjects.flatMap(({ table, verbs }) => [
    ...(['insert', 'update'] as const).flatMap((verb) =>
      verbs.includes(verb) ? writableColumns(table, verb).flatMap((column) => ownOperators(column, verb)) : []
    ),
    ...(verbs.some((verb) => verb !== 'insert')
      ? [...table.columns.values()]
          .filter(({ type }) => type.moment?.isComparable === true)
          .flatMap((column) => ownOperators(column, 'insert'))
      : [])
  ])
  return Object.fromEntries(
    forms.map((form) => [
      titleOf(form),
      closedObject([[form.name, anyOf(membersOf(form.schema).map(bare))]], {
        required: [form.name],
        description:
          form.sql === undefined
            ? `${String(form.schema.description)}`
            : `Computes the new value from the stored one: ${form.name}.`
      })
    ])
  )
}

/** Names that forms may have in a document. */
export function formNames (tables: readonly Table[]): string[] {
  return tables.flatMap(({ columnList }) => columnList.flatMap((column) => ownOperators(column, 'update')).map(titleOf))
}

/** `returning`, with the columns of a table. `name`: the prefix of the table's schema names. */
function returningSchema (name: string, { description }: Schema): Schema {
  return {
    anyOf: [
      { type: 'array', items: refTo(`${name}Column`), minItems: 1, uniqueItems: true },
      { type: 'string', enum: ['*'] }
    ],
    description
  }
}

export function requestName (name: string, verb: Verb): string {
  return `${name}${pascalCase(verb)}Request`
}

/** Name of a response schema. */
export function responseName (name: string, verb: Verb): string {
  return `${name}${pascalCase(verb)}Response`
}

/**
 * The unions of requests and of responses, as named schemas, so that client generators need not invent names. `more`:
 * names of other responses.
 */
export function unions (name: string, verbs: readonly Verb[], more: readonly string[] = []): Schemas {
  return {
    [`${name}Request`]: unionByVerb(verbs, (verb) => requestName(name, verb)),
    [`${name}Response`]: anyOf([...verbs.map((verb) => responseName(name, verb)), ...more].map(refTo))
  }
}

/** The schemas of fields that depend on the table, made from those of the interface. */
function ownSchemas (
  { name, table, limits, members }: Subject,
  verb: Verb
): Readonly<Record<string, (schema: Schema) => Schema>> {
  return {
    verb: () => ({ type: 'string', enum: [verb] }),
    data: (schema) => verb === 'insert' ? insertData(name, schema) : refTo(`${name}${pascalCase(verb)}`),
    filters: () => refTo(`${name}Filters`),
    columns: (schema) => ({ ...bare(schema), items: refTo(`${name}Column`), description: schema['description'] }),
    include: includeField,
    groupBy: (schema) => groupBySchema(name, table, schema),
    aggregates: (schema) => aggregatesField(name, schema),
    having: ({ description }) => ({ type: 'object', additionalProperties: true, description }),
    orderBy: (schema) => orderSchema(table, schema, members !== undefined),
    offset: (schema) => ({ ...schema, maximum: limits.offset }),
    after: ({ description }) => ({ anyOf: [refTo(positionName(name)), { type: 'null' }], description }),
    onConflict: () => refTo(onConflictName(name)),
    returning: (schema) => returningSchema(name, schema)
  }
}

/** The request schema of the interface with the columns of this table. */
export function requestSchema (subject: Subject, verb: Verb): Schema {
  const { table, verbs, members } = subject
  const { properties, required } = BODIES[verb]
  const own = ownSchemas(subject, verb)
  const fields = Object.entries<Schema>(properties)
    .filter(([field]) => mayUse(field, verb, verbs) && isPossible(field, verb, subject))
    .map(([field, schema]): [string, Schema] => [field, inDocument(field, schema, verb, own[field])])
  return closedObject(fields, {
    required,
    ...(verb === 'insert' && insertRules(table)),
    ...(verb === 'select' && selectRules(table, members && includeRules(subject, members)))
  })
}

/**
 * Whether a table can have a field: positions, conflicts and returned updates need a unique key, and some types cannot
 * be grouped.
 */
function isPossible (field: string, verb: Verb, { table, members }: Subject): boolean {
  if (field === 'include') return members !== undefined
  if (field === 'onConflict') return hasConflicts(table)
  if (field === 'after') return hasPositions(table)
  if (field === 'groupBy') return sortable(table).length > 0
  return field !== 'returning' || verb !== 'update' || rowKeysOf(table).length > 0
}

export const positionName = (name: string): string => `${name}Position`

/** Whether the rows of a table can be paged through by position. */
export const hasPositions = (table: Table): boolean => findPageKey(table) !== undefined

/** A position: values of the columns of the order, which always include the key. */
export function positionSchema (table: Table): Schema {
  const sorting = [...table.columns.values()].filter((column) => column.type.sortable && isPageable(column))
  return closedObject(
    sorting.map((column) => [column.name, bare(shownSchema(column))]),
    {
      required: findPageKey(table)?.map((column) => column.name),
      description: 'A position between two rows: a value for each column of the order, the key among them.'
    }
  )
}

/** The schema of a field of the interface in documents. */
export const inDocument = (field: string, schema: Schema, verb: Verb, convert = withoutDefault): Schema =>
  ({ ...convert(schema), ...fieldNamed(field)?.inDocuments?.[verb] })

export function selectResponse (name: string, table: Table): Schema {
  const { data, ...rest } = ANSWERS.select.properties
  const { description } = data.properties.next
  const next = hasPositions(table)
    ? { anyOf: [refTo(positionName(name)), { type: 'integer' }, { type: 'null' }], description }
    : { type: ['integer', 'null'], description }
  return {
    ...ANSWERS.select,
    properties: {
      ...rest,
      data: { ...data, properties: { ...data.properties, rows: { type: 'array', items: refTo(`${name}Row`) }, next } }
    }
  }
}

/**
 * The schema of an `id` that is always null. `type: null` alone would make OpenAPI Generator refer to a type that does
 * not exist.
 */
const NO_ID = orNull({ type: 'integer', description: 'Always null: no single column identifies a row.' })

/** The response to a write, which has rows only if the caller may select. `own`: the schemas of other properties. */
export function writeResponse ({ name, verbs }: Subject, verb: Exclude<Verb, 'select'>, own: Schemas = {}): Schema {
  const { data, ...rest } = ANSWERS[verb].properties
  const { rows, ...properties } = data.properties as typeof data.properties & { readonly rows: Schema }
  const returned = verbs.includes('select')
    ? { rows: { type: 'array', items: refTo(`${name}Row`), description: rows['description'] } }
    : {}
  return {
    ...ANSWERS[verb],
    properties: { ...rest, data: { ...data, properties: { ...properties, ...returned, ...own } } }
  }
}

/**
 * The `id` of the response to an insert: it has the schema of the column that identifies a row, or is null, as for a
 * list with `onConflict`.
 */
export function insertedId ({ identity }: Table): Schema {
  if (identity === undefined) return NO_ID
  const { 'x-sql-type': declaration, description, ...schema } = shownSchema(identity)
  return { ...orNull(schema), description: plainText(`The value of "${identity.name}" in the new row.`) }
}
