/** Who waits for an answer over HTTP. */
import type { ServerResponse } from 'node:http'
import type { Client } from '../dialects/dialect.ts'
import { isClosed } from '../response/closed.ts'
import type { Grant } from './grant.ts'

/** Who waits for an answer: one token, JWT subject or caller of a host app; without a subject, a role. */
export class Caller implements Client {
  readonly #response: ServerResponse
  readonly #grant: Grant

  constructor (response: ServerResponse, grant: Grant) {
    this.#response = response
    this.#grant = grant
  }

  get destroyed (): boolean { return isClosed(this.#response) }

  get caller (): string { return this.#grant.owner ?? `role ${this.#grant.name}` }
}
