/** The setting `requests`: requests that the operator writes once, and that are called by name with parameters. */
import { type Static, Type } from '@sinclair/typebox'
import { closed } from './server-settings.ts'

/** The form of the name of a request, and of a parameter. */
const REQUEST_NAME = '^[A-Za-z][A-Za-z0-9_]{0,63}$'
const NAME = 'a letter, then up to 63 letters, digits and _'

export const RequestName = Type.String({ pattern: REQUEST_NAME, description: `the name of a request: ${NAME}` })

const MAX_REQUESTS = 1000
export const MAX_PARAMETERS = 100

const DESCRIPTION = 2000

const ParameterSchema = Type.Partial(Type.Object({
  description: Type.String({ maxLength: DESCRIPTION, description: 'what it means, for the documents and tools' }),
  optional: Type.Boolean({
    default: false,
    description: 'may be left out, with its condition or column'
  }),
  default: Type.Unknown({ description: 'value if left out: a value, a list, or {"$now": …}' }),
  maximum: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'greatest value of a limit or offset'
  })
}), closed)

const NamedRequestSchema = Type.Object({
  description: Type.Optional(Type.String({
    maxLength: DESCRIPTION,
    description: 'what it does, for the documents and tools'
  })),
  database: Type.String({ minLength: 1, description: 'name of the database' }),
  table: Type.Optional(Type.String({
    minLength: 1,
    description: 'table of the body; without it, the body has operations'
  })),
  as: Type.Optional(Type.String({
    minLength: 1,
    description: 'role, with "for": "requests", whose rights it has; default: those of the caller'
  })),
  maxAge: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: 86_400,
    description: 'seconds for which a response to GET may be used again'
  })),
  parameters: Type.Optional(Type.Record(Type.String({ pattern: REQUEST_NAME }), ParameterSchema, {
    additionalProperties: false,
    maxProperties: MAX_PARAMETERS,
    description: `at most ${MAX_PARAMETERS} parameters by name: ${NAME}`
  })),
  body: Type.Object({}, {
    additionalProperties: true,
    description: 'body, with {"$param": "<name>"} in place of values'
  })
}, closed)

export const RequestsSchema = Type.Record(Type.String({ pattern: REQUEST_NAME }), NamedRequestSchema, {
  additionalProperties: false,
  maxProperties: MAX_REQUESTS,
  description: `named requests at {prefix}/requests/{name}: ${NAME}`
})

/** The named requests that a grant may call. */
export const CallableSchema = Type.Union([
  Type.Literal('*'),
  Type.Array(RequestName, { uniqueItems: true, maxItems: MAX_REQUESTS })
], { description: 'requests with "as" that may be called: a list of names, or "*"' })

export type RequestsOptions = Static<typeof RequestsSchema>
export type NamedRequestOptions = RequestsOptions[string]
export type ParameterOptions = Static<typeof ParameterSchema>
