import type { Table } from '../catalog/catalog.ts'
import { brokenDefinition, databaseUnavailable, withReason, type ServiceError } from '../errors.ts'

/** The maximum number of errors that are remembered; the oldest one is forgotten first. */
const MAX_KNOWN = 1000

/** How long an error is remembered, in milliseconds. Then the catalog is read again: only this makes SQLite notice that what was missing exists. */
const KNOWN_FOR = 5000

interface Known { readonly facts: string, readonly until: number }

/**
 * Remembers errors about missing tables and columns that remained after the catalog was read again without a change: a trigger, view or
 * routine is broken. For some time the catalog is not read for each request that causes the same error.
 */
export class BrokenDefinitions {
  readonly #known = new Map<string, Known>()
  readonly #now: () => number

  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  has (table: Table, reason: string | undefined): boolean {
    const known = this.#known.get(keyOf(table, reason))
    return known !== undefined && this.#now() < known.until && known.facts === factsOf(table)
  }

  note (table: Table, reason: string | undefined): void {
    if (reason === undefined) return // it cannot be told from other errors
    const key = keyOf(table, reason)
    this.#known.delete(key)
    this.#known.set(key, { facts: factsOf(table), until: this.#now() + KNOWN_FOR })
    if (this.#known.size > MAX_KNOWN) this.#known.delete(this.#known.keys().next().value as string)
  }
}

const keyOf = ({ name }: Table, reason: string | undefined): string => `${reason}: ${name}`

/** All facts of a table, also those that a grant does not see. The type of a column follows from its declaration. */
const factsOf = (table: Table): string => JSON.stringify(table.view?.base ?? table, (key, value) => key === 'type' ? undefined : value)

export interface Unresolved {
  readonly reason: string | undefined
  /** The table in the catalog that the database refused first, if it was the same one, and in the present catalog. */
  readonly before: Table | undefined
  readonly table: Table
}

/** Returns the answer where the error remains although the catalog was read again. If the table is the same in both catalogs, a definition is broken. */
export function toUnresolved (broken: BrokenDefinitions, { reason, before, table }: Unresolved): ServiceError {
  if (before === undefined || factsOf(before) !== factsOf(table)) return databaseUnavailable()
  broken.note(table, reason)
  return withReason(brokenDefinition(), reason)
}
