/**
 * The fields of bodies: a row for each, with all that is said of it where bodies are checked, described and typed. The
 * schemas of bodies, the messages, permissions, documents and tools are derived from these rows.
 */
import {
  type Static, type TInteger, type TObject, type TOptional, type TProperties, type TSchema, Type
} from '@sinclair/typebox'
import { BOUNDS } from './filters.ts'
import type { Verb } from './grants.ts'
import { closed, OneOf } from './server-settings.ts'
import { DEFAULT_LIMIT, MAX_LIMIT, MAX_ROWS, MAX_COLUMNS, MAX_AGGREGATES } from './limits.ts'

/**
 * What has fields: the body of each verb; a select in a transaction, in addition to the fields of its verb; every
 * operation; the request with operations, whose fields no operation has; members of `include`, and of `$some` and
 * `$none`.
 */
export type BodyPart = Verb | 'selectInTransaction' | 'operation' | 'operations' | 'member' | 'related'
type By<P extends BodyPart, T> = Readonly<Partial<Record<P, T>>>

export interface Field {
  /** Its schema in each part of a body that has it. */
  readonly in: By<BodyPart, TSchema>
  /** Continues the message `"field" must be …`; if left out, the schema is described. */
  readonly expected?: string
  /** The fields that are not allowed together with it. */
  readonly excludes?: By<BodyPart, readonly string[]>
  /** The fields that no member of `include` beside it has. */
  readonly excludesOfMembers?: readonly string[]
  /** It needs one of these fields beside it. */
  readonly requires?: By<BodyPart, { readonly oneOf: readonly string[], readonly why?: string }>
  /** It is there if this field is a list, and only then. */
  readonly withList?: By<BodyPart, { readonly field: string, readonly why: string }>
  /** Besides the permission of its verb. */
  readonly needs?: By<Verb, Verb>
  /** The field of a select is in the response behind the rows, so that a stream does not have it. */
  readonly needsAllRows?: true
  /** The field makes a select a page already, or cannot be in one. */
  readonly isNoPage?: true
}

const Values = (options: { description?: string, minProperties?: number } = {}) =>
  Type.Record(Type.String(), Type.Unknown(), options)
const Text = (description: string) => Type.Optional(Type.String({ description }))

const Filters = Values({
  description: 'Selects the rows: column to value, or to an object of operators; $and, $or and $not combine, $some ' +
    'and $none are about related rows, $match searches words.'
})

/** A number of rows; by default any that JavaScript represents exactly. */
const rowCount = (maximum = Number.MAX_SAFE_INTEGER) => Type.Integer({ minimum: 0, maximum })
const RowCount = rowCount()

const boundsOf = (count: TInteger) => Object.fromEntries(BOUNDS.map((bound) => [bound, Type.Optional(count)])) as
  Record<(typeof BOUNDS)[number], TOptional<TInteger>>
const notEmpty = { ...closed, minProperties: 1 }

/** How many related rows pass. `most`: a setting. */
export function relatedCount (most?: number) {
  const count = rowCount(most)
  const pair = Type.Unsafe<[number, number]>(Type.Array(count, { minItems: 2, maxItems: 2 }))
  return Type.Union([count, Type.Object({ ...boundsOf(count), $between: Type.Optional(pair) }, notEmpty)], {
    description: 'How many related rows pass, or bounds such as {"$gte": 3}; at least one if left out.'
  })
}

const expectOf = (description: string) => Type.Optional(Type.Union([
  RowCount,
  Type.Object(boundsOf(RowCount), notEmpty)
], { description: `${description} If it does not hold: 412.` }))

const ExpectMatches = expectOf(
  'The number of rows that the filters match, or its bounds, such as {"$lte": 10}; nothing is changed if it does not ' +
  'hold.'
)

const DryRun = Type.Optional(Type.Boolean({ description: 'true: returns the response and changes nothing.' }))

const NULLS = '\\s+[Nn][Uu][Ll][Ll][Ss]\\s+([Ff][Ii][Rr][Ss][Tt]|[Ll][Aa][Ss][Tt])'
const Direction = Type.String({ pattern: `^([Aa][Ss][Cc]|[Dd][Ee][Ss][Cc])(${NULLS})?$` })
const one = { minProperties: 1, maxProperties: 1 }

/** A direction, or an object with a member and what stands under it. */
const underMember = (inner: TSchema) => Type.Union([Direction, Type.Record(Type.String(), inner, one)])

/**
 * A term of `orderBy` as an object. Its only key is the column, which allows any character in the name, also with a
 * path inside JSON, or a member of `include` with its column.
 */
const OrderTerm = Type.Object({}, {
  additionalProperties: underMember(underMember(underMember(Direction))),
  ...one,
  description: 'The column and its direction: ASC or DESC, also with NULLS FIRST or NULLS LAST; or a member of ' +
    'include that is one row, with its column and direction; or a JSON column with a path and direction, ' +
    '{"meta": {"$.size": "DESC"}}; or $match and DESC: the best matches first.'
})

/** The name of a member of `include` in the rows of the response. */
export const MEMBER_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/** A column of a member of `include`, or of a member of that. */
export interface MemberColumn { readonly [member: string]: string | MemberColumn }

const underMembers = (inner: TSchema) => Type.Record(Type.String({ pattern: MEMBER_NAME.source }), inner, {
  ...closed,
  ...one
})
const columnOr = (inner: TSchema) => Type.Union([Type.String(), inner])

/** A column of a member of `include` that is one row, in groups. */
export const MemberColumnSchema = Type.Unsafe<MemberColumn>({
  ...underMembers(columnOr(underMembers(columnOr(underMembers(Type.String()))))),
  description: 'A member of include that is one row, and its column; members of the member may stand in between.'
})

/** The names of the members that lead to a column of a member, and the column. */
export function followMembers (given: MemberColumn): { readonly members: readonly string[], readonly column: string } {
  const [[name, inner]] = Object.entries(given) as [[string, string | MemberColumn]]
  if (typeof inner === 'string') return { members: [name], column: inner }
  const { members, column } = followMembers(inner)
  return { members: [name, ...members], column }
}

/** `operand`: what a function is computed from. That of `$count` may be `*`. */
const functionsOf = <T extends TSchema>(operand: (description: string) => T) => Type.Object({
  $count: operand('Counts the rows with a value in this column; "*" counts all rows.'),
  $countDistinct: operand('Counts the different values of this column.'),
  $sum: operand('Adds the numbers of this column.'),
  $avg: operand('The average of the numbers of this column.'),
  $min: operand('The least value of this column.'),
  $max: operand('The greatest value of this column.'),
  filters: Type.Optional(Values({
    description: 'Selects the rows that the function is computed from, of those that the filters of the request select.'
  }))
}, { ...closed, ...one, maxProperties: 2, description: 'One function and its column, and optionally filters.' })

/** An aggregate of related rows. */
export const AggregateSchema = functionsOf(Text)

/** An aggregate of a group. */
const GroupAggregate = functionsOf((description) =>
  Type.Optional(Type.Union([Type.String(), MemberColumnSchema], { description })))

/** A part of time of a column, by which rows are grouped. */
export const PartSchema = Type.Object({
  $year: Text('The year of this column, a number.'),
  $month: Text('The month of this column: "2026-11".'),
  $week: Text('The week of this column by ISO 8601: "2026-W47".'),
  $date: Text('The day of this column: "2026-11-23".'),
  $hour: Text('The hour of this column: "2026-11-23T10".')
}, { ...closed, ...one, description: 'One part of time and its column.' })

/** The name of an aggregate, or of an object in `groupBy`, in the rows of the response. */
const ResultName = Type.String({ pattern: '^[A-Za-z0-9_]{1,64}$' })

/** An entry of `groupBy` with a name of its own. */
export const NamedGroup = Type.Record(ResultName, Type.Union([PartSchema, MemberColumnSchema]), { ...closed, ...one })

/** Names of columns, none of them twice. */
const Names = (options: { description?: string, minItems?: number } = {}) =>
  Type.Array(Type.String(), { minItems: 1, maxItems: MAX_COLUMNS, uniqueItems: true, ...options })

const Returning = Type.Optional(Type.Union([Names(), Type.Literal('*')], {
  description: 'Columns of the written rows to return as "rows", in this order; "*" for all of them.'
}))

const aggregatesOf = <T extends TSchema>(call: T, description: string) =>
  Type.Optional(Type.Record(ResultName, call, {
    ...closed,
    minProperties: 1,
    maxProperties: MAX_AGGREGATES,
    description
  }))

/**
 * The members of a row by name: rows of other tables. Checked by src/request/check-members.ts, because members have
 * members.
 */
export interface Include { readonly [name: string]: Static<TObject<FieldsIn<'member'>>> }

const IncludeSchema = Type.Optional(Type.Unsafe<Include>(Type.Object({}, {
  additionalProperties: true,
  minProperties: 1,
  description: 'Name to what it contains: rows of other tables that are related to each row. A member is an object ' +
    'or null where there can be only one such row, otherwise a list; "as" says otherwise.'
})))

const IncludeReturned = Type.Optional(Type.Unsafe<Include>(Type.Object({}, {
  additionalProperties: true,
  minProperties: 1,
  description: 'Needs "returning": rows of other tables that are related to each returned row, as in a select, and ' +
    'as they are after the write, or before a delete; without aggregates.'
})))

const Changes = Values({
  minProperties: 1,
  description: 'Columns to change: column to value, or to an update operator such as {"$inc": 1}.'
})

/**
 * A row of a list. Its names are looked up in the table; a pattern for them would take a third of the time to check a
 * list.
 */
const Row = Type.Unsafe<Record<string, unknown>>(
  Type.Object({}, { additionalProperties: true, description: 'Column to value.' })
)

const OnConflict = Type.Optional(Type.Object({
  key: Names({ description: 'The columns of one unique key, in any order.' }),
  set: Type.Optional(Type.Union([
    Type.Array(Type.String(), {
      maxItems: MAX_COLUMNS,
      uniqueItems: true,
      description: 'Columns that are set to the values of the row in `data`; none leaves the existing row unchanged.'
    }),
    Changes
  ], {
    description: 'What to change in a row that exists: columns, or an object of values as in the `data` of an ' +
      'update; if left out, every column that the row in `data` has, except those of the key. An empty list changes ' +
      'nothing.'
  }))
}, { ...closed, description: 'Updates the rows that have the same values in a unique key, instead of refusing them.' }))

const Table = Text('The other table; the name of the member if left out.')
const On = Type.Optional(Type.Record(Type.String(), Type.String(), {
  minProperties: 1,
  description: 'Column of this table to the column of the other table that has the same value; the foreign key ' +
    'between both tables if left out.'
}))

/** The forms of a member in the rows of the response. */
export const FORMS = ['list', 'object'] as const
const As = Type.Optional(OneOf(FORMS, {
  description: 'The form of the member: "list", or "object" for its first row, or null; if left out, an object where ' +
    'there can be only one row.'
}))

const Columns = Type.Optional(Names({ description: 'Columns to return, in this order; all of them if left out.' }))
const Limit = Type.Optional(Type.Integer({
  minimum: 1,
  maximum: MAX_LIMIT,
  default: DEFAULT_LIMIT,
  description: `Rows to return at most; ${DEFAULT_LIMIT} if left out.`
}))
const OrderTerms = Type.Array(OrderTerm, { minItems: 1, maxItems: MAX_COLUMNS })
const OrderBy = Type.Optional(Type.Union([Type.String(), OrderTerms], {
  description: '"<column>", "<column> ASC" or "<column> DESC", several separated by commas; or a list of terms such ' +
    'as {"<column>": "DESC"}, for columns of any name. "<member>.<column>" and {"<member>": {"<column>": "DESC"}} ' +
    'are columns of a member of include that is one row, also through members of it. A direction may end in NULLS ' +
    'FIRST or NULLS LAST; without it null is the lowest value.'
}))

export const ISOLATIONS = ['repeatableRead', 'serializable'] as const

/** What a select with `groupBy` or `aggregates` does not have: fields for the rows of a table. */
const NOT_OF_GROUPS = ['columns', 'after', 'total', 'expect']
/** Groups use columns of members, which do not stand in the rows. */
const NOT_OF_MEMBERS_OF_GROUPS = ['as', 'columns', 'limit', 'orderBy', 'aggregates']

const returning = { oneOf: ['returning'], why: 'it is about the rows that the write returns' }

/** The same for each write. */
const ofWrites = <const T>(each: T) => ({ insert: each, update: each, delete: each })

/** In the order in which bodies and members have them. */
export const FIELDS = {
  table: {
    in: { operation: Type.String({ description: 'The table or view.' }), member: Table, related: Table },
    expected: 'the name of a table'
  },
  verb: {
    in: {
      select: Type.Literal('select'),
      insert: Type.Literal('insert'),
      update: Type.Literal('update'),
      delete: Type.Literal('delete')
    }
  },
  on: { in: { member: On, related: On }, expected: 'an object of columns: of this table to those of the other table' },
  as: { in: { member: As } },
  data: {
    in: {
      insert: Type.Union([
        Values({ description: 'Column to value.' }),
        Type.Array(Row, { minItems: 1, maxItems: MAX_ROWS })
      ], {
        description: `A row, or a list of 1 to ${MAX_ROWS} rows, which may have different columns: all of them are ` +
          'inserted or none.'
      }),
      update: Type.Union([Changes, Type.Array(Row, { minItems: 1, maxItems: MAX_ROWS })], {
        description: `The changes of every row, or a list of 1 to ${MAX_ROWS} rows with changes of their own: each ` +
          'has the columns of "key", which find its row, and the columns to change.'
      })
    },
    expected: 'an object of column values, or a list of them'
  },
  key: {
    in: {
      update: Type.Optional(Names({
        description: 'With a list in `data`: the columns of one unique key without nullable columns, in any order.'
      }))
    },
    expected: 'a list of column names, not empty and without repeats',
    withList: { update: { field: 'data', why: 'the columns that find the row of each entry' } }
  },
  onConflict: {
    in: { insert: OnConflict },
    expected: 'an object with "key", a list of column names without repeats, and optionally "set", such a list or an ' +
      'object of column values'
  },
  outcomes: {
    in: {
      insert: Type.Optional(Type.Boolean({
        description: 'true, with onConflict: returns what became of each row as "outcomes", in the order of `data`: ' +
          'inserted, updated or unchanged. The rows are then written one by one.'
      }))
    },
    requires: { insert: { oneOf: ['onConflict'] } }
  },
  filters: {
    in: {
      select: Type.Optional(Filters),
      update: Filters,
      delete: Filters,
      member: Type.Optional(Filters),
      related: Type.Optional(Filters)
    },
    expected: 'an object of filters'
  },
  count: {
    in: { related: Type.Optional(relatedCount()) },
    expected: `a whole number from 0, or an object of ${BOUNDS.join(', ')} and such numbers, or $between and two`
  },
  columns: {
    in: { select: Columns, member: Columns },
    expected: 'a list of column names, not empty and without repeats; leave it out for all columns'
  },
  limit: { in: { select: Limit, member: Limit } },
  orderBy: { in: { select: OrderBy, member: OrderBy }, expected: 'a string or a list of objects' },
  groupBy: {
    in: {
      // repeats are found by src/request/check-groups.ts
      select: Type.Optional(Type.Array(
        Type.Union([Type.String(), NamedGroup]),
        {
          minItems: 1,
          maxItems: MAX_COLUMNS,
          description: 'Returns one row for each combination of values of these columns. An entry such as {"month": ' +
            '{"$month": "<column>"}} groups by a part of time, and gives it a name; {"country": {"<member>": ' +
            '"<column>"}} groups by a column of a member of include that is one row, or of a member of that.'
        }
      ))
    },
    expected: 'a list of column names, of parts of time such as {"month": {"$month": "<column>"}} and of columns of ' +
      'members such as {"country": {"<member>": "<column>"}}, not empty and without repeats',
    excludes: { select: NOT_OF_GROUPS },
    excludesOfMembers: NOT_OF_MEMBERS_OF_GROUPS,
    isNoPage: true
  },
  aggregates: {
    in: {
      select: aggregatesOf(
        GroupAggregate,
        'Name to function: values that are computed from the rows of each group, or from all rows without groupBy. ' +
        '{"credit": {"$sum": {"<member>": "<column>"}}} takes the column of a member of include that is one row, ' +
        'once for each row.'
      ),
      member: aggregatesOf(AggregateSchema, 'Name to function: values that are computed from all related rows.')
    },
    expected: `an object of 1 to ${MAX_AGGREGATES} names (1 to 64 letters, digits and _), each with one function ` +
      'such as {"$sum": "<column>"} and optionally "filters"',
    excludes: { select: NOT_OF_GROUPS, member: ['as', 'columns', 'orderBy', 'limit', 'include'] },
    excludesOfMembers: NOT_OF_MEMBERS_OF_GROUPS,
    isNoPage: true
  },
  having: {
    in: {
      select: Type.Optional(Values({
        description: 'Selects groups, as filters select rows: by the columns of groupBy and the names of aggregates.'
      }))
    },
    expected: 'an object of filters',
    requires: { select: { oneOf: ['groupBy', 'aggregates'] } }
  },
  after: {
    in: {
      select: Type.Optional(Type.Union([Values(), Type.Null()], {
        description: 'Returns the rows after a position: null for the first page, then `next` of the response before.'
      }))
    },
    expected: 'null or an object of column values',
    excludes: { select: ['offset'] },
    isNoPage: true
  },
  offset: {
    in: {
      select: Type.Optional(
        Type.Integer({ minimum: 0, description: 'Rows to skip. Not allowed together with `after`, which is faster.' })
      )
    },
    expected: 'a whole number from 0',
    isNoPage: true
  },
  total: {
    in: {
      select: Type.Optional(Type.Union([Type.Literal(true), Type.Integer({ ...RowCount, minimum: 1 })], {
        description:
          'Counts the rows that the filters select: true for all of them, or a number at which the count stops.'
      }))
    },
    expected: 'true or a whole number from 1',
    needsAllRows: true
  },
  returning: {
    in: ofWrites(Returning),
    expected: '"*", or a list of column names, not empty and without repeats',
    excludesOfMembers: ['aggregates'],
    needs: ofWrites('select')
  },
  expect: {
    in: {
      select: expectOf('The number of rows in the response, or its bounds, such as {"$gte": 1}.'),
      update: ExpectMatches,
      delete: ExpectMatches
    },
    expected: `a whole number from 0, or an object of ${BOUNDS.join(', ')} and such numbers`,
    // a write shows with it whether rows match
    needs: { update: 'select', delete: 'select' },
    needsAllRows: true
  },
  include: {
    in: { select: IncludeSchema, ...ofWrites(IncludeReturned), member: IncludeSchema },
    expected: 'an object of at least one member, such as {"<name>": {"table": "<table>"}}',
    requires: ofWrites(returning),
    // as "returning", beside which it stands
    needs: ofWrites('select')
  },
  lock: {
    in: {
      selectInTransaction: Type.Optional(Type.Boolean({
        description: 'Locks the selected rows until the end of the transaction. Needs the permission update.'
      }))
    },
    excludes: { selectInTransaction: ['include'] },
    needs: { select: 'update' }
  },
  isolation: {
    in: {
      operations: Type.Optional(OneOf(ISOLATIONS, {
        description:
          'The isolation level; repeatableRead if left out. Operations that only select always read one snapshot.'
      }))
    }
  },
  dryRun: {
    in: {
      ...ofWrites(DryRun),
      operations: Type.Optional(Type.Boolean({ description: 'Returns the same response and changes nothing.' }))
    },
    // that of an insert shows no rows
    needs: { update: 'select', delete: 'select' }
  }
} as const satisfies Readonly<Record<string, Field>>

type Rows = typeof FIELDS
type Having<P extends BodyPart> = { readonly in: Readonly<Record<P, TSchema>> }

export type FieldsIn<P extends BodyPart> = {
  -readonly [F in keyof Rows as Rows[F] extends Having<P> ? F : never]: Extract<Rows[F], Having<P>>['in'][P]
}

const rows: Readonly<Record<string, Field>> = FIELDS
export const fieldNamed = (name: string): Field | undefined => Object.hasOwn(rows, name) ? rows[name] : undefined

/** The names of the fields whose rows have this. */
export const fieldsWith = (key: keyof Field): string[] =>
  Object.keys(rows).filter((name) => rows[name]?.[key] !== undefined)

/** The schemas of fields by their names. `choose`: the one of a field, if it is among them. */
export const schemasOf = (choose: (places: Field['in']) => TSchema | undefined): TProperties =>
  Object.fromEntries(Object.entries(rows).flatMap(([name, { in: places }]) => {
    const schema = choose(places)
    return schema === undefined ? [] : [[name, schema]]
  }))

export const fieldsIn = <P extends BodyPart>(place: P): FieldsIn<P> =>
  schemasOf((places) => places[place]) as FieldsIn<P>
