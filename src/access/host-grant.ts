/** The grant that the function `authenticate` of a host app returns for a request. */
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { FastifyRequest } from 'fastify'
import { HostGrantSchema } from '../../schemas/role.ts'
import { findConfigErrors, orThrow } from '../config-errors.ts'
import { createGrant, type Grant, type GrantOptions } from './grant.ts'

/** A grant of a host app, in the form of a token's entry. */
export interface HostGrant extends GrantOptions {
  /** Identifies the caller in logs and for rate limits and idempotency keys. */
  readonly name: string
  /** Required: `"*"` for all databases. */
  readonly databases: NonNullable<GrantOptions['databases']>
}

/** Authenticates a request in the way of the host app. Returns null if it does not know the caller. */
export type Authenticate = (request: FastifyRequest) => HostGrant | null | undefined | Promise<HostGrant | null | undefined>

const hostGrants = TypeCompiler.Compile(HostGrantSchema)

/**
 * Returns null if the app does not know the caller.
 * @throws Error if the grant is not valid, and whatever the function throws
 */
export async function getHostGrant (authenticate: Authenticate, request: FastifyRequest): Promise<Grant | null> {
  const given = authenticate(request)
  return isPromise(given) ? await given.then(toGrantOrNull) : toGrantOrNull(given)
}

function isPromise (value: unknown): value is Promise<unknown> {
  return typeof (value as Promise<unknown> | null)?.then === 'function'
}

function toGrantOrNull (given: unknown): Grant | null {
  return given === null || given === undefined ? null : toGrant(given)
}

/** Copies the grant at once, because the app may use the same object for the next request. `giver`: the beginning of the message. @throws Error if the grant is not valid */
export function toGrant (given: unknown, giver = 'authenticate() returned'): Grant {
  if (!hostGrants.Check(given)) throw new InvalidGrant(giver, findConfigErrors(HostGrantSchema, given, new Map([['configuration', 'the grant']])).join('; '))
  const { name, permissions, databases, claims } = given as HostGrant
  const copied = orThrow(() => structuredClone(claims), () => new InvalidGrant(giver, 'the claims contain something that cannot be copied, such as a function'))
  return orThrow(() => createGrant(name, { permissions, databases, claims: copied }, 'app'), ({ message }) => new InvalidGrant(giver, message))
}

/** A bug of the host app. Without a status, so that the answer is 500. */
class InvalidGrant extends Error {
  constructor (giver: string, reason: string) {
    super(`${giver} a grant that is not valid: ${reason}`)
  }
}
