/** Stops what waits or runs at the end of its time limit, or once its client has disconnected. */
import { queryTimeout, type ServiceError } from '../errors.ts'
import { clientGone, type Client } from './dialect.ts'

/** How often limits and clients are checked, in milliseconds: what is stopped may run this much longer. */
const CHECK_INTERVAL = 100

interface Watched {
  /** The end of its limit, by `performance.now()`. */
  readonly until: number
  readonly client: Client | undefined
  readonly stop: (reason: ServiceError) => void
  /** Where it stands in the list; -1 after its end. */
  index: number
}

/**
 * What waits or runs, in no order. It has one timer in common, because each request would need three of its own. A set
 * of the requests would keep what has gone until V8's next full collection.
 */
const watched: Watched[] = []
let checks: NodeJS.Timeout | undefined

function check (): void {
  if (watched.length === 0) {
    clearInterval(checks)
    checks = undefined
    return
  }
  const now = performance.now()
  for (const each of [...watched]) {
    if (each.index < 0) continue
    if (now >= each.until) {
      end(each)
      each.stop(queryTimeout())
    } else if (each.client?.destroyed === true) each.stop(clientGone())
  }
}

function end (each: Watched): void {
  if (each.index < 0) return
  const last = watched.pop() as Watched
  if (last !== each) {
    watched[each.index] = last
    last.index = each.index
  }
  each.index = -1
  // the next request takes the timer over, which ends with its next check otherwise
  if (watched.length === 0) checks?.unref()
}

/**
 * Calls `stop` with QUERY_TIMEOUT after the time limit, and until then with CLIENT_GONE while the client has
 * disconnected. Returns the function that ends this.
 */
export function watch (
  milliseconds: number,
  client: Client | undefined,
  stop: (reason: ServiceError) => void
): () => void {
  const each = { until: performance.now() + milliseconds, client, stop, index: watched.length }
  watched.push(each)
  if (checks === undefined) checks = setInterval(check, CHECK_INTERVAL)
  else if (watched.length === 1) checks.ref()
  return () => end(each)
}
