/** The grants of a host app: those that its function `authenticate` returns, and those of requests in process. */
import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { FastifyRequest } from 'fastify'
import { GrantSchema, HostGrantSchema } from '../../schemas/grants.ts'
import { findConfigErrors, orThrow } from '../config-errors.ts'
import { copyGrant, NotPlain } from '../json/plain-values.ts'
import { createGrant, type Grant, type GrantOptions } from './grant.ts'

/** A grant of a host app, in the form of a token's entry. */
export interface HostGrant extends GrantOptions {
  /** Identifies the caller in logs and for rate limits and idempotency keys. */
  readonly name: string
  /** Required: `"*"` for all databases. */
  readonly databases: NonNullable<GrantOptions['databases']>
}

/** The grant of a request in process. */
export interface CallGrant extends GrantOptions {
  /** Passed to the hook for writes; `in process` if omitted. */
  readonly name?: string
}

/** Authenticates a request for the host app. Returns null if it does not know the caller. */
export type Authenticate = (
  request: FastifyRequest
) => HostGrant | null | undefined | Promise<HostGrant | null | undefined>

const hostGrants = TypeCompiler.Compile(HostGrantSchema)
/** Strict: a misspelt `databases` would allow access to all databases. */
const callGrants = TypeCompiler.Compile(GrantSchema)

/**
 * Returns null if the app does not know the caller.
 * @throws InvalidGrant, and whatever the function throws
 */
export async function getHostGrant (authenticate: Authenticate, request: FastifyRequest): Promise<Grant | null> {
  const given = authenticate(request)
  // only resolving a thenable gives its value: its `then` may return anything
  return isThenable(given) ? await Promise.resolve(given).then(toGrantOrNull) : toGrantOrNull(given)
}

function isThenable (value: unknown): value is Promise<unknown> {
  return typeof (value as Promise<unknown> | null)?.then === 'function'
}

function toGrantOrNull (given: unknown): Grant | null {
  return given === null || given === undefined ? null : toGrant(given)
}

/**
 * Copies the grant at once, because the app may use the same object for the next request. `giver`: the beginning of the
 * message. @throws InvalidGrant
 */
export function toGrant (given: unknown, giver = 'authenticate() returned'): Grant {
  return create(copyChecked(given, { check: hostGrants, schema: HostGrantSchema, giver }) as HostGrant, giver)
}

/** The grant of a request in process. @throws InvalidGrant */
export function toCallGrant (given: unknown): Grant {
  const giver = 'The request has'
  const grant = copyChecked(given, { check: callGrants, schema: GrantSchema, giver }) as CallGrant
  return create({ name: 'in process', ...grant }, giver)
}

const NAMES = new Map([['configuration', 'the grant']])
const NOT_CLONED = 'the claims contain something that cannot be copied, such as a function'

/** @throws InvalidGrant */
function copyChecked (
  given: unknown,
  {
    check,
    schema,
    giver
  }: { readonly check: { Check(value: unknown): boolean }; readonly schema: TSchema; readonly giver: string }
): unknown {
  const toInvalid = (reason: string): InvalidGrant => new InvalidGrant(giver, reason)
  const copyClaims = (claims: unknown): unknown =>
    orThrow(
      () => structuredClone(claims),
      () => toInvalid(NOT_CLONED)
    )
  let grant: unknown
  try {
    grant = copyGrant(given, copyClaims)
  } catch (error) {
    throw error instanceof NotPlain ? toInvalid(error.message) : error
  }
  if (!check.Check(grant)) throw toInvalid(findConfigErrors(schema, grant, NAMES).join('; '))
  return grant
}

function create ({ name, ...options }: GrantOptions & { readonly name: string }, giver: string): Grant {
  return orThrow(() => createGrant(name, options, 'app'), ({ message }) => new InvalidGrant(giver, message))
}

/** A bug of the host app, answered over HTTP with 500; only the log has the reason. */
export class InvalidGrant extends Error {
  readonly code = 'INTERNAL'
  readonly statusCode = 500

  constructor (giver: string, reason: string) {
    super(`${giver} a grant that is not valid: ${reason}`)
    this.name = 'InvalidGrant'
  }
}
