/** The response bodies: one for each verb, and one for errors. */
import { Type, type TProperties, type TSchema } from '@sinclair/typebox'

/** An enum instead of `const`, which generators for OpenAPI 3.0 do not support. */
const Always = (value: boolean) => Type.Boolean({ enum: [value] })
const Count = (description: string) => Type.Integer({ format: 'int32', minimum: 0, description })

const response = <Data extends TProperties>(data: Data, description: string) =>
  Type.Object({ success: Always(true), data: Type.Object(data) }, { description })

/** A value in a row of `groupBy` and `aggregates`, whatever the table. */
export const GroupValueSchema = Type.Union([
  Type.Integer({ format: 'int64', description: 'A $count or $countDistinct; the $min or $max of integers.' }),
  Type.String({
    description:
      'The $sum or $avg of integers or decimals, exact, such as "12.50"; texts, decimals, times and bytes as in ' +
      'their columns.'
  }),
  Type.Number({ format: 'double', description: 'The $sum or $avg of floating-point numbers, their $min or $max.' }),
  Type.Boolean({ description: 'A bit of groupBy.' }),
  Type.Array(Type.String(), { description: 'The members of a SET of groupBy.' }),
  Type.Null({ description: 'The group has no value, or NULL.' })
])

/** With groups. `value`: the schema of a value in `rows`, or a reference to one. */
export const groupsResponse = (value: TSchema) =>
  response({
    rows: Type.Array(Type.Object({}, {
      additionalProperties: value,
      description: 'The columns of groupBy, then the aggregates, by their names.'
    })),
    count: Count('Rows in this response.'),
    next: Type.Optional(Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: 'The next offset, for a request with `offset`. Null if no row follows.'
    }))
  }, 'The response to a select with groupBy or aggregates.')

/** The fields that the response to any write may have. */
const written = {
  rows: Type.Optional(Type.Array(Type.Record(Type.String(), Type.Unknown()), {
    description: 'The written rows, for a request with `returning`.'
  })),
  dryRun: Type.Optional(
    Type.Boolean({ enum: [true], description: 'Nothing was changed, for a request with `dryRun`.' })
  )
}

export const RESPONSES = {
  select: response({
    rows: Type.Array(
      Type.Record(Type.String(), Type.Unknown(), { description: 'Column to value, in the order asked for.' })
    ),
    count: Count('Rows in this response.'),
    next: Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Integer(), Type.Null()], {
      description:
        'Where the next page begins, for a request with `after` or `offset`: to be sent back as the same field. ' +
        'Null if no row follows.'
    })),
    total: Type.Optional(Type.Integer({
      format: 'int64',
      minimum: 0,
      description: 'Rows that the filters select, for a request with `total`.'
    }))
  }, 'The response to a select.'),
  insert: response({
    inserted: Count('Rows added.'),
    updated: Type.Optional(Count('Rows that existed and were changed, for a request with `onConflict`.')),
    unchanged: Type.Optional(Count('Rows that existed and were not changed, for a request with `onConflict`.')),
    id: Type.Unknown({
      description:
        'The number that the database gave the row, else the value of its primary key, else null. For a list, that ' +
        'of the first row; null with `onConflict`.'
    }),
    outcomes: Type.Optional(Type.Array(Type.String({ enum: ['inserted', 'updated', 'unchanged'] }), {
      description: 'What became of each row of `data`, for a request with `outcomes`.'
    })),
    ...written
  }, 'The response to an insert.'),
  update: response(
    { updated: Count('Rows changed; one that had the values already is none.'), ...written },
    'The response to an update.'
  ),
  delete: response({ deleted: Count('Rows removed.'), ...written }, 'The response to a delete.')
} as const

export const OperationsResponseSchema = response({
  results: Type.Array(Type.Unsafe<object>({ type: 'object', additionalProperties: true }), {
    description: 'The data of the response to each operation, in the same order.'
  }),
  dryRun: Type.Optional(Always(true))
}, 'The response to several operations.')

export const RefusalSchema = Type.Object({
  success: Always(false),
  data: Type.Object({}),
  error: Type.Object({
    code: Type.String({ description: 'Stable: to be told apart by programs.' }),
    message: Type.String({ description: 'For a person.' }),
    details: Type.Array(Type.Object({
      path: Type.String({ description: 'Where in the body: a JSON Pointer (RFC 6901).' }),
      message: Type.String()
    }))
  })
}, { description: 'A refusal.' })
