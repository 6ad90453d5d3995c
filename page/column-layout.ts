/** How the columns of a table are laid out in this browser: which are hidden, their order, and their widths. */
import { useState } from 'preact/hooks'
import { isBoolean, isList, memberOf, writeLine, type Json, type JsonObject } from './json.ts'
import { readKept, writeKept } from './kept.ts'
import type { Table } from './table.ts'

export interface ColumnLayout {
  /** Columns that come first, in this order; the others follow as they are. */
  readonly order: readonly string[]
  readonly hidden: readonly string[]
  /** In pixels. */
  readonly widths: Readonly<Record<string, number>>
}

const PLAIN: ColumnLayout = { order: [], hidden: [], widths: {} }

/** The layout of a table, and what changes it. */
export function useLayout (scope: string): readonly [ColumnLayout, (layout: ColumnLayout) => void] {
  const [layout, setLayout] = useState<ColumnLayout>(() => ({ ...PLAIN, ...readKept(`columns of ${scope}`) as Partial<ColumnLayout> | undefined }))
  return [layout, (changed) => {
    setLayout(changed)
    writeKept(`columns of ${scope}`, changed)
  }]
}

/** The columns that are shown, in their order. */
export function arrange (columns: readonly string[], { order, hidden }: ColumnLayout): string[] {
  const ordered = [...order.filter((name) => columns.includes(name)), ...columns.filter((name) => !order.includes(name))]
  const shown = ordered.filter((name) => !hidden.includes(name))
  return shown.length === 0 ? ordered : shown
}

/** Moves a shown column by one place. */
export function move (columns: readonly string[], layout: ColumnLayout, name: string, by: -1 | 1): ColumnLayout {
  const shown = arrange(columns, layout)
  const from = shown.indexOf(name)
  const other = shown[from + by]
  if (other === undefined) return layout
  const order = arrange(columns, { ...layout, hidden: [] })
  const [one, two] = [order.indexOf(name), order.indexOf(other)]
  return { ...layout, order: order.map((each, index) => index === one ? other : index === two ? name : each) }
}

/** Widths in pixels: of a character, about, of what stands beside the value, and the bounds. */
const [CHARACTER, BESIDE, LEAST, MOST] = [8, 28, 72, 300]
/** Rows that decide about the width, and the room for the name of the row that a key refers to. */
const ROWS = 60
const NAMED = 21

const lengthOf = (value: Json | undefined): number => value === undefined ? 0 : value === null ? 5 : typeof value === 'string' ? Math.min(60, value.length) : isBoolean(value) ? 2 : isList(value) ? 12 : writeLine(value).length

/** The widths that the columns begin with: by their values, and by their names. */
export function measure (names: readonly string[], rows: readonly JsonObject[], table: Table | undefined): Map<string, number> {
  const known = new Map(table?.columns.map((column) => [column.name, column]))
  const named = new Set(table?.shownNames().map(({ relation }) => relation.on[0]?.[0]))
  return new Map(names.map((name) => {
    const column = known.get(name)
    const longest = Math.max(0, ...rows.slice(0, ROWS).map((row) => lengthOf(memberOf(row, name))))
    const shown = column?.takesNow.filters === true ? Math.min(16, longest) : column?.isBytes === true ? 10 : longest
    const characters = Math.max(shown + (named.has(name) ? NAMED : 0) + (column?.members === undefined ? 0 : 2), name.length + (column?.isKey === true ? 6 : 4))
    return [name, Math.round(Math.min(MOST, Math.max(LEAST, characters * CHARACTER + BESIDE)))]
  }))
}
