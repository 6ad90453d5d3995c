import type { Table } from '../catalog/catalog.ts'

/** Errors of tables remembered at most; the one that was noted first is forgotten first. */
const MAX_KNOWN = 1000

/** Milliseconds after which the catalog is read again for such a table: SQLite notices only then that what was missing is there. */
const KNOWN_FOR = 5000

interface Known { readonly facts: string, readonly until: number }

/**
 * Tables whose errors about missing things were confirmed by reading the catalog again: it had not changed, so a trigger,
 * view or routine is broken. For a while the catalog is not read for each request that meets the same error.
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
    if (reason === undefined) return // nothing tells it from the next error
    const key = keyOf(table, reason)
    this.#known.delete(key)
    this.#known.set(key, { facts: factsOf(table), until: this.#now() + KNOWN_FOR })
    if (this.#known.size > MAX_KNOWN) this.#known.delete(this.#known.keys().next().value as string)
  }
}

const keyOf = ({ name }: Table, reason: string | undefined): string => `${reason}: ${name}`

/** Whether two readings of the catalog say the same of a table. */
export const isSameTable = (one: Table, other: Table): boolean => factsOf(one) === factsOf(other)

/** All that was read of a table. A column's type follows from its declaration. */
const factsOf = (table: Table): string => JSON.stringify(table, (key, value) => key === 'type' ? undefined : value)
