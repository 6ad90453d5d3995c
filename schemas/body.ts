/** The request body: one schema for each verb. */
import { type Static, type TInteger, type TOptional, Type } from '@sinclair/typebox'
import { BOUNDS } from './filters.ts'

const closed = { additionalProperties: false }

const Filters = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'Selects the rows: column to value, or to an object of operators; $and, $or and $not combine, $some and $none ' +
    'are about related rows.'
})
const Data = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Column to value.'
})

/** Default and maximum number of rows of a select. */
export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 1000

/** A number of rows that JavaScript represents exactly. */
const RowCount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

const Bounds = Object.fromEntries(BOUNDS.map((bound) => [bound, Type.Optional(RowCount)])) as Record<
  (typeof BOUNDS)[number],
  TOptional<TInteger>
>

const expectOf = (description: string) => Type.Optional(Type.Union([
  RowCount,
  Type.Object(Bounds, { ...closed, minProperties: 1 })
], { description: `${description} If it does not hold: 412.` }))

const ExpectMatches = expectOf(
  'The number of rows that the filters match, or its bounds, such as {"$lte": 10}; nothing is changed if it does not ' +
  'hold.'
)

const DryRun = Type.Optional(Type.Boolean({ description: 'true: returns the answer and changes nothing.' }))

const Direction = Type.String({ pattern: '^([Aa][Ss][Cc]|[Dd][Ee][Ss][Cc])$' })
const one = { minProperties: 1, maxProperties: 1 }

/**
 * A term of `orderBy` as an object. Its only key is the column, which allows any character in the name, or a member of
 * `include` with its column.
 */
const OrderTerm = Type.Object(
  {},
  {
    additionalProperties: Type.Union([Direction, Type.Record(Type.String(), Direction, one)]),
    ...one,
    description:
      'The column and its direction: ASC or DESC; or a member of include that is one row, with its column and ' +
      'direction.'
  }
)

/** Maximum number of rows of an insert, and of its values: rows times the columns that any of them names. */
export const MAX_ROWS = 1000
export const MAX_CELLS = 100_000

/** Maximum number of columns of a MySQL table. */
const MAX_COLUMNS = 4096

/** The operand of `$count` may be `*`. */
export const AggregateSchema = Type.Object(
  {
    $count: Type.Optional(
      Type.String({ description: 'Counts the rows with a value in this column; "*" counts all rows.' })
    ),
    $countDistinct: Type.Optional(Type.String({ description: 'Counts the different values of this column.' })),
    $sum: Type.Optional(Type.String({ description: 'Adds the numbers of this column.' })),
    $avg: Type.Optional(Type.String({ description: 'The average of the numbers of this column.' })),
    $min: Type.Optional(Type.String({ description: 'The least value of this column.' })),
    $max: Type.Optional(Type.String({ description: 'The greatest value of this column.' })),
    filters: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Selects the rows that the function is computed from, of those that the filters of the request select.'
      })
    )
  },
  {
    ...closed,
    minProperties: 1,
    maxProperties: 2,
    description: 'One function and its column, and optionally filters.'
  }
)

/** A part of time of a column, by which rows are grouped. */
export const PartSchema = Type.Object({
  $year: Type.Optional(Type.String({ description: 'The year of this column, a number.' })),
  $month: Type.Optional(Type.String({ description: 'The month of this column: "2026-11".' })),
  $week: Type.Optional(Type.String({ description: 'The week of this column by ISO 8601: "2026-W47".' })),
  $date: Type.Optional(Type.String({ description: 'The day of this column: "2026-11-23".' })),
  $hour: Type.Optional(Type.String({ description: 'The hour of this column: "2026-11-23T10".' }))
}, { ...closed, minProperties: 1, maxProperties: 1, description: 'One part of time and its column.' })

/** The name of an aggregate or of a part of time in the rows of the answer. */
export const RESULT_NAME = '^[A-Za-z0-9_]{1,64}$'

/** Maximum number of aggregates. The database needs memory for each of them. */
export const MAX_AGGREGATES = 100

/** Names of columns, none of them twice. */
const Names = (options: { description?: string } = {}) =>
  Type.Array(Type.String(), { minItems: 1, maxItems: MAX_COLUMNS, uniqueItems: true, ...options })

const Returning = Type.Optional(
  Type.Union([Names(), Type.Literal('*')], {
    description: 'Columns of the written rows to return as "rows", in this order; "*" for all of them.'
  })
)

/** The fields that select rows: those of a request, or those of a member, which are related to each row. */
const ROWS = {
  filters: Type.Optional(Filters),
  columns: Type.Optional(Names({ description: 'Columns to return, in this order; all of them if left out.' })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_LIMIT,
      default: DEFAULT_LIMIT,
      description: `Rows to return at most; ${DEFAULT_LIMIT} if left out.`
    })
  ),
  orderBy: Type.Optional(
    Type.Union([Type.String(), Type.Array(OrderTerm, { minItems: 1 })], {
      description:
        '"<column>", "<column> ASC" or "<column> DESC", several separated by commas; or a list of terms such as ' +
        '{"<column>": "DESC"}, for columns of any name. "<member>.<column>" and {"<member>": {"<column>": "DESC"}} ' +
        'are columns of a member of include that is one row.'
    })
  )
}

const Aggregates = Type.Record(Type.String({ pattern: RESULT_NAME }), AggregateSchema, {
  ...closed,
  minProperties: 1,
  maxProperties: MAX_AGGREGATES,
  description:
    'Name to function: values that are computed from the rows of each group, or from all rows without groupBy.'
})

/** The name of a member of `include` in the rows of the answer. */
export const MEMBER_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/** Levels of `include` and members that settings can allow. */
export const MAX_INCLUDE = { levels: 10, members: 50 }

/**
 * The members of a row by name: rows of other tables. Checked by src/request/check-related.ts, because members have
 * members.
 */
export interface Include { readonly [name: string]: Member }

const IncludeSchema = Type.Unsafe<Include>(
  Type.Object(
    {},
    {
      additionalProperties: true,
      minProperties: 1,
      description:
        'Name to what it contains: rows of other tables that are related to each row. A member is an object or null ' +
        'where there can be only one such row, otherwise a list.'
    }
  )
)

/** The other table of a member, and the columns that relate its rows. */
const RELATION = {
  table: Type.Optional(Type.String({ description: 'The other table; the name of the member if left out.' })),
  on: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      minProperties: 1,
      description:
        'Column of this table to the column of the other table that has the same value; the foreign key between both ' +
        'tables if left out.'
    })
  )
}

/**
 * A member of `$some` or `$none` in filters. Checked by src/request/check-related.ts, because filters have members at
 * any depth.
 */
export const RelatedSchema = Type.Object(
  { ...RELATION, filters: Type.Optional(Filters) },
  { ...closed, description: 'Rows of another table that are related to the row.' }
)

export const MemberSchema = Type.Object({
  ...RELATION,
  ...ROWS,
  aggregates: Type.Optional(Aggregates),
  include: Type.Optional(IncludeSchema)
}, { ...closed, description: 'Rows of another table, or aggregates of them.' })

export const SelectBodySchema = Type.Object(
  {
    verb: Type.Literal('select'),
    ...ROWS,
    // repeats are found by src/request/fields.ts
    groupBy: Type.Optional(
      Type.Array(
        Type.Union([
          Type.String(),
          Type.Record(Type.String({ pattern: RESULT_NAME }), PartSchema, {
            ...closed,
            minProperties: 1,
            maxProperties: 1
          })
        ]),
        {
          minItems: 1,
          maxItems: MAX_COLUMNS,
          description:
            'Returns one row for each combination of values of these columns. An entry such as {"month": {"$month": ' +
            '"<column>"}} groups by a part of time, and gives it a name.'
        }
      )
    ),
    aggregates: Type.Optional(Aggregates),
    having: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Selects groups, as filters select rows: by the columns of groupBy and the names of aggregates.'
      })
    ),
    after: Type.Optional(
      Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
        description: 'Returns the rows after a position: null for the first page, then `next` of the answer before.'
      })
    ),
    offset: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Rows to skip. Not allowed together with `after`, which is faster.' })
    ),
    total: Type.Optional(
      Type.Union([Type.Literal(true), Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })], {
        description:
          'Counts the rows that the filters select: true for all of them, or a number at which the count stops.'
      })
    ),
    expect: expectOf('The number of rows in the answer, or its bounds, such as {"$gte": 1}.'),
    include: Type.Optional(IncludeSchema)
  },
  closed
)

const Changes = Type.Record(Type.String(), Type.Unknown(), {
  minProperties: 1,
  description: 'Columns to change: column to value, or to a form such as {"$inc": 1}.'
})

/**
 * A row of a list. Its names are looked up in the table; a pattern for them would take a third of the time to check a
 * list.
 */
const Row = Type.Unsafe<Record<string, unknown>>(
  Type.Object({}, { additionalProperties: true, description: 'Column to value.' })
)

const OnConflictSchema = Type.Object(
  {
    key: Names({ description: 'The columns of one unique key, in any order.' }),
    set: Type.Optional(
      Type.Union(
        [
          Type.Array(Type.String(), {
            maxItems: MAX_COLUMNS,
            uniqueItems: true,
            description:
              'Columns that are set to the values of the row in `data`; none leaves the existing row unchanged.'
          }),
          Changes
        ],
        {
          description:
            'What to change in a row that exists: columns, or an object of values as in the `data` of an update; if ' +
            'left out, every column that the row in `data` has, except those of the key.'
        }
      )
    )
  },
  { ...closed, description: 'Updates the rows that have the same values in a unique key, instead of refusing them.' }
)

export const InsertBodySchema = Type.Object(
  {
    verb: Type.Literal('insert'),
    data: Type.Union([Data, Type.Array(Row, { minItems: 1, maxItems: MAX_ROWS })], {
      description: `A row, or a list of 1 to ${MAX_ROWS} rows, which may have different columns: all of them are ` +
        'inserted or none.'
    }),
    onConflict: Type.Optional(OnConflictSchema),
    returning: Returning,
    dryRun: DryRun
  },
  closed
)

export const UpdateBodySchema = Type.Object({
  verb: Type.Literal('update'),
  data: Changes,
  filters: Filters,
  returning: Returning,
  expect: ExpectMatches,
  dryRun: DryRun
}, closed)

export const DeleteBodySchema = Type.Object({
  verb: Type.Literal('delete'),
  filters: Filters,
  returning: Returning,
  expect: ExpectMatches,
  dryRun: DryRun
}, closed)

/** Verb -> schema of its body. */
export const BODIES = {
  select: SelectBodySchema,
  insert: InsertBodySchema,
  update: UpdateBodySchema,
  delete: DeleteBodySchema
} as const

export const BodySchema = Type.Union([SelectBodySchema, InsertBodySchema, UpdateBodySchema, DeleteBodySchema], {
  discriminator: { propertyName: 'verb' }
})

export type Member = Static<typeof MemberSchema>
export type Related = Static<typeof RelatedSchema>
export type SelectBody = Static<typeof SelectBodySchema>
/** A function of `aggregates`. */
export type AggregateCall = Static<typeof AggregateSchema>
export type InsertBody = Static<typeof InsertBodySchema>
export type OnConflict = Static<typeof OnConflictSchema>
export type UpdateBody = Static<typeof UpdateBodySchema>
export type DeleteBody = Static<typeof DeleteBodySchema>
export type Body = Static<typeof BodySchema>
export type Expect = NonNullable<SelectBody['expect']>
