/** Who waits for an answer over HTTP. */
import type { ServerResponse } from 'node:http'
import type { Client } from '../dialects/dialect.ts'
import { isClosed } from '../response/budget.ts'
import type { Grant } from './grant.ts'

/**
 * Identifies a caller among all callers: a token, a subject of an issuer, a caller of a host app; a JWT without a
 * subject is its role of its issuer.
 */
export const callerOf = ({ owner, name, claims }: Grant): string =>
  owner ?? `role ${JSON.stringify([claims['iss'], name])}`

/** Who waits for an answer. */
export class Caller implements Client {
  readonly #response: ServerResponse
  readonly #grant: Grant

  constructor (response: ServerResponse, grant: Grant) {
    this.#response = response
    this.#grant = grant
  }

  get destroyed (): boolean { return isClosed(this.#response) }

  get caller (): string { return callerOf(this.#grant) }
}
