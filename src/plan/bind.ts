/** Fills the holes of a plan with the values that it lacked when it was made. */
import { Hole, type Holes, type Given } from './holes.ts'
import { isComputed, isRelated, isRelevance, type Plan } from './plan.ts'
import { isMoment } from '../types/column-type.ts'

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

function readHole (hole: Hole, value: unknown): Given | readonly Given[] {
  if (!hole.isList) return readValue(hole, value)
  if (!Array.isArray(value) || value.length === 0) throw new NeedsValues()
  return value.map((each) => readValue(hole, each))
}

function readValue ({ read, tests }: Hole, value: unknown): Given {
  if (value === null || value === undefined) throw new NeedsValues()
  let parameter: ReturnType<Hole['read']>
  try {
    parameter = read(value)
  } catch (error) {
    throw new NeedsValues(undefined, { cause: error })
  }
  for (let index = 0; index < tests.length; index++) if (tests[index]?.(parameter) !== true) throw new NeedsValues()
  return parameter
}

type Node = Readonly<Record<string, unknown>>

/** Copies what has holes; everything else is shared. */
class Filling {
  /** In the order of the holes. */
  readonly #values: ReadonlyArray<Given | readonly Given[]>
  readonly #holes: Holes
  /** The nodes to which several parts of a plan refer. */
  #visited: Map<object, unknown> | undefined

  constructor (values: ReadonlyArray<Given | readonly Given[]>, holes: Holes) {
    this.#values = values
    this.#holes = holes
  }

  visit (node: unknown): unknown {
    if (typeof node !== 'object' || node === null || this.#holes.without.has(node)) return node
    const before = this.#visited?.get(node)
    if (before !== undefined) return before
    const filled = Array.isArray(node) ? this.#fillList(node) : isOfPlan(node) ? this.#fillObject(node as Node) : node
    if (filled === node) this.#holes.without.add(node)
    else if (isShared(node)) (this.#visited ??= new Map<object, unknown>()).set(node, filled)
    return filled
  }

  /** What takes the place of a node, or of a hole. A hole whose value comes from elsewhere stays. */
  #fill (node: unknown): unknown {
    if (!(node instanceof Hole)) return this.visit(node)
    return this.#holes.list[node.index] === node ? this.#values[node.index] : node
  }

  /** @throws NeedsValues for a list of several values, which the planner makes one value of */
  #onlyOf (hole: Hole): unknown {
    const filled = this.#fill(hole)
    if (filled === hole) return hole
    const [only, ...others] = filled as readonly [Given, ...Given[]]
    if (others.length > 0) throw new NeedsValues()
    return only
  }

  #fillList (list: readonly unknown[]): readonly unknown[] {
    let copy: unknown[] | undefined
    for (let index = 0; index < list.length; index++) {
      const each = list[index]
      const filled = this.#fill(each)
      if (filled === each) {
        copy?.push(each)
        continue
      }
      copy ??= list.slice(0, index)
      if (each instanceof Hole && each.isList) for (const value of filled as readonly Given[]) copy.push(value)
      else copy.push(filled)
    }
    return copy ?? list
  }

  #fillObject (node: Node): Node {
    let copy: Record<string, unknown> | undefined
    for (const name in node) {
      const value = node[name]
      // a computed column refers to the catalog too
      if (typeof value !== 'object' || value === null || name === 'type') continue
      if (this.#holes.without.has(value)) continue
      const filled = value instanceof Hole && value.isList ? this.#onlyOf(value) : this.#fill(value)
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
