/** Who waits for an answer over HTTP. */
import type { Client } from '../dialects/dialect.ts'
import type { Grant } from './grant.ts'

/** Who waits for an answer: one token, JWT subject or caller of a host app; without a subject, a role. */
export class Caller implements Client {
  readonly #response: { readonly destroyed: boolean }
  readonly #grant: Grant

  constructor (response: { readonly destroyed: boolean }, grant: Grant) {
    this.#response = response
    this.#grant = grant
  }

  get destroyed (): boolean { return this.#response.destroyed }

  get caller (): string { return this.#grant.owner ?? `role ${this.#grant.name}` }
}
