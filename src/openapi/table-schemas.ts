import type { TObject } from '@sinclair/typebox'
import { AggregateSchema, FIELDS, PartSchema } from '../../schemas/fields.ts'
import {
  CASES, COMBINATORS, type CombinatorForm, type FilterOperator, MATCH_LENGTH, MATCH_MODES, type OperandForm,
  PATH_OPERATORS, PATH_STEP, type PathOperatorName
} from '../../schemas/filters.ts'
import { type Column, mayFillColumns, type Table, traitsOf } from '../catalog/catalog.ts'
import { indexesOfWords } from '../plan/filters/match.ts'
import { acceptsOperator, operators } from '../plan/filters/operators.ts'
import { findAggregate } from '../plan/aggregates.ts'
import { keysOf } from '../plan/inserted-rows.ts'
import { findPageKey, isPageable } from '../plan/order.ts'
import type { UpdateOperator } from '../types/column-type.ts'
import { NOW } from '../types/moment.ts'
import {
  anyOf, bare, closedObject, DEFAULT, DEFAULT_FORM, findDefault, hasDefault, joinWords, membersOf, type Names,
  notLikeOperator, orNull, plainText, refTo, type Schema, type Schemas, shownSchema, takenSchema
} from './value-schema.ts'
import { type DocumentLimits, type Subject, type VisibleTable, writableColumns } from './visible.ts'

const namesOf = (columns: readonly Column[]): string[] => columns.map(({ name }) => name)
const columnsOf = ({ columns }: Table): Column[] => [...columns.values()]

/** The schemas of a table, without those of its requests and responses. */
export function rowSchemas (subject: Subject, filters: FilterSchemas, names: Names): Schemas {
  const { name, verbs, table } = subject
  const columns = columnsOf(table)
  const schemas: Readonly<Record<string, Schema | undefined>> = {
    // filters can contain a row, under $is
    ...(verbs.some((verb) => verb !== 'insert') && {
      Row: rowSchema(subject, columns),
      Column: { type: 'string', enum: namesOf(columns) },
      Filters: filtersSchema(subject, columns, filters, names),
      Related: relatedSchema(subject),
      Counted: relatedSchema(subject, [['count', refTo(RELATED_COUNT)]])
    }),
    ...(verbs.includes('select') && {
      Aggregate: aggregateSchema(name, columns),
      Part: hasParts(table) ? partSchema(columns) : undefined,
      Position: positionSchema(table)
    }),
    ...(verbs.includes('insert') && { Insert: insertSchema(table), OnConflict: onConflictSchema(subject) }),
    ...(verbs.includes('update') && updateSchemas(subject))
  }
  const defined = Object.entries(schemas).filter(([, schema]) => schema !== undefined)
  return Object.fromEntries(defined.map(([ending, schema]) => [name + ending, schema as Schema]))
}

function updateSchemas ({ name, table }: Subject): Schemas {
  const updatable = writableColumns(table, 'update')
  const changes = updatable.map((column) => [column.name, changeSchema(column, 'update')] as const)
  const keys = keyColumnsOf(table)
  const others = keys.filter((column) => !updatable.includes(column))
  const entry = others.length === 0
    ? refTo(`${name}Update`)
    : closedObject([...changes, ...others.map((column) => [column.name, shownSchema(column)] as const)])
  return {
    Update: closedObject(changes, { minProperties: 1 }),
    ...(keys.length > 0 && { Entry: { ...entry, minProperties: 2 } })
  }
}

/** The columns of the keys by which the entries of an update find their rows. */
export const keyColumnsOf = (table: Table): Column[] => {
  const keys = keysOf(table).filter(({ columns }) =>
    columns.every((name) => table.columns.get(name)?.nullable === false))
  return columnsOf(table).filter(({ name }) => keys.some(({ columns }) => columns.includes(name)))
}

function rowSchema ({ table, verbs, isVisible, hasMembers }: Subject, columns: readonly Column[]): Schema {
  const foreignKeys = table.foreignKeys.filter(isVisible)
  const references = new Map(
    foreignKeys.filter(({ columns }) => columns.length === 1).map((key) =>
      [key.columns[0], { table: key.referencedTable, column: key.referencedColumns[0] }])
  )
  const { additionalProperties, ...open } = closedObject(
    columns.map((column) => [
      column.name,
      {
        ...shownSchema(column),
        ...(column.generated && { readOnly: true }),
        ...(column.invisible && { 'x-invisible': true }),
        ...(column.autoIncrement && { 'x-auto-increment': true }),
        ...(references.has(column.name) && { 'x-references': references.get(column.name) })
      }
    ]),
    {
      description: plainText(
        `${table.comment === '' ? '' : `${table.comment}\n`}A row of "${table.name}" with the requested columns, or ` +
        'with all columns but invisible ones if the request lists none: all properties are optional.'
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
  // generators of clients do not read this keyword, so members have no type in them
  const members = hasMembers && verbs.includes('select') && { unevaluatedProperties: refTo('Related') }
  return { ...open, ...(members || { additionalProperties }) }
}

// Inserts and updates

/**
 * Puts defaults into `x-default`, because the database fills them in. With the keyword `default`, some generators make
 * the property required, and others make clients send the default.
 */
function insertSchema (table: Table): Schema {
  const writable = writableColumns(table, 'insert')
  const required = namesOf(writable.filter((column) => !isOptional(table, column)))
  return closedObject(writable.map((column) => {
    const defaultValue = findDefault(column)
    return [
      column.name,
      { ...changeSchema(column, 'insert'), ...(defaultValue !== undefined && { 'x-default': defaultValue.value }) }
    ]
  }), required.length > 0 ? { required } : {})
}

/**
 * Whether an insert may omit the column. A known trigger may fill it; triggers that the account cannot see are ignored.
 */
export function isOptional (table: Table, column: Column): boolean {
  if (table.granted?.required.has(column.name) === true) return false
  return !table.requiredColumns.includes(column) || (table.triggers.isComplete && mayFillColumns(table))
}

/**
 * The update operators of a column that are not already its values, as they are for a JSON column. An insert has only
 * those that need no stored value.
 */
function operatorsOf (
  { type: { holdsJson, updates = [] } }: Column,
  verb: 'insert' | 'update'
): readonly UpdateOperator[] {
  return holdsJson === true ? [] : updates.filter(({ sql }) => verb === 'update' || sql === undefined)
}

const titleOf = ({ schema }: UpdateOperator): string => schema.title as string

/** What an insert or update accepts for a column. */
function changeSchema (column: Column, verb: 'insert' | 'update'): Schema {
  const taken = takenSchema(column, verb)
  const forms = operatorsOf(column, verb).map(titleOf)
  if (verb === 'update' && hasDefault(column) && column.type.holdsJson !== true) forms.push(DEFAULT)
  if (forms.length === 0) return taken
  const { description, 'x-sql-type': declaration, ...value } = taken
  return {
    ...anyOf([...membersOf(value), ...forms.map(refTo)]),
    ...(description !== undefined && { description }),
    'x-sql-type': declaration
  }
}

/** The operators that the writes and filters of these tables accept, by the names of their schemas. */
export function operatorSchemas (subjects: readonly VisibleTable[]): Schemas {
  const used = subjects.flatMap(({ table, verbs }) => [
    ...(['insert', 'update'] as const).flatMap((verb) =>
      verbs.includes(verb) ? writableColumns(table, verb).flatMap((column) => operatorsOf(column, verb)) : []
    ),
    ...(verbs.some((verb) => verb !== 'insert')
      ? columnsOf(table)
        .filter(({ type }) => type.moment?.isComparable === true)
        .flatMap((column) => operatorsOf(column, 'insert'))
      : [])
  ])
  const defaults = subjects.some(({ table, verbs }) =>
    verbs.includes('update') && writableColumns(table, 'update').some(hasDefault))
  const operators = used.map(({ name, schema, sql }) => [schema.title as string, closedObject(
    [[name, anyOf(membersOf(schema).map(bare))]],
    {
      required: [name],
      description:
        sql === undefined ? `${String(schema.description)}` : `Computes the new value from the stored one: ${name}.`
    }
  )] as const)
  return Object.fromEntries(defaults ? [[DEFAULT, DEFAULT_FORM], ...operators] : operators)
}

/** Names of schemas that the tables of a document share: operators, and filters by type. */
export const sharedNames = (tables: readonly Table[]): string[] => [DEFAULT, ...tables.flatMap(({ columnList }) =>
  columnList.flatMap((column) => [...operatorsOf(column, 'update').map(titleOf), filterName(column) ?? ''])
)]

/** Without the permission update it can only leave existing rows unchanged. */
function onConflictSchema ({ name, table, verbs }: Subject): Schema | undefined {
  const keys = keysOf(table)
  if (keys.length === 0) return undefined
  // a list of one column, or of the columns of another key
  const sorted = ({ columns }: { readonly columns: readonly string[] }): string =>
    columns.length === 1 ? '' : [...columns].sort().join('\0')
  const choices = [...Map.groupBy(keys, sorted).values()].map((same) =>
    listOf([...new Set(same.flatMap(({ columns }) => columns))], same[0]?.columns.length))
  const listed = keys.map(({ columns }) => columns.map((column) => `"${column}"`).join(', ')).join('; or ')
  const updatable = verbs.includes('update') ? namesOf(writableColumns(table, 'update')) : []
  const set =
    updatable.length > 0
      ? {
          ...anyOf([
            { type: 'array', items: { type: 'string', enum: updatable }, uniqueItems: true },
            refTo(`${name}Update`)
          ]),
          description: onConflict.properties.set.description
        }
      : {
          type: 'array',
          items: { type: 'string' },
          maxItems: 0,
          description: 'Empty: existing rows stay as they are.'
        }
  return closedObject(
    [['key', { ...anyOf(choices), description: plainText(`The columns of one unique key: ${listed}.`) }], ['set', set]],
    {
      required: verbs.includes('update') ? ['key'] : ['key', 'set'],
      description: onConflict.description
    }
  )
}

/** A list of so many of these names. */
const listOf = (names: readonly string[], length: number | undefined): Schema =>
  ({ type: 'array', items: { type: 'string', enum: names }, minItems: length, maxItems: length, uniqueItems: true })

const onConflict = FIELDS.onConflict.in.insert

/** Whether there can be conflicts, which need a unique key. */
export const hasConflicts = (table: Table): boolean => keysOf(table).length > 0

export const sortable = (table: Table): Column[] => columnsOf(table).filter(({ type }) => type.sortable)

export const hasParts = (table: Table): boolean => columnsOf(table).some(({ type }) => type.parts !== undefined)

/** Functions of one column, with the names of the columns that each of them accepts. */
function functionsOf (
  { properties }: TObject,
  columns: readonly Column[],
  accepts: (name: string, column: Column) => boolean
): Array<[string, Schema]> {
  return Object.entries<Schema>(properties).flatMap(([name, { description }]): Array<[string, Schema]> => {
    const operands = namesOf(columns.filter((column) => accepts(name, column)))
    if (name === '$count') operands.push('*')
    return operands.length === 0 ? [] : [[name, { type: 'string', enum: operands, description }]]
  })
}

function partSchema (columns: readonly Column[]): Schema {
  const { minProperties, maxProperties, description } = PartSchema
  const parts = functionsOf(PartSchema, columns, (name, { type }) => type.parts?.has(name) === true)
  return closedObject(parts, { minProperties, maxProperties, description })
}

function aggregateSchema (name: string, columns: readonly Column[]): Schema {
  const { properties: { filters }, minProperties, maxProperties, description } = AggregateSchema
  const calls = functionsOf(AggregateSchema, columns, (call, { type }) => findAggregate(call, type) !== undefined)
  const ofFilters = { ...refTo(`${name}Filters`), description: filters.description }
  return closedObject([...calls, ['filters', ofFilters]], { minProperties, maxProperties, description })
}

export const hasPositions = (table: Table): boolean => findPageKey(table) !== undefined

/** A position: values of the columns of the order, which always include the key. */
function positionSchema (table: Table): Schema | undefined {
  const key = findPageKey(table)
  return key && closedObject(
    sortable(table).filter(isPageable).map((column) => {
      // the value may be one that no client may write
      const { pattern } = column.type.positions ?? {}
      return [column.name, { ...bare(shownSchema(column)), ...(pattern !== undefined && { pattern }) }]
    }),
    {
      required: namesOf(key),
      description: 'A position between two rows: a value for each column of the order, the key among them.'
    }
  )
}

// Filters. Columns with the same bounds share one schema.

/** Name of a column in filters: names that begin with `$` get another `$`, so `$$or` is the column `$or`. */
export function filterKey ({ name }: Column): string {
  return name.startsWith('$') ? `$${name}` : name
}

/**
 * The members of `$none`, or of `$some` with `more` fields, by the only foreign key between two tables. The service
 * also accepts others, but a document cannot say which columns relate rows.
 */
function relatedSchema (
  { related }: Subject,
  more: ReadonlyArray<readonly [string, Schema]> = []
): Schema | undefined {
  if (related.length === 0) return undefined
  const members = related.map(({ table, name }) =>
    [table, closedObject([['filters', refTo(`${name}Filters`)], ...more])] as const)
  return closedObject(members, {
    minProperties: 1,
    description:
      'Related tables, and which of their rows count. Other members have "table" and "on", as those of include.'
  })
}

export const RELATED_COUNT = 'RelatedCount'
export const OTHER_COLUMN = 'OtherColumn'

/** `$match`: the columns of one full-text index, in any order; undefined if the table shows none. */
function searchSchema (columns: readonly Column[], table: Table): Schema | undefined {
  const choices = indexesOfWords(table).map(({ parts }) =>
    listOf(namesOf(columns).filter((name) => parts.some(({ column }) => column === name)), parts.length))
  if (choices.length === 0) return undefined
  const modes = traitsOf(table).hasBooleanSearch ? MATCH_MODES : MATCH_MODES.filter((mode) => mode !== 'boolean')
  return closedObject([
    ['columns', anyOf(choices)],
    ['text', { type: 'string', minLength: 1, maxLength: MATCH_LENGTH, pattern: '[\\p{L}\\p{Nd}]' }],
    ['mode', { type: 'string', enum: modes, default: 'any' }]
  ], {
    required: ['columns', 'text'],
    description: 'Full text: one of the words (any), or every word (all); boolean: with the operators of the server. ' +
      'Only in the filters of the request itself, not in those of aggregates and related rows.'
  })
}

function filtersSchema (
  { name, related, table }: Subject,
  columns: readonly Column[],
  filters: FilterSchemas,
  names: Names
): Schema {
  const nested = { ...refTo(`${name}Filters`), minProperties: 1 }
  const incomparable = columns.filter(({ type }) => type.comparison === 'none')
  const row = {
    ...refTo(`${name}Row`),
    propertyNames: refTo(`${name}Column`),
    minProperties: 1,
    ...(incomparable.length > 0 && {
      properties: Object.fromEntries(namesOf(incomparable).map((column) => [column, { type: 'null' }]))
    })
  }
  const combinators: Readonly<Record<CombinatorForm, Schema | undefined>> = {
    list: { type: 'array', items: nested, minItems: 1 },
    filters: nested,
    row,
    members: related.length > 0 ? refTo(`${name}Related`) : undefined,
    counted: related.length > 0 ? refTo(`${name}Counted`) : undefined,
    search: searchSchema(columns, table)
  }
  return closedObject([
    // values of unknown types cannot be compared, so a NOT NULL column of such a type has no filter
    ...columns.filter(({ type, nullable }) => type.comparison !== 'none' || nullable).map((column) => [
      filterKey(column),
      filters.refTo(column, () => names.take(`${name}${joinWords(column.name)}Filter`))
    ] as const),
    ...Object.entries(COMBINATORS).flatMap(([key, form]) => {
      const schema = combinators[form]
      return schema === undefined ? [] : [[key, schema] as const]
    })
  ])
}

interface FilterSchemas {
  /** A reference to the filter schema. `ownName`: names one that is not shared. */
  refTo (column: Column, ownName: () => string): Schema
  /** All schemas that were referenced, by name. */
  readonly schemas: Schemas
}

/** Undefined for ENUM and SET columns, which have their own members. */
function filterName ({ nullable, type: { schema: { title }, holdsJson } }: Column): string | undefined {
  return title === undefined ? undefined : `${nullable && holdsJson !== true ? 'Nullable' : ''}${title}Filter`
}

export function createFilterSchemas (limits: DocumentLimits): FilterSchemas {
  const schemas: Record<string, Schema> = {}
  return {
    schemas,
    refTo (column, ownName) {
      const name = filterName(column) ?? ownName()
      schemas[name] ??= filterOn(column, limits)
      return refTo(name)
    }
  }
}

/** `$at`: values inside a JSON column. */
function pathsSchema ({ maxItems, maxLength }: { readonly maxItems: number, readonly maxLength: number }): Schema {
  const compared = { type: ['string', 'number', 'boolean'] }
  const comparedOrNull = { type: ['string', 'number', 'boolean', 'null'] }
  const operands: Readonly<Record<typeof PATH_OPERATORS[PathOperatorName], Schema>> = {
    compared,
    comparedOrNull,
    values: { type: 'array', items: comparedOrNull, maxItems },
    pair: { type: 'array', items: compared, minItems: 2, maxItems: 2 },
    pattern: { type: 'string', maxLength },
    boolean: { type: 'boolean' }
  }
  const ofOperators = Object.entries(PATH_OPERATORS).map(([name, operand]) => [name, operands[operand]] as const)
  return {
    type: 'object',
    minProperties: 1,
    propertyNames: { pattern: `^\\$(?:${PATH_STEP})*$`, maxLength },
    additionalProperties: { anyOf: [comparedOrNull, closedObject(ofOperators, { minProperties: 1 })] },
    description: 'Values at paths such as $.size, $.tags[0], $.tags[last-1] and $."any key", compared by their ' +
      'types. All must hold.'
  }
}

/**
 * A filter is a plain value, null, a list of values (`$in`) or an object with operators. A NOT NULL column is not
 * compared with null, because the result is known, and an update whose filters are always true is refused.
 */
function filterOn ({ type, nullable }: Column, { values: maxItems, pattern: maxLength }: DocumentLimits): Schema {
  const value = anyOf(membersOf(type.unbounded ?? type.schema).map(bare))
  const ifNull = (schema: Schema): Schema => nullable ? orNull(schema) : schema
  const orNow = (values: Schema): Schema =>
    type.moment?.isComparable === true ? anyOf([...membersOf(values), refTo(NOW)]) : values
  const compared = orNow(anyOf(membersOf(type.schema).map(bare)))
  const equal = orNow(value)
  const hasColumns = (type.comparedAs ?? type.relatedAs) !== undefined
  const orColumn = (values: Schema, { takesColumn }: FilterOperator): Schema =>
    hasColumns && takesColumn === true ? anyOf([...membersOf(values), refTo(OTHER_COLUMN)]) : values
  const list = (items: unknown, { minItems }: FilterOperator): Schema =>
    ({ type: 'array', items, ...(minItems !== undefined && { minItems }), maxItems })
  const operands: Readonly<Record<OperandForm, (operator: FilterOperator) => Schema>> = {
    compared: (operator) => orColumn(compared, operator),
    comparedOrNull: (operator) => orColumn(ifNull(equal), operator),
    valueOrNull: () => ifNull(value),
    values: (operator) => list(ifNull(value), operator),
    pair: () => ({ type: 'array', items: compared, minItems: 2, maxItems: 2 }),
    pattern: () => ({ type: 'string', maxLength, ...type.readPattern !== undefined && { pattern: '^[^\\u0000]*$' } }),
    boolean: () => ({ type: 'boolean' }),
    // a value of a SET is a list of its members
    members: (operator) => ({ anyOf: [value['items'] as Schema, list(value['items'], operator)] }),
    paths: () => pathsSchema({ maxItems, maxLength })
  }
  const accepted = [...operators]
    .filter(([, operator]) => acceptsOperator(operator, type) && (operator.needs !== 'none' || nullable))
  const conditions = closedObject(
    accepted.map(([name, operator]) => [name, operands[operator.operand](operator)]),
    { minProperties: 1 }
  )
  const inAnyCase = type.comparison !== 'text'
    ? []
    : [closedObject([
        // beside it no operand is a column
        ...accepted.filter(([, { hasCase }]) => hasCase).map(([name, { takesColumn, ...operator }]) =>
          [name, operands[operator.operand](operator)] as const),
        ['$case', { type: 'string', enum: CASES }]
      ], { minProperties: 2, required: ['$case'], description: '"ignore": letter case makes no difference.' })]
  if (type.comparison === 'none') return { anyOf: [{ type: 'null' }, conditions] }
  // any JSON value is allowed, which includes objects with operators
  if (type.holdsJson === true) {
    return { ...notLikeOperator(conditions), description: 'Any JSON value, or an object of operators.' }
  }
  return {
    anyOf: [
      ...membersOf(equal),
      ...(nullable ? [{ type: 'null' }] : []),
      ...(type.structured ? [] : [{ type: 'array', items: ifNull(value), minItems: 1, maxItems }]),
      ...inAnyCase,
      conditions
    ]
  }
}
