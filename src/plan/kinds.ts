/** The kinds of value that a set of conditions on one column can tell apart; for every-row.ts. */
import type { Column } from '../catalog/catalog.ts'
import type { Value } from '../types/column-type.ts'
import type { Condition, Operator } from './plan.ts'

/** A condition on one column. */
export type Leaf = Extract<Condition, { column: Column }>

/** A kind of value, as its answer to each condition: true, false, or null where SQL's answer is NULL. */
export type Kind = (leaf: Leaf) => boolean | null

/** Every kind that a row of the column may have, the most ordinary first. */
export function kindsOf (column: Column, leaves: readonly Leaf[]): Kind[] {
  const order = column.type.order
  const kinds = order === undefined ? unorderedKinds(leaves) : orderedKinds(column, leaves, order)
  return column.nullable ? [...kinds, isNull] : kinds
}

const isNull: Kind = (leaf) => leaf.kind === 'null' ? !leaf.negated : null

/** How an operator answers when the row's value lies below (-), at (0) or above (+) the one it is compared with. */
const compare: Readonly<Record<Operator, (side: number) => boolean>> = {
  '=': (side) => side === 0,
  '<>': (side) => side !== 0,
  '>': (side) => side > 0,
  '>=': (side) => side >= 0,
  '<': (side) => side < 0,
  '<=': (side) => side <= 0
}

/** The values that a condition names. */
export function valuesOf (leaf: Leaf): readonly Value[] {
  switch (leaf.kind) {
    case 'compare': return [leaf.parameter]
    case 'in': return leaf.parameters
    case 'between': return [leaf.low, leaf.high]
    default: return []
  }
}

const keyOf = (value: Value): string => Buffer.isBuffer(value) ? value.toString('hex') : String(value)

/**
 * On a line of n named values there are 2n + 1 places: value i is at 2i + 1, the gap before it at 2i, the last gap at 2n. Whole
 * numbers may leave no room in a gap, or beyond the ends of their range.
 */
function orderedKinds (column: Column, leaves: readonly Leaf[], order: (a: Value, b: Value) => number): Kind[] {
  const values = [...new Map(leaves.flatMap(valuesOf).map((value) => [keyOf(value), value])).values()].sort(order)
  const places = new Map(values.map((value, index) => [keyOf(value), 2 * index + 1]))
  const gaps = Array.from({ length: values.length + 1 }, (_, index) => index).filter((index) => hasRoom(column, values[index - 1], values[index]))
  const [last, ...others] = gaps.map((index) => 2 * index).reverse()
  const all = [...(last === undefined ? [] : [last]), ...places.values(), ...others]
  return all.map((place) => (leaf) => answer(leaf, (value) => place - (places.get(keyOf(value)) as number)))
}

function hasRoom (column: Column, below: Value | undefined, above: Value | undefined): boolean {
  const { wholeNumbers } = column.type
  if (wholeNumbers === undefined) return true
  const first = below === undefined ? wholeNumbers.min : BigInt(below as bigint) + 1n
  const last = above === undefined ? wholeNumbers.max : BigInt(above as bigint) - 1n
  return first <= last
}

function answer (leaf: Leaf, side: (value: Value) => number): boolean {
  switch (leaf.kind) {
    case 'compare': return compare[leaf.operator](side(leaf.parameter))
    case 'in': return leaf.parameters.some((value) => side(value) === 0) !== leaf.negated
    case 'between': return side(leaf.low) >= 0 && side(leaf.high) <= 0
    // No pattern comes here: the types that know patterns have no order, and theirs are opaque (below).
    default: return leaf.negated
  }
}

/** What an order or a pattern says of a text depends on its collation: such a condition may hold or not, its opposite then not or hold. */
const opaque = new Map<Operator, { name: string, opposite: boolean }>([
  ['>', { name: '>', opposite: false }],
  ['<=', { name: '>', opposite: true }],
  ['>=', { name: '>=', opposite: false }],
  ['<', { name: '>=', opposite: true }]
])

interface Opaque { key: string, opposite: boolean }

function opaqueOf (leaf: Leaf): Opaque | undefined {
  if (leaf.kind === 'like') return /^%+$/.test(leaf.pattern) ? undefined : { key: `like ${leaf.pattern}`, opposite: leaf.negated }
  if (leaf.kind === 'between') return { key: `between ${keyOf(leaf.low)} ${keyOf(leaf.high)}`, opposite: false }
  const named = leaf.kind === 'compare' ? opaque.get(leaf.operator) : undefined
  return named === undefined ? undefined : { key: `${named.name} ${keyOf((leaf as { parameter: Value }).parameter)}`, opposite: named.opposite }
}

/** Opaque conditions that are told apart on one column; more are all taken to be false. */
const MAX_OPAQUE = 8

/** Some other value, or one of those named for equality; each with every combination of the opaque conditions. */
function unorderedKinds (leaves: readonly Leaf[]): Kind[] {
  const named = leaves.filter((leaf) => leaf.kind === 'compare' || leaf.kind === 'in').flatMap(valuesOf).map(keyOf)
  const opaques = [...new Set(leaves.flatMap((leaf) => opaqueOf(leaf)?.key ?? []))].slice(0, MAX_OPAQUE)
  const combinations = Array.from({ length: 2 ** opaques.length }, (_, bits) => new Set(opaques.filter((_key, index) => (bits >> index) & 1)))
  return [undefined, ...new Set(named)].flatMap((own) => combinations.map((holding): Kind => (leaf) => {
    if (leaf.kind === 'like' && /^%+$/.test(leaf.pattern)) return !leaf.negated
    const found = opaqueOf(leaf)
    if (found !== undefined) return holding.has(found.key) !== found.opposite
    return answer(leaf, (value) => keyOf(value) === own ? 0 : 1)
  }))
}
