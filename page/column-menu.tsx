/** The menu of a column: what it is, its frequent values, and what can be done with it. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { arrange, move, type ColumnLayout } from './column-layout.ts'
import { colorsOf, Value } from './cell.tsx'
import { keyOf } from './filter-rows.ts'
import { Icon } from './icons.tsx'
import { isEqual, isObject, memberOf, withMembers, writeLine, type Json, type JsonObject } from './json.ts'
import { Menu } from './menu.tsx'
import { withOrder } from './order.ts'
import { withFilters } from './search.ts'
import { keyText, useNames } from './shown-names.ts'
import { useStage } from './stage.tsx'
import type { Column, Table } from './table.ts'
import { fromText } from './values.ts'

interface ColumnMenuProps {
  readonly table: Table
  readonly column: Column
  readonly body: JsonObject
  /** All columns of the rows, also those that are hidden. */
  readonly columns: readonly string[]
  readonly layout: ColumnLayout
  readonly setLayout: (layout: ColumnLayout) => void
  readonly onBody: (body: JsonObject) => void
}

export function ColumnMenu ({ table, column, body, columns, layout, setLayout, onBody }: ColumnMenuProps) {
  const { name } = column
  const shown = arrange(columns, layout)
  const sort = (descends: boolean, nulls?: string): void => onBody(withOrder(body, [{ name, descends, ...nulls !== undefined && { nulls } }], table.hasPositions))
  return (
    <Menu label='Column menu' icon='more'>
      {(close) => {
        const item = (text: string, icon: Parameters<typeof Icon>[0]['name'], act: () => void, isOff = false) => <button type='button' class='item' disabled={isOff} onClick={() => { close(); act() }}><Icon name={icon} />{text}</button>
        return (
          <>
            <p class='muted about'><code>{column.type}</code>{column.isNullable ? ' · may be NULL' : ''}{column.references === undefined ? '' : ` · refers to ${column.references.table}.${column.references.column}`}{column.description === '' ? '' : ` · ${column.description}`}</p>
            <Frequent table={table} column={column} body={body} onBody={(changed) => { close(); onBody(changed) }} />
            <Contains column={column} body={body} onBody={(changed) => { close(); onBody(changed) }} table={table} />
            <div class='items'>
              {column.isBytes && item(layout.images.includes(name) ? 'Show sizes' : 'Show images', 'image', () => setLayout({ ...layout, images: layout.images.includes(name) ? layout.images.filter((each) => each !== name) : [...layout.images, name] }))}
              {column.isSortable && item('Sort up', 'up', () => sort(false))}
              {column.isSortable && item('Sort down', 'down', () => sort(true))}
              {column.isSortable && column.isNullable && item('Sort up, NULL last', 'up', () => sort(false, 'NULLS LAST'))}
              {column.isSortable && column.isNullable && item('Sort down, NULL first', 'down', () => sort(true, 'NULLS FIRST'))}
              {item('Move to the left', 'left', () => setLayout(move(columns, layout, name, -1)), shown[0] === name)}
              {item('Move to the right', 'right', () => setLayout(move(columns, layout, name, 1)), shown.at(-1) === name)}
              {item('Hide this column', 'hide', () => setLayout({ ...layout, hidden: [...layout.hidden, name] }), shown.length === 1)}
            </div>
          </>
        )
      }}
    </Menu>
  )
}

/** A filter by what is entered: a part of a text, or the value. */
function Contains ({ table, column, body, onBody }: Pick<ColumnMenuProps, 'table' | 'column' | 'body' | 'onBody'>) {
  const isText = column.operators.includes('$contains') && column.members === undefined
  const [text, setText] = useState('')
  if (!isText && !column.operators.includes('$eq')) return null
  const filter = (): void => {
    const value = isText ? { $contains: text } : fromText(column, text)
    const filters = memberOf(body, 'filters')
    if (text !== '' && value !== undefined) onBody(withFilters(table, body, withMembers(isObject(filters) ? filters : {}, { [keyOf(column.name)]: value })))
  }
  return <p class='view-line'><input type='search' aria-label='Filter this column' placeholder={isText ? 'contains …' : 'is …'} value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} onKeyDown={(event) => { if (event.key === 'Enter') { event.preventDefault(); event.stopPropagation(); filter() } }} /><button type='button' onClick={filter}><Icon name='filter' />Filter</button></p>
}

/** Values that are offered. */
const MAX_VALUES = 8
const COUNT = 'rows_with_it'

/** The values that occur most among the rows that the other filters select, with their numbers of rows. */
function Frequent ({ table, column: { name, operators, ...column }, body, onBody }: Pick<ColumnMenuProps, 'table' | 'column' | 'body' | 'onBody'>) {
  const { service } = useStage()
  const [found, setFound] = useState<ReadonlyArray<{ readonly value: Json, readonly count: Json }>>()
  const key = keyOf(name)
  const filters = memberOf(body, 'filters')
  const given = memberOf(filters, key)
  const others = withMembers(isObject(filters) ? filters : {}, { [key]: undefined })
  const canCount = table.aggregates.has('$count') && column.isSortable && operators.includes('$eq')
  useEffect(() => {
    if (!canCount) return undefined
    const controller = new AbortController()
    const select = { verb: 'select', ...Object.keys(others).length > 0 && { filters: others }, groupBy: [name], aggregates: { [COUNT]: { $count: '*' } }, orderBy: [{ [COUNT]: 'DESC' }], limit: MAX_VALUES } as JsonObject
    service.look(table.path, writeLine(select), controller.signal).then(({ data }) => {
      const rows = (memberOf(data, 'rows') ?? []) as readonly JsonObject[]
      setFound(rows.map((row) => ({ value: row[name] as Json, count: row[COUNT] as Json })))
    }, () => {})
    return () => controller.abort()
  }, [])
  const shown = useMemo(() => found?.map(({ value }) => ({ [name]: value })) ?? [], [found])
  const names = useNames(shown, [name], table)
  if (!canCount) return null
  const named = names.get(name)
  const colors = colorsOf(table.columns.find((each) => each.name === name), found?.map(({ value }) => value) ?? [])
  const filter = (value: Json | undefined): void => {
    const changed = withMembers(others, { [key]: value })
    onBody(withFilters(table, body, Object.keys(changed).length === 0 ? undefined : changed))
  }
  return (
    <div class='frequent' role='group' aria-label={`Frequent values of ${name}`} aria-busy={found === undefined}>
      {found === undefined && [1, 2, 3].map((each) => <span key={each} class='skeleton' />)}
      {found?.map(({ value, count }) => {
        const isChosen = given !== undefined && isEqual(given, value)
        return <button key={writeLine(value)} type='button' class='item' aria-pressed={isChosen} onClick={() => filter(isChosen ? undefined : value)}><span class='value'><Value value={value} name={name} column={{ name, operators, ...column, isBytes: false }} colors={colors} />{named?.has(keyText(value)) === true && <span class='named'>{named.get(keyText(value))}</span>}</span><span class='muted'>{writeLine(count)}</span></button>
      })}
      {given !== undefined && <button type='button' class='item' onClick={() => filter(undefined)}><Icon name='close' />Every value again</button>}
    </div>
  )
}
