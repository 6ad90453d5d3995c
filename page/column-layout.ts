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
  /** Columns of bytes whose images are drawn. */
  readonly images: readonly string[]
}

const PLAIN: ColumnLayout = { order: [], hidden: [], widths: {}, images: [] }

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

/** Widths in pixels: of what stands beside a value, of the icons beside a name, of the name of the row that a key refers to, and the bounds. */
const [BESIDE, ICON, NAMED, LEAST, MOST] = [26, 18, 150, 72, 300]
/** Rows, and characters of each, that decide about a width. */
const ROWS = 60
const CHARACTERS = 60

const textOf = (value: Json | undefined): string => value === undefined ? '' : value === null ? 'NULL' : typeof value === 'string' ? value.slice(0, CHARACTERS) : isBoolean(value) ? '✓' : isList(value) ? '12 members' : writeLine(value).slice(0, CHARACTERS)

/** The width of texts as the style draws them. */
function openRuler (): (text: string) => number {
  const context = document.createElement('canvas').getContext('2d')
  const { font } = getComputedStyle(document.body)
  if (context !== null) context.font = font
  return (text) => context?.measureText(text).width ?? text.length * 8
}

/** The widths that the columns begin with: by their values, and by their names. */
export function measure (names: readonly string[], rows: readonly JsonObject[], table: Table | undefined): Map<string, number> {
  const known = new Map(table?.columns.map((column) => [column.name, column]))
  const named = new Set(table?.shownNames().map(({ relation }) => relation.on[0]?.[0]))
  const widthOf = openRuler()
  return new Map(names.map((name) => {
    const column = known.get(name)
    const texts = rows.slice(0, ROWS).map((row) => textOf(memberOf(row, name)))
    const shown = column?.takesNow.filters === true ? texts.map((text) => text.slice(0, 16)) : column?.isBytes === true ? ['png, 100.0 kB'] : texts
    const values = Math.max(0, ...[...new Set(shown)].map(widthOf)) + (named.has(name) ? NAMED : 0) + (column?.kind === 'text' ? 16 : 0)
    // the names are bold, and have room for an arrow and a menu
    const head = widthOf(name) * 1.1 + 2.5 * ICON + (column?.isKey === true ? ICON : 0)
    return [name, Math.ceil(Math.min(MOST, Math.max(LEAST, values + BESIDE, head + BESIDE)))]
  }))
}
