/** `on`: the columns that relate the rows of two tables, and the index that finds them. */
import { baseTable, type Column, type IndexPart, partsOf, type Table } from '../catalog/catalog.ts'
import { canRelate, isSameRelation, type Pair, type Relations, relationsBetween } from '../catalog/relations.ts'
import { getOrCreate } from '../bounded-map.ts'
import { at, invalidBody, mayBeNew, type Path } from '../errors.ts'
import type { EqualColumns } from './filters/scope.ts'
import type { MemberIndex, Order } from './plan.ts'
import { rowKeysOf } from './row-keys.ts'
import { onlyValueOf } from './rule.ts'

/** The equal columns before the filters are planned: those of the rules of the grant. */
export const startEqualColumns = ({ granted }: Pick<Table, 'granted'>): EqualColumns => ({
  certain: new Set(),
  all: new Set(granted?.rules.filter((rule) => onlyValueOf(rule) !== undefined).map(({ column }) => column))
})

/** At most one row is related, because the columns contain a unique key. */
export function isOne (table: Table, on: readonly Pair[], equalColumns?: EqualColumns): boolean {
  return rowKeysOf(table).some((key) =>
    key.every((column) => equalColumns?.certain.has(column) === true || on.some(({ other }) => other === column))
  )
}

/** By foreign keys, of tables of the catalog and of those that grants see. */
const relationsByTable = new WeakMap<Table, WeakMap<Table, Relations>>()

function relationsOf (table: Table, other: Table): Relations {
  const byOther = getOrCreate(relationsByTable, table, () => new WeakMap<Table, Relations>())
  return getOrCreate(byOther, other, () => relationsBetween(table, other))
}

/** Without `on`, the only relation by foreign keys. @throws INVALID_BODY */
export function planOn (
  on: Readonly<Record<string, string>> | undefined,
  {
    table,
    other,
    equalColumns,
    path
  }: { readonly table: Table; readonly other: Table; readonly equalColumns: EqualColumns; readonly path: Path }
): readonly Pair[] {
  const relations = relationsOf(table, other)
  if (on === undefined) {
    const [only] = relations
    if (only !== undefined && relations.length === 1) return only
    throw at(
      path,
      mayBeNew(invalidBody(
        only === undefined
          ? `no foreign key relates "${table.name}" and "${other.name}": say "on", such as ` +
            `{"<column of ${table.name}>": "<column of ${other.name}>"}`
          : `several foreign keys relate "${table.name}" and "${other.name}": say "on", one of ` +
            relations.map(textOf).join(', ')
      ))
    )
  }
  const onPath = [...path, 'on']
  const pairs = Object.entries(on).map(([name, otherName]): Pair => ({
    column: getOnColumn(table, name, onPath),
    other: getOnColumn(other, otherName, onPath)
  }))
  const unrelated = pairs.find((pair) => !canRelate(pair.column, pair.other))
  if (unrelated !== undefined) throw at(onPath, mayBeNew(invalidBody(describeKinds(unrelated, other))))
  if (
    other.kind === 'view' ||
    relations.some((relation) => isSameRelation(relation, pairs)) ||
    findMemberIndex(other, pairs, equalColumns.all, []) !== undefined
  ) { return pairs }
  throw at(
    onPath,
    mayBeNew(invalidBody(
      `"${other.name}" has no index that begins with ` +
      `${pairs.map(({ other: { name } }) => `"${name}"`).join(' or ')}, or with columns that "filters" hold equal ` +
      'followed by one of these'
    ))
  )
}

function getOnColumn (table: Table, name: string, path: Path): Column {
  const column = table.columns.get(name)
  if (column === undefined) {
    throw at(path, mayBeNew(invalidBody(`"on" names columns of "${table.name}", which has no column "${name}"`)))
  }
  return column
}

const textOf = (pairs: readonly Pair[]): string =>
  JSON.stringify(Object.fromEntries(pairs.map(({ column, other }) => [column.name, other.name])))

function describeKinds ({ column, other }: Pair, { engine }: Table): string {
  const described = ({ name, declaration, collation }: Column): string =>
    `"${name}" (${[declaration === '' ? 'no declared type' : declaration, collation].filter(Boolean).join(' ')})`
  const [texts, none] =
    engine === 'sqlite'
      ? ['texts', 'floating-point, BLOB or JSON']
      : ['CHAR or VARCHAR', 'floating-point, TEXT, BLOB, ENUM, SET, BIT, JSON, geometry or VECTOR']
  return `${described(column)} and ${described(other)} cannot relate rows: both must be integers, ${texts} with the ` +
    `same collation, or of the same type with the same digits, and not ${none}`
}

const isReversed = (parts: readonly IndexPart[], order: readonly Order[]): boolean =>
  parts[0]?.descending !== (order[0]?.direction === 'desc')

/** Read in one direction. */
export function haveOrder (parts: readonly IndexPart[], order: readonly Order[]): boolean {
  const reversed = isReversed(parts, order)
  return order.every(({ column, of, inside, direction, isNullGreatest }, index) => {
    const part = parts[index]
    return of === undefined && inside === undefined && isNullGreatest === undefined &&
      part?.column === column.name && !part.prefix &&
      (part.descending !== (direction === 'desc')) === reversed
  })
}

/**
 * It begins with columns of `on` or that filters hold equal. One that also has the order, read in one direction, is
 * preferred, then the one with most of these columns.
 */
export function findMemberIndex (
  table: Table,
  on: readonly Pair[],
  equalColumns: ReadonlySet<Column>,
  order: readonly Order[]
): MemberIndex | undefined {
  // rules can be on columns that the grant does not see
  const base = baseTable(table)
  const related = new Set(on.map(({ other }) => other.name))
  const equal = new Set([...related, ...Array.from(equalColumns, ({ name }) => name)])
  let best: { readonly member: MemberIndex; readonly rank: number } | undefined
  for (const index of base.indexes) {
    const parts = index.ordered ? partsOf(index, base) : []
    const end = parts.findIndex(({ column }) => column === null || !equal.has(column))
    const run = end < 0 ? parts : parts.slice(0, end)
    if (!run.some(({ column }) => related.has(column as string))) continue
    const rest = parts.slice(run.length)
    const isWhole =
      run.length === equal.size && run.every(({ prefix }) => !prefix) && parts.every(({ column }) => column !== null)
    const isOrdered = isWhole && haveOrder(rest, order)
    const first = run.find(({ column }) => related.has(column as string))
    const direction = !isOrdered
      ? undefined
      : (first?.descending === true) !== (order.length > 0 && isReversed(rest, order))
          ? 'desc'
          : 'asc'
    const rank = run.length + (isOrdered ? 1000 : 0)
    if (best === undefined || rank > best.rank) best = { member: { index, direction }, rank }
  }
  return best?.member
}
