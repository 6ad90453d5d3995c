/** Where the tables of the start are drawn: in columns, each to the right of those that it refers to; on a narrow screen in lines, each below them. */
import type { Table } from './table.ts'

export const HEIGHT = 48
const [WIDTH, NARROW] = [184, 140]
const [GAP_X, GAP_Y] = [72, 16]
/** Boxes of a line on a narrow screen, and the space between lines. */
const [IN_LINE, GAP_LINES] = [2, 32]

export interface Placed { readonly table: Table, readonly x: number, readonly y: number }

interface MapLayout {
  readonly boxes: readonly Placed[]
  /** Of a box. */
  readonly boxWidth: number
  readonly width: number
  readonly height: number
}

export function arrangeMap (tables: readonly Table[], isNarrow: boolean): MapLayout {
  const byName = new Map(tables.map((table) => [table.name, table]))
  const levels = new Map<string, number>()
  const parentsOf = ({ name, relations }: Table): Table[] => relations.flatMap(({ isReferring, table }) => isReferring || table === name ? [] : byName.get(table) ?? [])
  /** `above`: the tables that lead here; a circle is cut. */
  const levelOf = (table: Table, above: ReadonlySet<string>): number => {
    const known = levels.get(table.name)
    if (known !== undefined) return known
    const seen = new Set([...above, table.name])
    const level = Math.max(-1, ...parentsOf(table).filter(({ name }) => !seen.has(name)).map((parent) => levelOf(parent, seen))) + 1
    levels.set(table.name, level)
    return level
  }
  for (const table of tables) levelOf(table, new Set())
  const rows = new Map<string, number>()
  const columns = [...Map.groupBy(tables, ({ name }) => levels.get(name) as number)].sort(([one], [other]) => one - other).map(([, column]) => column)
  // near what they refer to
  const sorted = columns.map((column) => {
    const middle = (table: Table): number => {
      const places = parentsOf(table).map(({ name }) => rows.get(name)).filter((row) => row !== undefined)
      return places.length === 0 ? 0 : places.reduce((sum, row) => sum + row, 0) / places.length
    }
    const ordered = column.map((table) => [middle(table), table] as const).sort(([one], [other]) => one - other).map(([, table]) => table)
    ordered.forEach(({ name }, index) => rows.set(name, index))
    return ordered
  })
  if (isNarrow) {
    const lines = sorted.flatMap((level) => Array.from({ length: Math.ceil(level.length / IN_LINE) }, (_, index) => level.slice(index * IN_LINE, (index + 1) * IN_LINE)))
    const boxes = lines.flatMap((line, row) => line.map((table, index) => ({ table, x: 1 + index * (NARROW + GAP_Y), y: 1 + row * (HEIGHT + GAP_LINES) })))
    return { boxes, boxWidth: NARROW, width: IN_LINE * (NARROW + GAP_Y) + 8, height: lines.length * (HEIGHT + GAP_LINES) - GAP_LINES + 2 }
  }
  const most = Math.max(...sorted.map(({ length }) => length))
  const height = most * (HEIGHT + GAP_Y) - GAP_Y
  const boxes = sorted.flatMap((column, level) => {
    const top = (height - column.length * (HEIGHT + GAP_Y) + GAP_Y) / 2
    return column.map((table, index) => ({ table, x: 1 + level * (WIDTH + GAP_X), y: 1 + top + index * (HEIGHT + GAP_Y) }))
  })
  return { boxes, boxWidth: WIDTH, width: sorted.length * (WIDTH + GAP_X) - GAP_X + 44, height: height + 2 }
}
