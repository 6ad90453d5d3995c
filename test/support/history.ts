/**
 * Checks the history of concurrent requests on registers: whether each acknowledged write is there once and no refused
 * one is, and whether some serial order explains what was read, as far as the isolation promises one.
 *
 * Each write of a register counts its version and stores its own id, so that the order of the versions is known, and
 * with it every dependency: of a write on the version before it, of a read on the write of its version, of the next
 * write on that read.
 */

/** What is read or written of a register. Version 0 and value 0 are the beginning. */
export interface Seen { readonly register: number, readonly version: number, readonly value: number }

export interface Event {
  readonly id: number
  /** When the request was sent and answered, in milliseconds. */
  readonly begin: number
  readonly end: number
  /** `failed`: the answer promises that nothing was changed. */
  readonly outcome: 'ok' | 'failed' | 'unknown'
  /** The registers that it writes. */
  readonly writes: readonly number[]
  readonly reads: readonly Seen[]
  /**
   * Whether nobody may write what it has read before it commits: a snapshot that writes nothing, or a serializable
   * transaction.
   */
  readonly isWhole: boolean
  /** The version of a register that its write required. */
  readonly required?: Seen
  /** For a walk over the pages of the log: the ids of its rows, of all between two. */
  readonly walk?: { readonly from: number, readonly to: number, readonly rows: readonly number[] }
}

/** A row of the log, in which each write notes the version that it has made. */
export interface Logged {
  readonly id: number, readonly op: number, readonly register: number, readonly version: number
}

export interface Final { readonly registers: readonly Seen[], readonly log: readonly Logged[] }

/** `isStrict`: whether a read sees every write that was acknowledged before it began, as on one server. */
export function checkHistory (events: readonly Event[], { registers, log }: Final, { isStrict }: {
  readonly isStrict: boolean
}): string[] {
  const written = Map.groupBy(log, ({ op }) => op)
  const writers = new Map<string, number>()
  const problems: string[] = []
  for (const { op, register, version } of log) {
    const key = keyOf(register, version)
    if (writers.has(key)) {
      problems.push(`doubled: register ${register} has version ${version} from ${writers.get(key)} and ${op}`)
    }
    writers.set(key, op)
  }
  const counts = Map.groupBy(log, ({ register }) => register)
  for (const { register, version, value } of registers) {
    const writes = counts.get(register)?.length ?? 0
    if (writes !== version) problems.push(`register ${register} has version ${version} after ${writes} writes`)
    if (version > 0 && writers.get(keyOf(register, version)) !== value) {
      problems.push(`register ${register} has the value of ${value}, and not of its last write`)
    }
  }
  const committed = events.filter((event) => event.outcome === 'ok' || written.has(event.id))
  for (const event of events) {
    problems.push(...checkWrites(event, written.get(event.id) ?? []), ...checkReads(event, writers))
  }
  return problems.concat(isStrict
    ? findStale(events, written)
    : [], findCycles(committed, written, writers), findIncompleteWalks(events, log, isStrict))
}

const keyOf = (register: number, version: number): string => `${register}/${version}`

function checkWrites ({ id, outcome, writes, required }: Event, rows: readonly Logged[]): string[] {
  const count = (register: number): number => rows.filter((row) => row.register === register).length
  const made = rows.find(({ register }) => register === required?.register)
  return [
    ...writes.filter((register) => count(register) > 1).map(
      (register) => `doubled: ${id} wrote register ${register} twice`
    ),
    ...outcome === 'ok'
      ? writes.filter((register) => count(register) === 0).map((register) => `lost: ${id} wrote register ${register}`)
      : [],
    ...outcome === 'failed' && rows.length > 0 ? [`${id} was refused, and written`] : [],
    ...outcome === 'unknown' && rows.length > 0 && rows.length < writes.length ? [`${id} was written in part`] : [],
    ...required !== undefined && made !== undefined && made.version !== required.version + 1
      ? [`lost update: ${id} required version ${required.version}, and made ${made.version}`]
      : []
  ]
}

function checkReads ({ id, outcome, reads }: Event, writers: ReadonlyMap<string, number>): string[] {
  if (outcome !== 'ok') return []
  return reads.filter(
    ({ register, version, value }) => (version === 0 ? 0 : writers.get(keyOf(register, version))) !== value
  )
    .map(({ register, version, value }) =>
      `${id} read version ${version} of register ${register} with the value ${value}, which nobody wrote`)
}

/** Reads that began after a write was acknowledged, and do not see it. */
function findStale (events: readonly Event[], written: ReadonlyMap<number, readonly Logged[]>): string[] {
  const acknowledged = events.filter(({ outcome, writes }) => outcome === 'ok' && writes.length > 0).toSorted(
    (one, other) => one.end - other.end
  )
  const newest = new Map<number, number>()
  let next = 0
  return events.filter(({ outcome, reads }) => outcome === 'ok' && reads.length > 0).toSorted(
    (one, other) => one.begin - other.begin
  ).flatMap((event) => {
    for (let write = acknowledged[next]; write !== undefined && write.end < event.begin; write = acknowledged[++next]) {
      for (const { register, version } of written.get(write.id) ??
        []) newest.set(register, Math.max(version, newest.get(register) ?? 0))
    }
    return event.reads.filter(({ register, version }) => version < (newest.get(register) ?? 0))
      .map(({ register, version }) =>
        `stale: ${event.id} read version ${version} of register ${register} after ${newest.get(register)} was ` +
          'acknowledged')
  })
}

function findIncompleteWalks (events: readonly Event[], log: readonly Logged[], isStrict: boolean): string[] {
  const ids = new Map(log.map(({ id, op }) => [id, op]))
  const acknowledged = new Map(events.filter(({ outcome }) => outcome === 'ok').map(({ id, end }) => [id, end]))
  return events.flatMap(({ id, begin, walk }) => {
    if (walk === undefined) return []
    const { from, to, rows } = walk
    const seen = new Set(rows)
    const missing: number[] = []
    for (let row = from; row <= to; row++) {
      const op = ids.get(row)
      if (isStrict && op !== undefined && !seen.has(row) &&
        (acknowledged.get(op) ?? Infinity) < begin) missing.push(row)
    }
    return [
      ...seen.size < rows.length ? [`walk ${id} has a row twice`] : [],
      ...rows.some((row) => !ids.has(row)) ? [`walk ${id} has a row that was not written`] : [],
      ...missing.slice(0, 1).map((row) => `walk ${id} leaves out row ${row}`)
    ]
  })
}

/** Groups of transactions of which each depends on another one of the group. */
function findCycles (
  events: readonly Event[], written: ReadonlyMap<number, readonly Logged[]>, writers: ReadonlyMap<string, number>
): string[] {
  const edges = new Map<number, Set<number>>(events.map(({ id }) => [id, new Set<number>()]))
  const add = (from: number | undefined, to: number | undefined): void => {
    if (from !== undefined && to !== undefined && from !== to) edges.get(from)?.add(to)
  }
  for (const { id, outcome, reads, isWhole } of events) {
    for (const { register, version } of written.get(id) ?? []) add(writers.get(keyOf(register, version - 1)), id)
    if (outcome !== 'ok') continue
    for (const { register, version } of reads) {
      add(writers.get(keyOf(register, version)), id)
      if (isWhole) add(id, writers.get(keyOf(register, version + 1)))
    }
  }
  return components(edges).filter(({ length }) => length > 1)
    .map((group) => `no serial order explains ${group.length} transactions: ${group.slice(0, 6).join(', ')}`)
}

/** Strongly connected components (Tarjan), without recursion. */
function components (edges: ReadonlyMap<number, ReadonlySet<number>>): number[][] {
  const order = new Map<number, number>()
  const low = new Map<number, number>()
  const stack: number[] = []
  const onStack = new Set<number>()
  const found: number[][] = []
  for (const root of edges.keys()) {
    if (order.has(root)) continue
    const work: Array<{ readonly node: number, readonly rest: Iterator<number> }> = []
    const enter = (node: number): void => {
      order.set(node, order.size)
      low.set(node, order.get(node) as number)
      stack.push(node)
      onStack.add(node)
      work.push({ node, rest: (edges.get(node) ?? new Set<number>()).values() })
    }
    enter(root)
    for (let top = work.at(-1); top !== undefined; top = work.at(-1)) {
      const { node, rest } = top
      const { value: next, done } = rest.next()
      if (done !== true) {
        if (!order.has(next)) enter(next)
        else if (onStack.has(next)) low.set(node, Math.min(low.get(node) as number, order.get(next) as number))
        continue
      }
      work.pop()
      const parent = work.at(-1)
      if (parent !== undefined) low.set(parent.node, Math.min(low.get(parent.node) as number, low.get(node) as number))
      if (low.get(node) !== order.get(node)) continue
      const group = stack.splice(stack.lastIndexOf(node))
      for (const each of group) onStack.delete(each)
      found.push(group)
    }
  }
  return found
}
