/**
 * What a request does whose catalog is stale: the catalog is read again, and the request runs once more. If that does
 * not help, a definition in the database is broken, which is remembered for a while.
 */
import { baseTable, type Catalog, type Table } from '../catalog/catalog.ts'
import { StaleCatalog } from '../dialects/dialect.ts'
import {
  brokenDefinition, databaseUnavailable, isServiceError, type ServiceError, withReason, withRetryAfter
} from '../errors.ts'
import { BoundedMap } from '../bounded-map.ts'
import { tablesOf } from '../plan/filters/scope.ts'
import type { Plan } from '../plan/plan.ts'

/** The most errors that are remembered; the oldest one is forgotten first. */
const MAX_KNOWN = 1000

/**
 * How long an error is remembered, in milliseconds. Afterwards the catalog is read again, because only this makes
 * SQLite notice an object that was missing.
 */
const KNOWN_FOR = 5000

/**
 * How long an error that a temporary state may cause must last to count as permanent, in milliseconds. Such a state is
 * a table that is renamed and then renamed back.
 */
const LASTS = 4000
/** An error counts as a new one so long after its last occurrence, in milliseconds. */
const FORGOTTEN = 15_000

/**
 * Remembers errors about missing tables and columns that remained after the catalog was read again without a change, so
 * that a trigger, view or routine must be broken. For some time, the catalog is not read again for requests that cause
 * the same error.
 */
export class BrokenDefinitions {
  readonly #broken = new BoundedMap<string, { facts: string, until: number }>(MAX_KNOWN)
  readonly #suspected = new BoundedMap<string, { facts: string, since: number, last: number }>(MAX_KNOWN)
  readonly #now: () => number

  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  has (tables: readonly Table[], reason: string | undefined): boolean {
    const entry = this.#broken.get(keyOf(tables, reason))
    return entry !== undefined && this.#now() < entry.until && entry.facts === factsOf(tables)
  }

  note (tables: readonly Table[], reason: string | undefined): void {
    if (reason === undefined) return // it cannot be distinguished from other errors
    this.#broken.set(keyOf(tables, reason), { facts: factsOf(tables), until: this.#now() + KNOWN_FOR })
  }

  /** Returns how long it must still last to count as permanent, in milliseconds. */
  suspect (tables: readonly Table[], reason: string | undefined): number {
    const now = this.#now()
    const key = keyOf(tables, reason)
    const facts = factsOf(tables)
    const before = this.#suspected.get(key)
    const since = before?.facts === facts && now - before.last < FORGOTTEN ? before.since : now
    this.#suspected.set(key, { facts, since, last: now })
    return LASTS - (now - since)
  }
}

const keyOf = (tables: readonly Table[], reason: string | undefined): string =>
  `${reason}: ${tables.map(({ name }) => name).join()}`

/** The facts of the base tables. The type of a column is omitted, because it follows from the declaration. */
const factsOf = (tables: readonly Table[]): string =>
  JSON.stringify(tables.map(baseTable), (key, value) => (key === 'type' ? undefined : value))

interface KnownDatabase {
  readonly broken: BrokenDefinitions
  readonly catalog: Catalog | undefined
}

/**
 * The error of a second attempt that was stale, too. `before`: the tables of the first attempt. If the tables are the
 * same in both catalogs, a definition is broken. If the catalog does have the missing object, which may have been
 * renamed for a moment, this is concluded only if the error lasts.
 */
export function toUnresolved (
  { broken, catalog }: KnownDatabase,
  { stale: { reason, missing, isRebuilt }, tables }: Pick<StaleAttempt, 'stale' | 'tables'>,
  before: readonly Table[]
): ServiceError {
  if (isRebuilt) return withReason(databaseUnavailable(), reason ?? 'a column has another type than in the catalog')
  if (factsOf(before) !== factsOf(tables)) return databaseUnavailable()
  const milliseconds = isThere(missing, tables, catalog) ? broken.suspect(tables, reason) : 0
  if (milliseconds > 0) return withRetryAfter(withReason(databaseUnavailable(), reason), milliseconds)
  broken.note(tables, reason)
  return withReason(brokenDefinition(), reason)
}

/**
 * One of the tables has such a column, or the catalog has such a table, or the table is missing from the latest reading
 * and may come back.
 */
function isThere (missing: string | undefined, named: readonly Table[], catalog: Catalog | undefined): boolean {
  const name = missing?.slice(missing.lastIndexOf('.') + 1)
  if (name === undefined || catalog === undefined) return false
  const { tables, missing: absent = new Map() } = catalog
  return (
    tables.has(name) ||
    absent.has(name) ||
    [...named.map(baseTable), ...absent.values()].some(({ columns }) => columns.has(name))
  )
}

/** The tables of the database differ from the plans of an attempt. */
export class StaleAttempt extends Error {
  readonly stale: StaleCatalog
  /** The tables of the plan that has failed, as its grant sees them: a request of a hook has others than the write. */
  readonly tables: readonly Table[]
  /** The attempt has changed nothing for certain, so that the request can run again. */
  readonly isUndone: boolean

  constructor (stale: StaleCatalog, plan: Plan, isUndone = true) {
    super(stale.message)
    this.stale = stale
    this.tables = tablesOf(plan)
    this.isUndone = isUndone || stale.isUndone === true
  }
}

export const toStale = (error: unknown, plan: Plan, isUndone = true): unknown =>
  error instanceof StaleCatalog ? new StaleAttempt(error, plan, isUndone) : error

/** The maximum number of attempts while other programs change definitions. */
const MAX_ATTEMPTS = 5

/**
 * Runs an attempt and, if it is stale, reads the catalog and runs it once more; again if the definitions have changed
 * meanwhile, and nothing was written. Each attempt gets the error of the one before, and may throw. No async function,
 * whose frame takes more memory than promises: every request has one.
 * @throws ServiceError: BROKEN_DEFINITION or DATABASE_UNAVAILABLE if the last attempt is also stale
 */
export function withFreshCatalog<T> (
  database: KnownDatabase & { readonly running: Set<Promise<unknown>>, refresh (): Promise<unknown> },
  attempt: (stale?: StaleAttempt) => Promise<T>
): Promise<T> {
  const { running } = database
  let first: Promise<T>
  try {
    first = attempt()
  } catch (error) {
    first = Promise.reject(error)
  }
  const whole: Promise<T> = first.then((result) => {
    running.delete(whole)
    return result
  }, (error: unknown) => {
    if (error instanceof StaleAttempt) {
      return attemptAgain(database, attempt, error).finally(() => running.delete(whole))
    }
    running.delete(whole)
    throw error
  })
  running.add(whole)
  return whole
}

async function attemptAgain<T> (
  database: KnownDatabase & { refresh (): Promise<unknown> },
  attempt: (stale: StaleAttempt) => Promise<T>,
  first: StaleAttempt
): Promise<T> {
  for (let stale = first, count = 2; ; count++) {
    refuseKnownBroken(database, stale)
    await database.refresh()
    try {
      return await attempt(stale)
    } catch (again) {
      if (!(again instanceof StaleAttempt)) throw again
      const isMoving = again.stale.isRebuilt || factsOf(stale.tables) !== factsOf(again.tables)
      if (!isMoving || !again.isUndone || count === MAX_ATTEMPTS) throw toUnresolved(database, again, stale.tables)
      stale = again
    }
  }
}

interface Planning extends Pick<KnownDatabase, 'catalog'> {
  look (): Promise<Catalog>
}

/**
 * Plans, at once if the catalog is there and accepts the request. Before a request is refused by the catalog, this is
 * read once more, so that what is new in the database can be used, also where it took the place of something that is
 * kept until a second reading. If it cannot be read, the catalog that there is decides. `plan` gets the database with
 * the catalog that it must use. @throws what `plan` throws; DATABASE_UNAVAILABLE if it throws this for want of what the
 * last reading lacks, until a second reading has confirmed that
 */
export function lookAgain<D extends Planning, T> (
  database: D,
  plan: (database: D) => T | Promise<T>
): T | Promise<T> {
  const before = database.catalog
  try {
    const planned = plan(database)
    return planned instanceof Promise ? planned.catch((error) => planAgain(error, before, database, plan)) : planned
  } catch (error) {
    return planAgain(error, before, database, plan)
  }
}

async function planAgain<D extends Planning, T> (
  refusal: unknown,
  first: Catalog | undefined,
  database: D,
  plan: (database: D) => T | Promise<T>
): Promise<T> {
  const planBy = async (catalog: Catalog, tables: Catalog['tables']): Promise<T> => {
    const planned = { ...catalog, tables }
    return await plan({ ...database, catalog: planned })
  }
  for (let error = refusal, before = first; ;) {
    if (!isServiceError(error)) throw error
    const { mayBeNew = false } = error
    const latest = mayBeNew ? await database.look().catch(() => before) : before
    if (latest === before) {
      if (latest === undefined) throw error
      const { found, missing, tables } = latest
      if (mayBeNew && found !== undefined) return await planBy(latest, found).catch(() => { throw error })
      if (missing === undefined) throw error
      try {
        await planBy(latest, new Map([...tables, ...missing]))
      } catch (again) {
        if ((again as ServiceError).code === error.code) throw again
      }
      throw withReason(databaseUnavailable(), 'lost from the catalog a moment ago')
    }
    before = latest
    try {
      return await plan(database)
    } catch (again) {
      error = again
    }
  }
}

/** @throws BROKEN_DEFINITION if another request has shown a moment ago that reading the catalog does not help */
function refuseKnownBroken ({ broken }: KnownDatabase, { stale: { reason }, tables }: StaleAttempt): void {
  if (broken.has(tables, reason)) throw withReason(brokenDefinition(), reason)
}
