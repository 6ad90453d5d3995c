/** The schemas of grants: what a caller may do, and where. */
import { type Static, Type } from '@sinclair/typebox'
import { closed, OneOf } from './server-settings.ts'
import { MAX_COLUMNS } from './limits.ts'

/** The verbs of the interface; no other file lists them. */
export const VERBS = ['select', 'insert', 'update', 'delete'] as const
export type Verb = typeof VERBS[number]
const VerbSchema = OneOf(VERBS)

// The named requests that a grant may call.

/** The form of the name of a request, and of a parameter. */
export const REQUEST_NAME = '^[A-Za-z][A-Za-z0-9_]{0,63}$'
export const REQUEST_NAME_RULE = 'a letter, then up to 63 letters, digits and _'

export const RequestName = Type.String({
  pattern: REQUEST_NAME, description: `the name of a request: ${REQUEST_NAME_RULE}`
})

export const MAX_REQUESTS = 1000

export const CallableSchema = Type.Union([
  Type.Literal('*'),
  Type.Array(RequestName, { uniqueItems: true, maxItems: MAX_REQUESTS })
], { description: 'requests with "as" that may be called: a list of names, or "*"' })

/** The permissions of a token, a role or a grant of a host app. */
export const PermissionsSchema = Type.Array(VerbSchema, {
  minItems: 1,
  uniqueItems: true,
  description: `one or more of ${VERBS.join(', ')}`
})

/** Values in a list of a rule. */
const MAX_VALUES = 1000

const ClaimSchema = Type.Object({
  $claim: Type.String({
    pattern: '^(/([^~/]|~[01])*)+$',
    description: 'a JSON Pointer to a claim: /tenant, with a slash before each name'
  })
}, closed)
const Operand = Type.Union([Type.String(), Type.Number(), Type.Boolean(), ClaimSchema])
const OperandOrNull = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null(), ClaimSchema])
const Operands = Type.Array(OperandOrNull, { maxItems: MAX_VALUES })

/** The operators of a rule; `$claim` stands alone. A row must satisfy all of them. */
const Operators = Type.Object({
  ...ClaimSchema.properties,
  $eq: OperandOrNull,
  $is: OperandOrNull,
  $in: Operands,
  $null: Type.Boolean(),
  $gt: Operand,
  $gte: Operand,
  $lt: Operand,
  $lte: Operand
}, closed)

const RuleSchema = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Boolean(),
  Type.Null(),
  Operands,
  Type.Partial(Operators, { ...closed, minProperties: 1 })
], {
  description:
    'a value, a list of values, {"$claim": "/tenant"}, or an object of $eq, $is, $in, $null, $gt, $gte, $lt and $lte'
})

const Columns = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { uniqueItems: true, maxItems: MAX_COLUMNS, description })

export const TableGrantSchema = Type.Object({
  permissions: Type.Optional(Type.Array(VerbSchema, {
    uniqueItems: true,
    description: `some of the permissions of the entry (${VERBS.join(', ')}); default: all of them`
  })),
  columns: Type.Optional(Type.Partial(Type.Object({
    select: Columns('columns that are seen; default: none'),
    insert: Columns('columns that an insert may write; default: those of select'),
    update: Columns('columns that an update may write; default: those of select')
  }), {
    ...closed,
    description:
      'columns that are seen (select) and written (insert, update; default: those of select); default: all columns'
  })),
  rows: Type.Optional(Type.Record(Type.String(), RuleSchema, {
    description: 'rules by column: only rows that satisfy all of them exist, and only such rows can be written'
  }))
}, closed)

export const GrantDatabasesSchema = Type.Record(Type.String(), Type.Union([
  Type.Literal('*'),
  Type.Array(Type.String(), { minItems: 1 }),
  Type.Record(Type.String(), TableGrantSchema)
], { description: 'all tables, a list of tables, or an object of tables with what is allowed there' }))

export const ClaimsSchema = Type.Record(Type.String(), Type.Unknown(), {
  description: 'values for {"$claim": …} in the rules of "rows"'
})

/** The name of a token, or of a grant of a host app. */
const NameSchema = Type.String({ minLength: 1, maxLength: 100 })

/** The grant of a request in process: the fields that it shares with the entry of a token. */
export const GrantSchema = Type.Object({
  name: Type.Optional(NameSchema),
  permissions: Type.Optional(Type.Array(VerbSchema)),
  databases: Type.Optional(Type.Union([Type.Literal('*'), GrantDatabasesSchema])),
  requests: Type.Optional(CallableSchema),
  claims: Type.Optional(ClaimsSchema)
}, closed)

// The grants of roles and of a host app. Unlike those of tokens, they must name their databases.

export const NAMED_DATABASES = '"*", or databases, each with "*", a list of tables or an object of tables'

const grant = {
  permissions: Type.Optional(PermissionsSchema),
  databases: Type.Optional(Type.Union([Type.Literal('*'), GrantDatabasesSchema], { description: NAMED_DATABASES })),
  requests: Type.Optional(CallableSchema)
}

const RoleSchema = Type.Object({
  ...grant,
  for: Type.Optional(Type.Literal('requests', {
    description: 'makes it a role of named requests ("as") instead of one of JWTs'
  }))
}, closed)

export const RolesSchema = Type.Record(Type.String({ pattern: '^.{1,100}$' }), RoleSchema, {
  additionalProperties: false,
  description: 'grants of JWTs and named requests by role: 1 to 100 characters'
})

export const HostGrantSchema = Type.Object({ ...grant, name: NameSchema, claims: Type.Optional(ClaimsSchema) }, closed)

export type RolesOptions = Static<typeof RolesSchema>
