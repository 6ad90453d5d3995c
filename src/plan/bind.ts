/** Fills the holes of a plan with the values that it lacked when it was made. */
import { isMoment } from '../types/moment.ts'
import { Hole, type Holes } from './holes.ts'
import { type Given, isComputed, isRelated, isRelevance, type Plan } from './plan.ts'

/** Only a plan made with the values is right, or says why they are refused: the body must be planned with them. */
export class NeedsValues extends Error {
  override readonly name = 'NeedsValues'
}

/**
 * Returns a copy of the plan, equal to the one that the planner makes of the same body with the values. `valueOf`:
 * returns the value of a hole by its key. @throws NeedsValues if that is null or missing, if it is refused, and if the
 * structure of the plan depends on a value; nothing else
 */
export function bind<P extends Plan> (plan: P, holes: Holes, valueOf: (key: unknown) => unknown): P {
  if (holes.needValues) throw new NeedsValues()
  const values = new Map<Hole, readonly Given[]>()
  // those that folding has left out of the plan are read too
  for (const hole of holes.list) values.set(hole, readHole(hole, valueOf(hole.key)))
  return new Filling(values, holes.without).visit(plan) as P
}

function readHole ({ isList, read, tests }: Hole, value: unknown): readonly Given[] {
  const given = isList ? value as readonly unknown[] : [value]
  if (!Array.isArray(given) || given.length === 0) throw new NeedsValues()
  return given.map((each) => {
    if (each === null || each === undefined) throw new NeedsValues()
    const parameter = readOr(read, each)
    if (!tests.every((test) => test(parameter))) throw new NeedsValues()
    return parameter
  })
}

function readOr (read: Hole['read'], value: unknown): ReturnType<Hole['read']> {
  try {
    return read(value)
  } catch (error) {
    throw new NeedsValues(undefined, { cause: error })
  }
}

type Node = Readonly<Record<string, unknown>>

/** Copies what has holes; everything else is shared. */
class Filling {
  readonly #values: ReadonlyMap<Hole, readonly Given[]>
  readonly #without: WeakSet<object>
  /** Several parts of a plan refer to the same member or computed column. */
  readonly #visited = new Map<object, unknown>()

  constructor (values: ReadonlyMap<Hole, readonly Given[]>, without: WeakSet<object>) {
    this.#values = values
    this.#without = without
  }

  visit (node: unknown): unknown {
    if (typeof node !== 'object' || node === null || this.#without.has(node)) return node
    // a hole whose value comes from elsewhere stays
    if (node instanceof Hole) return this.#values.has(node) ? this.#values.get(node)?.[0] : node
    if (this.#visited.has(node)) return this.#visited.get(node)
    const filled = Array.isArray(node) ? this.#fillList(node) : isOfPlan(node) ? this.#fillObject(node as Node) : node
    if (filled === node) this.#without.add(node)
    else this.#visited.set(node, filled)
    return filled
  }

  #fillList (list: readonly unknown[]): readonly unknown[] {
    const filled: unknown[] = []
    for (const each of list) {
      const values = each instanceof Hole ? this.#values.get(each) : undefined
      if (values === undefined) filled.push(this.visit(each))
      else for (const value of values) filled.push(value)
    }
    return filled.length === list.length && filled.every((each, index) => each === list[index]) ? list : filled
  }

  #fillObject (node: Node): Node {
    let copy: Record<string, unknown> | undefined
    for (const name of Object.keys(node)) {
      // a computed column refers to the catalog too
      const filled = name === 'type' ? node[name] : this.visit(node[name])
      if (filled !== node[name]) (copy ??= { ...node })[name] = filled
    }
    if (copy === undefined) return node
    return Object.isFrozen(node) ? Object.freeze(copy) : copy
  }
}

/** Whether an object is part of a plan: not of the catalog, and no value. */
function isOfPlan (node: object): boolean {
  if (Object.getPrototypeOf(node) !== Object.prototype || 'columnList' in node || 'parts' in node) return false
  if (isMoment(node)) return false
  return !('declaration' in node) || isComputed(node as never) || isRelated(node as never) || isRelevance(node as never)
}
