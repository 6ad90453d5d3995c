/** The setting `requests`: requests that the operator writes once, and that are called by name with parameters. */
import { type Static, Type } from '@sinclair/typebox'
import { closed } from './server-settings.ts'

/** The form of the name of a request, and of a parameter. */
export const REQUEST_NAME = '^[A-Za-z][A-Za-z0-9_]{0,63}$'

export const MAX_REQUESTS = 1000
export const MAX_PARAMETERS = 100

const DESCRIPTION = 2000

const ParameterSchema = Type.Partial(Type.Object({
  description: Type.String({ maxLength: DESCRIPTION, description: 'what it means, for the documents and tools' }),
  optional: Type.Boolean({
    default: false,
    description: 'whether it may be left out, with the condition or column that it is the value of'
  }),
  default: Type.Unknown({ description: 'what it is if it is left out: a value, a list, or {"$now": …}' }),
  maximum: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'greatest value of one that is a limit (at most 1000) or an offset (at most limits.offset)'
  })
}), closed)

const NamedRequestSchema = Type.Object({
  description: Type.Optional(Type.String({
    maxLength: DESCRIPTION,
    description: 'what it does, for the documents and tools'
  })),
  database: Type.String({ minLength: 1, description: 'the name of a database' }),
  table: Type.Optional(Type.String({
    minLength: 1,
    description: 'the table of the body; without it, the body has operations'
  })),
  as: Type.Optional(Type.String({
    minLength: 1,
    description: 'the role with whose rights it runs, which has "for": "requests"; default: the rights of the caller'
  })),
  maxAge: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: 86_400,
    description: 'how long a client may use an answer to GET again, in seconds'
  })),
  parameters: Type.Optional(Type.Record(Type.String({ pattern: REQUEST_NAME }), ParameterSchema, {
    additionalProperties: false,
    maxProperties: MAX_PARAMETERS,
    description: `the parameters by name, at most ${MAX_PARAMETERS}; a name begins with a letter and has 1 to 64 ` +
      'letters, digits and _'
  })),
  body: Type.Object({}, {
    additionalProperties: true,
    description: 'the body of the request to the table or database, with {"$param": "<name>"} in place of values'
  })
}, closed)

export const RequestsSchema = Type.Record(Type.String({ pattern: REQUEST_NAME }), NamedRequestSchema, {
  additionalProperties: false,
  maxProperties: MAX_REQUESTS,
  description: 'named requests, which are called at {prefix}/requests/{name}; a name begins with a letter and has 1 ' +
    'to 64 letters, digits and _'
})

/** The named requests that a grant may call. */
export const CallableSchema = Type.Union([
  Type.Literal('*'),
  Type.Array(Type.String({ pattern: REQUEST_NAME }), { uniqueItems: true, maxItems: MAX_REQUESTS })
], { description: 'the requests with "as" that may be called: a list of names, or "*"; default: none' })

export type RequestsOptions = Static<typeof RequestsSchema>
export type NamedRequestOptions = RequestsOptions[string]
export type ParameterOptions = Static<typeof ParameterSchema>
