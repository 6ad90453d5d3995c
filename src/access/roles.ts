/** The grants of the roles that a JWT can have. */
import type { RolesOptions } from '../../schemas/role.ts'
import { collect } from '../config-errors.ts'
import { createGrant, type Grant, type GrantOptions } from './grant.ts'
import { requireDatabases } from './token-entries.ts'

/** Converts the valid roles. Adds a line to `errors` for each invalid one. `known`: the configured databases. */
export function readRoles (errors: string[], roles: RolesOptions, known: object): ReadonlyMap<string, Grant> {
  return new Map(Object.entries(roles).flatMap(([name, options]) => collect(errors, `roles.${name}.`, (): [string, Grant] => {
    requireDatabases(options.databases, known)
    return [name, createGrant(name, options as GrantOptions, 'role')]
  })))
}
