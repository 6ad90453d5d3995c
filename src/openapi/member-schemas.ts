/**
 * The schemas of `include`. A member is typed by its table, which it must name in documents, so that each table has one
 * schema for all tables that refer to it. The rules that depend on the foreign keys and column names of the referring
 * table are in the field of that table.
 */
import { MemberSchema } from '../../schemas/body.ts'
import { FIELDS, MEMBER_NAME } from '../../schemas/fields.ts'
import type { Table } from '../catalog/catalog.ts'
import { isOne } from '../plan/relation.ts'
import type { DocumentLimits, Subject, RelatedTable, VisibleTable } from './visible.ts'
import { aggregatesField, oneOfNames, rowOrderSchema } from './select-schemas.ts'
import {
  closedObject, defining, refTo, requiring, type Schema, type Schemas, bare, withoutDefault
} from './value-schema.ts'

const INCLUDE = 'Include'
const MEMBER = 'Member'
const RELATED = 'Related'

/** Names that no table may use. */
export const MEMBER_NAMES: readonly string[] = [INCLUDE, MEMBER, RELATED]

/** The name of the schema of a table's members. */
export const memberName = (name: string): string => `${name}Member`

/** The tables whose rows members can have, without views. */
const areRelated = <T extends VisibleTable>(tables: readonly T[]): T[] =>
  tables.filter(({ table, verbs }) => table.kind === 'table' && verbs.includes('select'))

/** Whether a select can have members. */
export const canInclude = ({ include }: DocumentLimits, tables: readonly VisibleTable[]): boolean =>
  include.levels > 0 && include.members > 0 && areRelated(tables).length > 0

/** The field `include` of a table. */
export const includeField = ({ description }: Schema): Schema => ({ ...refTo(INCLUDE), description })

/**
 * Excludes from the field of a table: names of its columns, tables that need `on` because no foreign key or several
 * relate them, and orders of one row.
 */
export function includeRules (
  { name, table }: Pick<Subject, 'name' | 'table'>,
  related: readonly RelatedTable[]
): Schema {
  const ones = related.filter(({ other, on }) => isOne(other, on)).map(({ other }) => other.name)
  const withoutOn =
    related.length === 0
      ? requiring('on')
      : {
          ...defining({ table: { enum: related.map(({ other }) => other.name) } }),
          ...(ones.length > 0 && {
            if: defining({ table: { enum: ones } }),
            then: defining({ limit: false, orderBy: false })
          })
        }
  return defining({
    include: {
      propertyNames: { not: refTo(`${name}Column`) },
      additionalProperties: {
        if: requiring('on'),
        then: defining({ on: { propertyNames: oneOfNames(relatableNames(table)), additionalProperties: true } }),
        else: withoutOn
      }
    },
    lock: false
  })
}

/** The columns that `on` can name. */
const relatableNames = ({ columns }: Table): string[] =>
  [...columns.values()].filter(({ type }) => type.relatedAs !== undefined).map(({ name }) => name)

/** The shared schemas. `isTyped`: whether each table has a schema for its members. */
export function memberSchemas (all: readonly Subject[], limits: DocumentLimits, isTyped: boolean): Schemas {
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
    [MEMBER]: isTyped ? { anyOf: subjects.map(({ name }) => refTo(memberName(name))) } : untypedMember(subjects),
    ...(isTyped && Object.fromEntries(subjects.map((subject) => [memberName(subject.name), typedMember(subject)]))),
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

/** The members of a row. Generators of clients do not read this keyword, so members have no type in them. */
export const membersOfRow: Schema = { unevaluatedProperties: refTo(RELATED) }

const TABLE = 'The other table.'

/** `own`: the schemas of fields that differ here; undefined for a field that is left out. */
function memberObject (own: Readonly<Record<string, Schema | undefined>>): Schema {
  const { properties, description } = MemberSchema
  return closedObject(Object.entries<Schema>(properties).flatMap(([field, schema]): Array<[string, Schema]> => {
    const found = Object.hasOwn(own, field) ? own[field] : withoutDefault(schema)
    return found === undefined ? [] : [[field, found]]
  }), {
    required: ['table'],
    description,
    if: requiring('aggregates'),
    then: defining(Object.fromEntries(FIELDS.aggregates.excludes.member.map((field) => [field, false])))
  })
}

function typedMember ({ name, table, members }: Subject): Schema {
  const { on, columns, filters, orderBy, aggregates, include } = MemberSchema.properties
  const relatable = relatableNames(table)
  return {
    ...memberObject({
      table: { type: 'string', enum: [table.name], description: TABLE },
      on: {
        type: 'object',
        additionalProperties: relatable.length === 0 ? { not: {} } : { type: 'string', enum: relatable },
        minProperties: 1,
        description: on.description
      },
      filters: { ...refTo(`${name}Filters`), description: filters.description },
      columns: { ...bare(columns), items: refTo(`${name}Column`), description: columns.description },
      orderBy: rowOrderSchema(table, orderBy),
      aggregates: aggregatesField(name, aggregates),
      include: includeField(include)
    }),
    dependentSchemas: { include: includeRules({ name, table }, members ?? []) }
  }
}

function untypedMember (subjects: readonly Subject[]): Schema {
  const { include } = MemberSchema.properties
  return memberObject({
    table: { type: 'string', enum: subjects.map((subject) => subject.table.name), description: TABLE },
    include: includeField(include)
  })
}
