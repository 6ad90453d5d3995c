/** Fills the holes of a plan with the values that it lacked when it was made. */
import { isMoment } from '../types/moment.ts'
import { Hole, type Holes } from './holes.ts'
import { type Given, isComputed, isRelated, isRelevance, type Plan } from './plan.ts'

/** Only a plan made with the values is right, or says why they are refused: the body must be planned with them. */
export class NeedsValues extends Error {
  override readonly name = 'NeedsValues'
}

/**
 * A copy, equal to the plan of the same body with the values. `valueOf`: by the key of a hole. @throws NeedsValues if a
 * value is null, missing or refused, or the structure of the plan depends on it; nothing else
 */
export function bind<P extends Plan> (plan: P, holes: Holes, valueOf: (key: unknown) => unknown): P {
  if (holes.needValues) throw new NeedsValues()
  // what folding has left out is read too
  const values = holes.list.map((hole) => readHole(hole, valueOf(hole.key)))
  return new Filling(values, holes).visit(plan) as P
}

function readHole ({ isList, read, tests }: Hole, value: unknown): readonly Given[] {
  const items = isList ? value as readonly unknown[] : [value]
  if (!Array.isArray(items) || items.length === 0) throw new NeedsValues()
  return items.map((each) => {
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
  /** In the order of the holes. */
  readonly #values: ReadonlyArray<readonly Given[]>
  readonly #holes: Holes
  /** The nodes to which several parts of a plan refer. */
  #visited: Map<object, unknown> | undefined

  constructor (values: ReadonlyArray<readonly Given[]>, holes: Holes) {
    this.#values = values
    this.#holes = holes
  }

  visit (node: unknown): unknown {
    if (typeof node !== 'object' || node === null || this.#holes.without.has(node)) return node
    const known = this.#visited?.get(node)
    if (known !== undefined) return known
    const filled = Array.isArray(node) ? this.#fillList(node) : isOfPlan(node) ? this.#fillObject(node as Node) : node
    if (filled === node) this.#holes.without.add(node)
    else if (isShared(node)) (this.#visited ??= new Map<object, unknown>()).set(node, filled)
    return filled
  }

  /** A hole whose value comes from elsewhere stays. */
  #isOwn (hole: Hole): boolean {
    return this.#holes.list[hole.index] === hole
  }

  /** @throws NeedsValues for a list of several values, which the planner makes one value of */
  #onlyOf ({ index }: Hole): Given {
    const [only, ...others] = this.#values[index] as readonly [Given, ...Given[]]
    if (others.length > 0) throw new NeedsValues()
    return only
  }

  #fillList (list: readonly unknown[]): readonly unknown[] {
    const filled: unknown[] = []
    for (const each of list) {
      if (!(each instanceof Hole)) filled.push(this.visit(each))
      else if (!this.#isOwn(each)) filled.push(each)
      else for (const value of this.#values[each.index] as readonly Given[]) filled.push(value)
    }
    return filled.length === list.length && filled.every((each, index) => each === list[index]) ? list : filled
  }

  #fillObject (node: Node): Node {
    let copy: Record<string, unknown> | undefined
    for (const name in node) {
      const value = node[name]
      // a computed column refers to the catalog too
      if (typeof value !== 'object' || value === null || name === 'type') continue
      if (this.#holes.without.has(value)) continue
      const filled = !(value instanceof Hole)
        ? this.visit(value)
        : this.#isOwn(value) ? this.#onlyOf(value) : value
      if (filled !== value) (copy ??= { ...node })[name] = filled
    }
    if (copy === undefined) return node
    return Object.isFrozen(node) ? Object.freeze(copy) : copy
  }
}

/** Members, computed columns, relevances and columns of members, to which several parts of a plan refer. */
const isShared = (node: object): boolean => 'on' in node || 'call' in node || 'match' in node || 'member' in node

/** Neither of the catalog nor a value. */
function isOfPlan (node: object): boolean {
  if (Object.getPrototypeOf(node) !== Object.prototype || 'columnList' in node || 'parts' in node) return false
  if (isMoment(node)) return false
  return !('declaration' in node) || isComputed(node as never) || isRelated(node as never) || isRelevance(node as never)
}
