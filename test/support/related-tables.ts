/** Random tables that are related, and filters of them. */
import { createRandom, pick } from './random.ts'
import type { EngineName } from './service.ts'

export const createDraw = (seed: number) => {
  const below = createRandom(seed)
  return {
    below,
    one: <T> (list: readonly T[]): T => pick(below, list),
    chance: (share: number): boolean => below(100) < share * 100
  }
}
export type Draw = ReturnType<typeof createDraw>

export interface Drawn {
  readonly name: string
  readonly key: readonly string[]
  /** Columns with which an index begins. */
  readonly starts: readonly string[]
  readonly sql: string[]
  readonly isView?: true
  readonly rows: ReadonlyArray<Record<string, unknown>>
}

export const COLUMNS = ['rid', 'a', 'b', 'n', 'm', 's', 'x', 'd'] as const
/** Columns whose values are the same in the answer and for a driver. */
export const SHOWN = ['rid', 'a', 'b', 'n', 'm', 's', 'x']
const TEXTS = ['a', 'A', 'b', 'B ', 'ä', 'abc', '']

/** The first tables have keys of each kind. */
export const KEYS: ReadonlyArray<readonly string[]> = [['rid'], ['a', 'b'], ['s'], [], ['b', 'n']]

export function drawTable (draw: Draw, name: string, engine: EngineName): Drawn {
  const key = KEYS[Number(name.slice(1))] as readonly string[]
  const [coarse, fine] = engine === 'sqlite'
    ? ['collate nocase', '']
    : ['collate utf8mb4_general_ci', 'collate utf8mb4_bin']
  const notNull = (column: string): string => key.includes(column) || column === 'rid' ? ' not null' : ''
  const types: Record<string, string> = {
    rid: 'int',
    a: 'int',
    b: draw.one(['smallint', 'int']),
    n: draw.one(['tinyint', 'bigint']),
    m: engine === 'sqlite' ? 'bigint' : draw.one(['bigint unsigned', 'int']),
    s: `varchar(8) ${coarse}`,
    x: `varchar(${draw.one([4, 8])}) ${fine}`,
    d: 'decimal(8,2)'
  }
  const table =
    `create table ${name} (${COLUMNS.map((column) => `${column} ${types[column]}${notNull(column)}`).join(', ')}` +
      `${key.length > 0 ? `, primary key (${key.join(', ')})` : ''})`
  const parts = Array.from(
    { length: 5 }, () => [...new Set(Array.from({ length: 1 + draw.below(3) }, () => draw.one(COLUMNS.slice(1))))]
  )
  const indexes = parts.map((columns, index) => `create index ${name}_${index} on ${name} (${columns.join(', ')})`)
  const seen = new Set<string>()
  const rows: Array<Record<string, unknown>> = []
  for (let rid = 1; rid <= 30; rid++) {
    const nullable = (column: string, value: unknown): unknown => notNull(column) === '' && draw.chance(0.15)
      ? null
      : value
    const row: Record<string, unknown> = {
      rid,
      a: nullable('a', draw.below(5)),
      b: nullable('b', draw.below(5)),
      n: nullable('n', draw.below(4)),
      m: nullable('m', draw.below(6)),
      s: nullable('s', draw.one(TEXTS)),
      x: nullable('x', draw.one(TEXTS)),
      d: nullable('d', draw.one([1, 1.5, 2.25]))
    }
    const identity = key.map((column) => String(row[column]).trim().toLowerCase().replace('ä', 'a')).join()
    if (key.length > 0 && seen.has(identity)) continue
    seen.add(identity)
    rows.push(row)
  }
  const starts = [...new Set([key, ...parts].flatMap(([first]) => first ?? []))]
  return { name, key, starts, rows, sql: [table, ...indexes, ...rows.map((row) => insertOf(name, row))] }
}

/**
 * A view of all rows of a table, which servers merge or read into a temporary table. It has no key and needs no index.
 */
export const viewOf = ({ name, rows }: Drawn, isMerged: boolean): Drawn => ({
  name: `v${name.slice(1)}`,
  key: [],
  starts: [...COLUMNS],
  rows,
  isView: true,
  sql: [`create view v${name.slice(1)} as select ${isMerged ? '' : 'distinct '}* from ${name}`]
})

const literal = (value: unknown): string =>
  value === null ? 'null' : typeof value === 'string' ? `'${value}'` : String(value)
export const insertOf = (name: string, row: Record<string, unknown>): string =>
  `insert into ${name} values (${COLUMNS.map((column) => literal(row[column])).join(', ')})`

/** Columns of one kind relate rows. */
export const KINDS = [['a', 'b', 'n', 'm', 'rid'], ['s'], ['x'], ['d']]

/** Filters, and the same in SQL. */
export type DrawnFilters = readonly [filters: object, where: string]

/** Filters of the columns of the table that SQL calls `alias`. */
export function drawFilters (draw: Draw, alias: string): DrawnFilters {
  const [filters, where] = draw.one<DrawnFilters>([
    [{}, '1 = 1'], [{}, '1 = 1'], [{ n: 1 }, '$.n = 1'], [{ a: { $eq: 2 } }, '$.a = 2'],
    [{ $and: [{ b: 3 }] }, '$.b = 3'], [{ m: { $gte: 2 } }, '$.m >= 2'], [{ s: 'a' }, "$.s = 'a'"],
    [{ m: null }, '$.m is null'], [{ $or: [{ n: 1 }, { a: 2 }] }, '($.n = 1 or $.a = 2)'], [{ n: { $in: [] } }, '1 = 0']
  ])
  return [filters, where.replaceAll('$.', `${alias}.`)]
}

/** Filters by the rows of these tables that are related to the row, on some levels. */
export function drawRelated (draw: Draw, tables: readonly Drawn[], { alias, levels }: {
  readonly alias: string, readonly levels: number
}): DrawnFilters {
  const one = (): DrawnFilters => {
    const other = draw.one(tables)
    const theirs = draw.one(other.starts)
    const own = draw.one(KINDS.find((kind) => kind.includes(theirs)) as string[])
    const inner = `${alias}f`
    const [filters, where] = levels > 1 && draw.chance(0.4)
      ? drawRelated(draw, tables, { alias: inner, levels: levels - 1 })
      : drawFilters(draw, inner)
    const negated = draw.chance(0.4)
    const member = { on: { [own]: theirs }, ...Object.keys(filters).length > 0 && { filters } }
    const exists =
      `${negated ? 'not ' : ''}exists (select 1 from ${other.name} ${inner} where ${inner}.${theirs} = ` +
        `${alias}.${own} and ${where})`
    return [{
      [negated ? '$none' : '$some']: draw.chance(0.5)
        ? { [other.name]: member }
        : { x: { table: other.name, ...member } }
    }, exists]
  }
  const [filters, where] = one()
  const [more, also] = draw.chance(0.3) ? one() : drawFilters(draw, alias)
  return draw.one<DrawnFilters>([
    [filters, where], [{ $and: [filters, more] }, `(${where} and ${also})`],
    [{ $or: [filters, more] }, `(${where} or ${also})`], [{ $not: filters }, `not (${where})`]
  ])
}
