/** The grants of JWT roles and of a host app. Unlike those of tokens, they must name their databases. */
import { type Static, Type } from '@sinclair/typebox'
import { ClaimsSchema, GrantDatabasesSchema, NameSchema, PermissionsSchema } from './grants.ts'
import { closed } from './server-settings.ts'

const grant = {
  permissions: PermissionsSchema,
  databases: Type.Union([Type.Literal('*'), GrantDatabasesSchema], {
    description: '"*", or the databases of the role, each with "*", a list of tables or an object of tables'
  })
}

export const RoleSchema = Type.Object(grant, closed)

export const RolesSchema = Type.Record(Type.String({ pattern: '^.{1,100}$' }), RoleSchema, {
  additionalProperties: false,
  description: 'the grants of JWTs by role; a name has 1 to 100 characters'
})

export const HostGrantSchema = Type.Object({
  ...grant,
  name: NameSchema,
  claims: Type.Optional(ClaimsSchema)
}, closed)

export type RolesOptions = Static<typeof RolesSchema>
