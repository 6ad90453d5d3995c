/**
 * The schemas of requests, responses, operations and members of `include`: those of the interface (schemas/), with the
 * schemas of a table in the fields that depend on it.
 */
import type { TObject } from '@sinclair/typebox'
import { BODIES, MemberSchema, OPERATIONS, operationsBody } from '../../schemas/body.ts'
import {
  AggregateSchema, fieldNamed, type Field, MEMBER_NAME, MemberColumnSchema, NamedGroup, relatedCount
} from '../../schemas/fields.ts'
import { MAX_ROWS } from '../../schemas/limits.ts'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import { RESPONSES, groupsResponse, GroupValueSchema, OperationsResponseSchema } from '../../schemas/responses.ts'
import { mayUse } from '../access/grant.ts'
import type { Table } from '../catalog/catalog.ts'
import { rowKeysOf } from '../plan/row-keys.ts'
import {
  hasConflicts, hasParts, hasPositions, keyColumnsOf, OTHER_COLUMN, RELATED_COUNT, sortable
} from './table-schemas.ts'
import {
  anyOf, closedObject, orNull, pascalCase, plainText, refTo, type Schema, type Schemas, shownSchema, toDocument,
  unionByVerb
} from './value-schema.ts'
import type { DocumentLimits, Subject, VisibleTable } from './visible.ts'

/** The keywords of fields that depend on a table or caller; undefined for a field that is left out. */
type Own = Readonly<Record<string, Schema | undefined>>

/** An object of fields. `part`: the part of a body that it describes, whose exclusions the descriptions name. */
function fieldsObject ({ properties, required, description }: TObject, part: keyof Field['in'], own: Own): Schema {
  const fields = Object.entries<Schema>(properties).flatMap(([field, schema]): Array<[string, Schema]> => {
    if (Object.hasOwn(own, field) && own[field] === undefined) return []
    const described = toDocument(schema)
    const excludes = fieldNamed(field)?.excludes
    const excluded = excludes?.[part] ?? excludes?.selectInTransaction
    const exclusion = excluded && `Not together with ${excluded.join(', ')}.`
    const text = [described['description'], exclusion].filter(Boolean).join(' ')
    return [[field, {
      ...(own[field]?.['$ref'] === undefined && described),
      ...(text !== '' && { description: text }),
      ...own[field]
    }]]
  })
  return closedObject(fields, { ...(required !== undefined && { required }), ...(description && { description }) })
}

/** The fields that a caller may not use, and filters that must not be empty. */
const ownOfVerb = (verb: Verb, verbs: readonly Verb[]): Own => Object.fromEntries([
  ...Object.keys(OPERATIONS[verb].properties).concat(Object.keys(BODIES[verb].properties))
    .filter((field) => !mayUse(field, verb, verbs)).map((field) => [field, undefined]),
  // the filters of an update may be empty beside a list
  ...verb === 'delete' ? [['filters', { minProperties: 1 }]] : []
])

/** The body of a request to any table. */
export const requestOfAny = (verb: Verb): Schema => fieldsObject(BODIES[verb], verb, ownOfVerb(verb, VERBS))

/** Without fields that are of no use for the table: some need a unique key, and some types cannot be grouped. */
function ownOfTable ({ name, table, verbs, limits, hasMembers }: Subject, verb: Verb): Own {
  const column = refTo(`${name}Column`)
  const ofVerb = ownOfVerb(verb, verbs)
  const listOf = (ending: string): Schema =>
    ({ type: 'array', items: refTo(name + ending), minItems: 1, maxItems: MAX_ROWS })
  const keys = keyColumnsOf(table).map((each) => each.name)
  const groups = sortable(table).map((each) => each.name)
  const parts = [...hasParts(table) ? [refTo(`${name}Part`)] : [], ...hasMembers ? [refTo(MEMBER_COLUMN)] : []]
  return {
    table: { enum: [table.name] },
    data:
      verb === 'insert'
        ? { anyOf: [refTo(`${name}Insert`), listOf('Insert')] }
        : keys.length === 0
          ? refTo(`${name}Update`)
          : { anyOf: [refTo(`${name}Update`), listOf('Entry')] },
    key: keys.length === 0 ? undefined : { items: { type: 'string', enum: keys } },
    columns: { items: column },
    groupBy:
      groups.length === 0
        ? undefined
        : {
            items: anyOf([
              groups.length < table.columns.size ? { type: 'string', enum: groups } : column,
              ...parts.length > 0 ? [{ ...toDocument(NamedGroup), additionalProperties: anyOf(parts) }] : []
            ]),
            uniqueItems: true
          },
    aggregates: {
      additionalProperties: hasMembers
        ? anyOf([refTo(`${name}Aggregate`), refTo(MEMBER_AGGREGATE)])
        : refTo(`${name}Aggregate`)
    },
    after: hasPositions(table) ? { anyOf: [refTo(`${name}Position`), { type: 'null' }] } : undefined,
    offset: { maximum: limits.offset },
    ...(hasConflicts(table)
      ? { onConflict: refTo(`${name}OnConflict`) }
      : { onConflict: undefined, outcomes: undefined }),
    include: hasMembers ? refTo(INCLUDE) : undefined,
    returning:
      verb === 'update' && rowKeysOf(table).length === 0
        ? undefined
        : {
            anyOf: [
              { type: 'array', items: column, minItems: 1, uniqueItems: true }, { type: 'string', enum: ['*'] }
            ]
          },
    ...ofVerb,
    filters: { ...refTo(`${name}Filters`), ...ofVerb['filters'] }
  }
}

export const requestName = (name: string, verb: Verb): string => `${name}${pascalCase(verb)}Request`
export const responseName = (name: string, verb: Verb): string => `${name}${pascalCase(verb)}Response`

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

/** The requests and responses of a table. */
export function requestSchemas (subject: Subject): Schemas {
  const { name, verbs } = subject
  return {
    ...Object.fromEntries(verbs.flatMap((verb) => [
      [requestName(name, verb), fieldsObject(BODIES[verb], verb, ownOfTable(subject, verb))],
      [responseName(name, verb), responseSchema(subject, verb)]
    ])),
    ...unions(name, verbs, verbs.includes('select') ? [GROUPS_RESPONSE] : [])
  }
}

// Responses

const VALUE = 'GroupValue'
const GROUPS_RESPONSE = 'GroupsResponse'

function responseSchema ({ name, table, verbs }: Subject, verb: Verb): Schema {
  const { data: { properties, ...data }, ...rest } = RESPONSES[verb].properties as Record<string, any>
  const { rows, next, ...others } = properties as Record<string, Schema>
  const position = hasPositions(table) ? [refTo(`${name}Position`)] : []
  const ofTable = {
    // a write returns rows only to a caller who may select
    ...(verbs.includes('select') && { rows: { ...rows, items: refTo(`${name}Row`) } }),
    ...(next && {
      next: { anyOf: [...position, { type: 'integer' }, { type: 'null' }], description: next['description'] }
    }),
    ...(verb === 'insert' && { id: insertedId(table) })
  }
  return { ...RESPONSES[verb], properties: { ...rest, data: { ...data, properties: { ...others, ...ofTable } } } }
}

/**
 * The `id` of the response to an insert: it has the schema of the column that identifies a row, or is null, as for a
 * list with `onConflict`. `type: null` alone would make OpenAPI Generator refer to a type that does not exist.
 */
function insertedId ({ identity }: Table): Schema {
  if (identity === undefined) {
    return orNull({ type: 'integer', description: 'Always null: no single column identifies a row.' })
  }
  const { 'x-sql-type': declaration, description, ...schema } = shownSchema(identity)
  return { ...orNull(schema), description: plainText(`The value of "${identity.name}" in the new row.`) }
}

// Members of `include`. A member is typed by its table, which it must name in documents.

const INCLUDE = 'Include'
const MEMBER = 'Member'
const RELATED = 'Related'
const MEMBER_COLUMN = 'MemberColumn'
const MEMBER_AGGREGATE = 'MemberAggregate'

/** One function of a column of a member, in groups of any table. */
function memberAggregate (): Schema {
  const { properties: { filters, ...functions }, minProperties, maxProperties } = AggregateSchema
  const calls = Object.keys(functions).map((name) => [name, refTo(MEMBER_COLUMN)] as const)
  return closedObject([...calls, ['filters', toDocument(filters)]], {
    minProperties,
    maxProperties,
    description: 'One function of a column of a related row, which counts once for each row, and optionally filters.'
  })
}

/** The tables and views whose rows members can have. */
const areRelated = <T extends VisibleTable>(tables: readonly T[]): T[] =>
  tables.filter(({ verbs }) => verbs.includes('select'))

/** Whether a select can have members. */
export const canInclude = ({ include }: DocumentLimits, tables: readonly VisibleTable[]): boolean =>
  include.levels > 0 && include.members > 0 && areRelated(tables).length > 0

const memberName = ({ name }: Subject): string => `${name}Member`

/** `own`: the fields that differ, besides `table`. `more`: the fields that are required, besides `table`. */
function memberSchema (tables: readonly string[], own: Own, more: readonly string[] = []): Schema {
  const table = { enum: tables, description: 'The other table.' }
  const required = ['table', ...more]
  return { ...fieldsObject(MemberSchema, 'member', { table, include: refTo(INCLUDE), ...own }), required }
}

function typedMember (subject: Subject): Schema {
  const { filters, columns } = ownOfTable(subject, 'select')
  const relatable = subject.table.columnList.filter(({ type }) => type.relatedAs !== undefined).map(({ name }) => name)
  const ofTable = {
    filters,
    columns,
    aggregates: { additionalProperties: refTo(`${subject.name}Aggregate`) },
    ...(relatable.length > 0 && { on: { additionalProperties: { type: 'string', enum: relatable } } })
  }
  return memberSchema([subject.table.name], ofTable, subject.table.kind === 'view' ? ['on'] : [])
}

function includeSchemas (all: readonly Subject[], limits: DocumentLimits, isTyped: boolean): Schemas {
  const subjects = areRelated(all)
  return {
    [INCLUDE]: {
      type: 'object',
      additionalProperties: refTo(MEMBER),
      propertyNames: { pattern: MEMBER_NAME.source },
      minProperties: 1,
      maxProperties: limits.include.members,
      description: 'Name in the row to what it contains. A row has one object or null where a unique key allows no ' +
        `more than one related row, otherwise a list. At most ${limits.include.levels} levels, and ` +
        `${limits.include.members} members on all of them together.`
    },
    // no discriminator: a table called `$ref` would make its mapping a reference
    [MEMBER]: isTyped
      ? { anyOf: subjects.map((subject) => refTo(memberName(subject))) }
      : memberSchema(subjects.map(({ table: { name } }) => name), {}),
    ...(isTyped && Object.fromEntries(subjects.map((subject) => [memberName(subject), typedMember(subject)]))),
    [MEMBER_COLUMN]: toDocument(MemberColumnSchema),
    [MEMBER_AGGREGATE]: memberAggregate(),
    [RELATED]: {
      description: 'A member of `include`: related rows, or aggregates of them.',
      anyOf: [
        { type: 'object', additionalProperties: true },
        { type: 'array', items: { type: 'object', additionalProperties: true } },
        { type: 'null' }
      ]
    }
  }
}

// Several operations in one transaction. There is a schema for each verb, with values of any type and so also with
// references, and one for each verb of each table.

export const OPERATIONS_REQUEST = 'OperationsRequest'
export const OPERATIONS_RESPONSE = 'OperationsResponse'
const OPERATION = 'Operation'

/**
 * Maximum number of tables with typed operations and members, because clients in some languages get a class for each of
 * these schemas.
 */
const MAX_TYPED_TABLES = 50

const operationName = (verb: Verb, name = ''): string => `${name}${pascalCase(verb)}Operation`

/** `tables`: those on which each verb is allowed, or undefined for any name; `subjects`: those with types. */
export function operationSchemas (
  tables: ReadonlyMap<Verb, readonly string[] | undefined>,
  most: number,
  subjects: readonly Subject[] = []
): Schemas {
  const verbs = [...tables.keys()]
  const { required, properties: { operations, ...rest } } = operationsBody(most)
  const typed = subjects.flatMap((subject) => subject.verbs.map((verb) => [
    operationName(verb, subject.name),
    fieldsObject(OPERATIONS[verb], verb, ownOfTable(subject, verb))
  ] as const))
  return {
    [OPERATIONS_REQUEST]: closedObject(
      [
        ['operations', { ...operations, items: refTo(OPERATION) }],
        ...Object.entries<Schema>(rest).map(([field, schema]) => [field, toDocument(schema)] as const)
      ],
      { required }
    ),
    [OPERATIONS_RESPONSE]: OperationsResponseSchema,
    [OPERATION]: typed.length === 0
      ? unionByVerb(verbs, operationName)
      : { anyOf: [...typed.map(([name]) => name), ...verbs.map((verb) => operationName(verb))].map(refTo) },
    ...Object.fromEntries(verbs.map((verb) => [operationName(verb), {
      ...fieldsObject(OPERATIONS[verb], verb, {
        ...ownOfVerb(verb, verbs),
        ...(tables.get(verb) && { table: { enum: tables.get(verb) } })
      }),
      description: 'As a request to the table. {"$ref": "/0/id"} in place of a value takes it from an earlier result.'
    }])),
    ...Object.fromEntries(typed)
  }
}

/** Names of schemas that no table may use. */
export const RESERVED: readonly string[] = [
  VALUE, GROUPS_RESPONSE, INCLUDE, MEMBER, MEMBER_COLUMN, MEMBER_AGGREGATE, OTHER_COLUMN, RELATED, RELATED_COUNT,
  OPERATIONS_REQUEST, OPERATIONS_RESPONSE, OPERATION,
  ...VERBS.map((verb) => operationName(verb))
]

/** The schemas that the tables of a document share. `tables`: the names of those on which each verb is allowed. */
export function sharedSchemas (
  subjects: readonly Subject[],
  tables: ReadonlyMap<Verb, readonly string[]>,
  limits: DocumentLimits
): Schemas {
  const isTyped = subjects.length <= MAX_TYPED_TABLES
  return {
    ...(tables.has('select') && {
      [GROUPS_RESPONSE]: groupsResponse(refTo(VALUE) as any),
      [VALUE]: GroupValueSchema
    }),
    ...(subjects.some(({ verbs }) => verbs.some((verb) => verb !== 'insert')) && {
      [OTHER_COLUMN]: closedObject([['$column', { type: 'string' }]], {
        required: ['$column'],
        description: 'The value of another column of the same row, which is of the same kind.'
      })
    }),
    ...(subjects.some(({ related, verbs }) => related.length > 0 && verbs.some((verb) => verb !== 'insert')) && {
      [RELATED_COUNT]: toDocument(relatedCount(limits.offset))
    }),
    ...(subjects[0]?.hasMembers === true && includeSchemas(subjects, limits, isTyped)),
    ...operationSchemas(tables, limits.operations, isTyped ? subjects : [])
  }
}
