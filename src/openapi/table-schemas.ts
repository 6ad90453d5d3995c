/** The schemas of one table: rows, data of inserts and updates, filters. */
import { COMBINATORS, type CombinatorForm } from '../../schemas/filters.ts'
import { mayFillColumns, type Column, type Table } from '../catalog/catalog.ts'
import { type Subject, writableColumns } from './visible.ts'
import {
  canFilter, type FilterSchemas, aggregateSchema, GROUPS_RESPONSE, hasParts, partName, partSchema
} from './select-schemas.ts'
import { joinWords, type Names } from './names.ts'
import {
  hasConflicts, onConflictName, onConflictSchema, hasPositions, insertedId, positionName, positionSchema, requestName,
  requestSchema, selectResponse, unions, writeResponse, changeSchema
} from './request-schemas.ts'
import { membersOfRow } from './member-schemas.ts'
import { closedObject, plainText, refTo, type Schema, type Schemas, findDefault, shownSchema } from './value-schema.ts'

/** The suffixes of schema names. A table reserves all of them, whatever verbs the document has. */
export const ENDINGS = [
  'Row',
  'Position',
  'Insert',
  'Update',
  'Filters',
  'Column',
  'Request',
  'Response',
  'SelectRequest',
  'InsertRequest',
  'UpdateRequest',
  'DeleteRequest',
  'SelectResponse',
  'InsertResponse',
  'UpdateResponse',
  'DeleteResponse',
  'Aggregate',
  'Part',
  'OnConflict',
  'Related',
  'Member',
  'Operation',
  'SelectOperation',
  'InsertOperation',
  'UpdateOperation',
  'DeleteOperation'
]

export function tableSchemas (subject: Subject, filters: FilterSchemas, names: Names): Schemas {
  const { name, verbs, table } = subject
  const columns = [...table.columns.values()]
  const schemas: Record<string, Schema> = {}
  // filters can contain a row, under $is
  if (verbs.some((verb) => verb !== 'insert')) {
    schemas[`${name}Row`] = rowSchema(subject, columns)
    schemas[`${name}Column`] = { type: 'string', enum: columns.map((column) => column.name) }
  }
  if (verbs.includes('select')) {
    schemas[`${name}Aggregate`] = aggregateSchema(name, columns)
    if (hasParts(table)) schemas[partName(name)] = partSchema(columns)
    if (hasPositions(table)) schemas[positionName(name)] = positionSchema(table)
    schemas[`${name}SelectResponse`] = selectResponse(name, table)
  }
  if (verbs.includes('insert')) {
    schemas[`${name}Insert`] = insertSchema(table)
    if (hasConflicts(table)) schemas[onConflictName(name)] = onConflictSchema(subject)
    schemas[`${name}InsertResponse`] = writeResponse(subject, 'insert', { id: insertedId(table) })
  }
  if (verbs.includes('update')) {
    schemas[`${name}Update`] = updateSchema(table)
    schemas[`${name}UpdateResponse`] = writeResponse(subject, 'update')
  }
  if (verbs.includes('delete')) schemas[`${name}DeleteResponse`] = writeResponse(subject, 'delete')
  if (verbs.some((verb) => verb !== 'insert')) {
    schemas[`${name}Filters`] = filtersSchema(subject, columns, filters, names)
  }
  if (subject.related.length > 0 && verbs.some((verb) => verb !== 'insert')) {
    schemas[`${name}Related`] = relatedSchema(subject)
  }
  for (const verb of verbs) schemas[requestName(name, verb)] = requestSchema(subject, verb)
  return { ...schemas, ...unions(name, verbs, verbs.includes('select') ? [GROUPS_RESPONSE] : []) }
}

function rowSchema ({ table, verbs, isVisible, members }: Subject, columns: readonly Column[]): Schema {
  const foreignKeys = table.foreignKeys.filter(isVisible)
  const references = new Map(
    foreignKeys
      .filter((key) => key.columns.length === 1)
      .map((key) => [key.columns[0], { table: key.referencedTable, column: key.referencedColumns[0] }])
  )
  const { additionalProperties, ...open } = closedObject(
    columns.map((column) => [
      column.name,
      {
        ...shownSchema(column),
        ...(column.generated && { readOnly: true }),
        ...(column.autoIncrement && { 'x-auto-increment': true }),
        ...(references.has(column.name) && { 'x-references': references.get(column.name) })
      }
    ]),
    {
      description: plainText(
        `${table.comment === '' ? '' : `${table.comment}\n`}A row of "${table.name}" with the requested columns, or ` +
        'with all columns if the request lists none: all properties are optional.'
      ),
      ...(table.primaryKey.length > 0 && { 'x-primary-key': table.primaryKey }),
      ...(table.uniqueKeys.length > 0 && { 'x-unique-keys': table.uniqueKeys }),
      ...(foreignKeys.length > 0 && {
        'x-foreign-keys': foreignKeys.map(({ name, columns, referencedTable, referencedColumns }) => ({
          name,
          columns,
          referencedTable,
          referencedColumns
        }))
      })
    }
  )
  return { ...open, ...members !== undefined && verbs.includes('select') ? membersOfRow : { additionalProperties } }
}

/**
 * Puts defaults into `x-default`, because the database fills them in. With the keyword `default`, some generators make
 * the property required, and others make clients send the default.
 */
function insertSchema (table: Table): Schema {
  const writable = writableColumns(table, 'insert')
  const required = writable.filter((column) => !isOptional(table, column)).map(({ name }) => name)
  return closedObject(writable.map((column) => {
    const found = findDefault(column)
    return [
      column.name,
      { ...changeSchema(column, 'insert'), ...(found !== undefined && { 'x-default': found.value }) }
    ]
  }), required.length > 0 ? { required } : {})
}

function updateSchema (table: Table): Schema {
  return closedObject(
    writableColumns(table, 'update').map((column) => [column.name, changeSchema(column, 'update')]),
    { minProperties: 1 }
  )
}

/**
 * Whether an insert may omit the column. A known trigger may fill it; triggers that the account cannot see are ignored.
 */
export function isOptional (table: Table, column: Column): boolean {
  if (table.granted?.given.has(column.name) === true) return false
  return !table.requiredColumns.includes(column) || (table.triggers.known && mayFillColumns(table))
}

/** Name of a column in filters: names that begin with `$` get another `$`, so `$$or` is the column `$or`. */
export function filterKey ({ name }: Column): string {
  return name.startsWith('$') ? `$${name}` : name
}

/**
 * The members of `$some` and `$none` by the only foreign key between two tables. The service also accepts others, but a
 * document cannot say which columns relate rows.
 */
function relatedSchema ({ related }: Subject): Schema {
  const member = (name: string): Schema => closedObject([['filters', refTo(`${name}Filters`)]])
  return closedObject(
    related.map(({ table, name }) => [table, member(name)]),
    {
      minProperties: 1,
      description:
        'Related tables, and which of their rows count. Other members have "table" and "on", as those of include.'
    }
  )
}

function filtersSchema (
  { name, related }: Subject,
  columns: readonly Column[],
  filters: FilterSchemas,
  names: Names
): Schema {
  const own = { ...refTo(`${name}Filters`), minProperties: 1 }
  const incomparable = columns.filter(({ type }) => type.comparison === 'none')
  const row = {
    ...refTo(`${name}Row`),
    propertyNames: refTo(`${name}Column`),
    minProperties: 1,
    ...(incomparable.length > 0 && {
      properties: Object.fromEntries(incomparable.map((column) => [column.name, { type: 'null' }]))
    })
  }
  const forms: Readonly<Record<CombinatorForm, Schema>> = {
    list: { type: 'array', items: own, minItems: 1 },
    filters: own,
    row,
    members: refTo(`${name}Related`)
  }
  return closedObject([
    ...columns
      .filter(canFilter)
      .map((column): [string, Schema] => [
        filterKey(column),
        filters.refTo(column, () => names.take(`${name}${joinWords(column.name)}Filter`))
      ]),
    ...Object.entries(COMBINATORS)
      .filter(([, form]) => form !== 'members' || related.length > 0)
      .map(([key, form]): [string, Schema] => [key, forms[form]])
  ])
}
