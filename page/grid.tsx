/** Rows as a table, of which only those near the window are drawn; related rows and values in place below a row. */
import { Component, type ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { keyFilters } from './bodies.ts'
import { CellEditor } from './cell-editor.tsx'
import { colorsOf, Value } from './cell.tsx'
import { measure } from './column-layout.ts'
import { Icon } from './icons.tsx'
import { Digits, isEqual, isList, isObject, memberOf, writeLine, type Json, type JsonObject } from './json.ts'
import type { Term } from './order.ts'
import { readSheet, writeSheet } from './sheet.ts'
import { keyText, useNames, type Names } from './shown-names.ts'
import { mayLeave, useStage } from './stage.tsx'
import type { Column, Relation, Table } from './table.ts'

/** Rows that are drawn at once; of many columns as few as fill the window. */
const MAX_ROWS = 58
const MAX_CELLS = 600
/** Cells that are added in one task of the browser, about: it does nothing else meanwhile. */
const SLICE = 450
/** The height of a row before one is there, and what stands above and below the rows. */
const ROW_HEIGHT = 31
const AROUND = 160

interface GridProps {
  readonly label: string
  readonly rows: readonly JsonObject[]
  readonly columns: readonly string[]
  /** The table of the columns; undefined for groups. */
  readonly table?: Table | undefined
  readonly order?: readonly Term[] | undefined
  readonly onOrder?: ((name: string, isAdded: boolean) => void) | undefined
  /** What is shown below a row: `tab` is undefined for its values, else the name of a relation or a member. */
  readonly panel?: ((row: JsonObject, tab: string | undefined, close: () => void) => ComponentChildren) | undefined
  /** Columns to mark. */
  readonly marked?: ReadonlySet<string> | undefined
  /** Rows as they were, by their key: what has changed since is shown beside it. */
  readonly before?: ReadonlyMap<string, JsonObject> | undefined
  /** The rows that are selected, by their key. */
  readonly selected?: ReadonlyMap<string, JsonObject> | undefined
  readonly onSelected?: ((selected: ReadonlyMap<string, JsonObject>) => void) | undefined
  /** Writes a value that was entered in its cell. @returns whether it is written */
  readonly onEdit?: ((row: JsonObject, column: Column, value: Json) => Promise<boolean>) | undefined
  /** Cells of a sheet that were pasted at a column. */
  readonly onPaste?: ((cells: ReadonlyArray<readonly string[]>, from: number) => void) | undefined
  /** The key of the row that the address opens. */
  readonly opened?: string | undefined
  readonly onOpen?: ((row: JsonObject | undefined) => void) | undefined
  /** Widths that a person has chosen, and what keeps them. */
  readonly widths?: Readonly<Record<string, number>> | undefined
  readonly onWidth?: ((name: string, width: number) => void) | undefined
  /** Columns of bytes whose images are drawn. */
  readonly images?: readonly string[] | undefined
  /** The menu of a column. */
  readonly menuOf?: ((name: string, column: Column) => ComponentChildren) | undefined
  /** Draws a value otherwise, such as with a bar. */
  readonly draw?: ((name: string, value: Json | undefined) => ComponentChildren) | undefined
}

/** What tells the rows of a table apart: the values of its primary key. Undefined if it has none, or a row does not show it. */
export function rowKey (table: Table | undefined, row: JsonObject): string | undefined {
  const filters = table === undefined ? undefined : keyFilters(table, row)
  return filters === undefined ? undefined : writeLine(filters)
}

/** A row that is open, and what of it. */
interface Open { readonly row: string, readonly tab: string | undefined }
interface Place { readonly row: number, readonly column: number }

export function Grid (props: GridProps) {
  const { label, rows, columns, table, order = [], onOrder, panel, marked, before, selected, onSelected, onEdit, onPaste, opened, onOpen, images = [], widths, onWidth, menuOf, draw } = props
  const { say } = useStage()
  const [open, setOpen] = useState<Open | undefined>(opened === undefined ? undefined : { row: opened, tab: undefined })
  const [edited, setEdited] = useState<{ readonly row: string, readonly name: string }>()
  const [active, setActive] = useState<Place>({ row: 0, column: 0 })
  /** Whether the active cell takes the focus when it is drawn. */
  const takesFocus = useRef(false)
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => setOpen((before) => before?.row === opened ? before : opened === undefined ? undefined : { row: opened, tab: undefined }), [opened])
  useEffect(() => setActive(({ column }) => ({ row: 0, column: Math.min(column, columns.length - 1) })), [rows])
  const known = useMemo(() => new Map(table?.columns.map((column) => [column.name, column])), [table])
  const keys = useMemo(() => rows.map((row, index) => rowKey(table, row) ?? String(index)), [rows, table])
  const names = useNames(rows, columns, table)
  const colors = useMemo(() => new Map(columns.map((name) => [name, colorsOf(known.get(name), rows.map((row) => memberOf(row, name)))])), [rows, columns])
  // a column keeps its width while others come and go
  const measured = useRef(new Map<string, number>())
  for (const [name, width] of measure(columns.filter((name) => !measured.current.has(name)), rows, table)) measured.current.set(name, width)
  const widthOf = (name: string): number => widths?.[name] ?? measured.current.get(name) as number
  const openWidth = panel === undefined ? 0 : onSelected === undefined ? 36 : 64

  const openAs = (next: Open | undefined, row?: JsonObject): void => {
    if (next?.row !== open?.row && !mayLeave()) return
    setOpen(next)
    onOpen?.(next === undefined ? undefined : row)
  }
  const focusCell = (place: Place): void => {
    takesFocus.current = true
    setActive({ ...place })
  }
  const close = (): void => {
    element.current?.querySelector<HTMLElement>('tr.open button')?.focus()
    openAs(undefined)
  }
  const toggle = (index: number, tab?: string, isSame = open?.row === keys[index] && open?.tab === tab): void => openAs(isSame ? undefined : { row: keys[index] as string, tab }, rows[index])
  const canSelect = onSelected !== undefined && rows.length > 0 && rows.every((row) => rowKey(table, row) !== undefined)
  const select = (chosen: readonly JsonObject[], isChosen: boolean): void => {
    const changed = new Map(selected)
    for (const row of chosen) isChosen ? changed.set(rowKey(table, row) as string, row) : changed.delete(rowKey(table, row) as string)
    onSelected?.(changed)
  }
  const relationOf = (name: string): Relation | undefined => panel === undefined ? undefined : table?.relations.find(({ on, isMany }) => !isMany && on.length === 1 && on[0]?.[0] === name)
  const canEdit = (index: number, name: string): boolean => onEdit !== undefined && known.get(name)?.isUpdatable === true && memberOf(rows[index], name) !== undefined && rowKey(table, rows[index] as JsonObject) !== undefined
  const edit = ({ row, column }: Place): void => {
    const name = columns[column] as string
    if (canEdit(row, name)) {
      setActive({ row, column })
      setEdited({ row: keys[row] as string, name })
    } else if (panel !== undefined) toggle(row)
  }
  const endEdit = (by: -1 | 0 | 1): void => {
    setEdited(undefined)
    const next = active.column + by
    if (by !== 0 && columns[next] !== undefined && canEdit(active.row, columns[next])) edit({ row: active.row, column: next })
    else focusCell(active)
  }

  const isTall = images.some((name) => columns.includes(name))
  const [bodyTop, first, count, extra] = useWindow(element, { rows: rows.length, columns: columns.length, isTall })
  const openIndex = open === undefined ? -1 : keys.indexOf(open.row)
  useLayoutEffect(() => {
    if (!takesFocus.current) return
    const cell = element.current?.querySelector<HTMLElement>('[data-active]')
    if (cell === null || cell === undefined) return
    takesFocus.current = false
    cell.focus({ preventScroll: true })
    cell.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  })
  /** The place of the cell that an event is for; one listener for all cells, because a page has thousands. */
  const placeOf = ({ target }: Event): Place | undefined => {
    const cell = target instanceof Element && target.closest('.grid') === element.current ? target.closest<HTMLElement>('td[data-cell]') : null
    return cell === null ? undefined : { row: Number(cell.parentElement?.ariaRowIndex) - 2, column: Number(cell.dataset['cell']) }
  }
  const look = (event: FocusEvent): void => {
    const place = placeOf(event)
    if (place !== undefined && (place.row !== active.row || place.column !== active.column)) setActive(place)
  }
  const startEdit = (event: MouseEvent): void => {
    const place = placeOf(event)
    if (place !== undefined && canEdit(place.row, columns[place.column] as string)) edit(place)
  }
  const press = (event: KeyboardEvent): void => {
    const { target, key, ctrlKey, metaKey } = event
    if (!(target instanceof HTMLElement) || (target !== element.current && !target.hasAttribute('data-cell')) || target.closest('.grid') !== element.current) return
    const [last, end] = [rows.length - 1, columns.length - 1]
    const { row, column } = active
    const moves: Record<string, Place> = {
      ArrowDown: { row: Math.min(last, row + 1), column },
      ArrowUp: { row: Math.max(0, row - 1), column },
      ArrowRight: { row, column: Math.min(end, column + 1) },
      ArrowLeft: { row, column: Math.max(0, column - 1) },
      PageDown: { row: Math.min(last, row + 20), column },
      PageUp: { row: Math.max(0, row - 20), column },
      Home: { row: ctrlKey ? 0 : row, column: 0 },
      End: { row: ctrlKey ? last : row, column: end }
    }
    const next = moves[key]
    if (next !== undefined && !metaKey) {
      focusCell(next)
      bodyTop.show(next.row)
    } else if (key === 'Enter' || key === 'F2') edit(active)
    else if (key === ' ' && canSelect) select([rows[row] as JsonObject], selected?.has(keys[row] as string) !== true)
    else if (key === 'Escape' && open !== undefined) openAs(undefined)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  /** The rows that are selected, or the cell; not where a text is selected. */
  const copyCells = (event: ClipboardEvent): void => {
    if (!(event.target instanceof HTMLElement) || event.target.closest('.below, input, textarea') !== null || String(getSelection()) !== '') return
    const chosen = rows.filter((_row, index) => selected?.has(keys[index] as string) === true)
    const text = chosen.length > 0
      ? writeSheet(columns, chosen)
      : writeSheet([columns[active.column] as string], [rows[active.row] as JsonObject], false)
    event.clipboardData?.setData('text/plain', text)
    event.preventDefault()
    say(chosen.length > 0 ? `${chosen.length === 1 ? '1 row' : `${chosen.length} rows`} copied` : 'The cell is copied')
  }
  const paste = (event: ClipboardEvent): void => {
    if (onPaste === undefined || !(event.target instanceof HTMLElement) || event.target.closest('.below, input, textarea') !== null) return
    const cells = readSheet(event.clipboardData?.getData('text/plain') ?? '')
    if (cells.length === 0) return
    event.preventDefault()
    onPaste(cells, active.column)
  }

  const width = openWidth + columns.reduce((sum, name) => sum + widthOf(name), 0)
  // before the names are there: what comes later moves nothing
  const named = useMemo(() => new Set(table?.shownNames().map(({ relation: { on } }) => on[0]?.[0])), [table])
  const numeric = useMemo(() => new Set(columns.filter((name) => !named.has(name) && isNumeric(known.get(name), rows.find((row) => memberOf(row, name) !== null)?.[name]))), [columns, rows, named])
  // what is left of the card goes to texts, in proportion: numbers, times and check marks stay together
  const growing = new Set(columns.filter((name) => widths?.[name] === undefined && !numeric.has(name) && !isNarrowKind(known.get(name))))
  const grown = [...growing].reduce((sum, name) => sum + widthOf(name), 0)
  const span = columns.length + (panel === undefined ? 0 : 1)
  const lines: ComponentChildren[] = []
  const drawn = [...Array.from({ length: count }, (_, index) => first + index), ...openIndex >= 0 && (openIndex < first || openIndex >= first + count) ? [openIndex] : []].filter((index) => index < rows.length).sort((one, other) => one - other)
  let at = 0
  const space = (until: number): void => {
    if (until > at) lines.push(<tr key={`space ${at === 0 ? 'top' : until === rows.length ? 'bottom' : 'middle'}`} class='space' aria-hidden='true'><td colSpan={span} style={{ height: `${(until - at) * bodyTop.height}px` }} /></tr>)
  }
  for (const index of drawn) {
    space(index)
    at = index + 1
    const row = rows[index] as JsonObject
    const key = keys[index] as string
    const isOpen = open?.row === key
    lines.push(
      <Line
        key={key} row={row} index={index} columns={columns} known={known} names={names} colors={colors} images={images} numeric={numeric} isOpen={isOpen} tab={isOpen ? open.tab : undefined} marked={marked} before={before?.get(key)} draw={draw}
        isSelected={selected?.has(key) === true} active={active.row === index ? active.column : undefined} edited={edited?.row === key ? edited.name : undefined} hasPanel={panel !== undefined} canSelect={canSelect} table={table}
        actions={{ toggle, select, endEdit, relationOf, onEdit }}
      />
    )
    if (isOpen && panel !== undefined) lines.push(<tr key={`${key} below`} ref={extra} class='below'><td colSpan={span}><div class='inset'>{panel(row, open.tab, close)}</div></td></tr>)
  }
  space(rows.length)
  return (
    <div ref={element} class={isTall ? 'grid tall' : 'grid'} tabIndex={-1} role='region' aria-label={label} onKeyDown={press} onFocusIn={look} onDblClick={startEdit} onCopy={copyCells} onPaste={paste}>
      <table role='grid' aria-rowcount={rows.length + 1} aria-label={label} style={{ width: `${width}px` }}>
        <colgroup>
          {panel !== undefined && <col style={{ width: `${openWidth}px` }} />}
          {columns.map((name) => <col key={name} style={{ width: growing.has(name) ? `calc(${widthOf(name)}px + max(0px, var(--inner) - ${width + 1}px) * ${widthOf(name) / grown})` : `${widthOf(name)}px` }} />)}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {panel !== undefined && <th class='opener' scope='col'><span class='hidden'>Open</span>{canSelect && <input type='checkbox' aria-label='Select all rows' checked={rows.every((row) => selected?.has(rowKey(table, row) as string))} onChange={({ currentTarget }) => select(rows, currentTarget.checked)} />}</th>}
            {columns.map((name) => <Head key={name} name={name} column={known.get(name)} terms={order} onOrder={onOrder} isMember={table !== undefined && !known.has(name)} isNumeric={numeric.has(name)} menu={known.has(name) ? menuOf?.(name, known.get(name) as Column) : undefined} width={widthOf(name)} onWidth={onWidth} />)}
          </tr>
        </thead>
        <tbody>{lines}</tbody>
      </table>
    </div>
  )
}

interface Scrolled {
  /** The height of a row. */
  readonly height: number
  /** Scrolls so far that a row is drawn. */
  show (row: number): void
}

/** Which rows are near the window. The row that is open has another one of unknown height below it. */
function useWindow (element: { readonly current: HTMLDivElement | null }, { rows, columns, isTall }: { readonly rows: number, readonly columns: number, readonly isTall: boolean }): readonly [Scrolled, number, number, { current: HTMLTableRowElement | null }] {
  const least = Math.ceil((innerHeight - AROUND) / ROW_HEIGHT) + 4
  const most = Math.min(MAX_ROWS, Math.max(least, Math.floor(MAX_CELLS / Math.max(1, columns))))
  const isWhole = rows <= most
  const slice = Math.max(2, Math.floor(SLICE / Math.max(1, columns)))
  const [{ first, count }, setRange] = useState({ first: 0, count: Math.min(slice, most) })
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const height = useRef(ROW_HEIGHT)
  const extra = useRef<HTMLTableRowElement>(null)
  const parent = useRef<HTMLElement>(null)
  const offset = (): number => {
    const body = element.current?.querySelector('tbody')
    return body === null || body === undefined || parent.current === null ? 0 : parent.current.getBoundingClientRect().top - body.getBoundingClientRect().top
  }
  useLayoutEffect(() => {
    height.current = element.current?.querySelector<HTMLElement>('tr.row')?.getBoundingClientRect().height ?? ROW_HEIGHT
  }, [rows, isTall])
  useLayoutEffect(() => {
    if (isWhole) return undefined
    let found = element.current as HTMLElement | null
    while (found !== null && !/auto|scroll/.test(getComputedStyle(found).overflowY)) found = found.parentElement
    parent.current = found
    const look = (): void => {
      let top = offset()
      const below = extra.current
      if (below !== null && below.getBoundingClientRect().top < (found?.getBoundingClientRect().top ?? 0)) top -= Math.min(below.offsetHeight, Math.max(0, (found?.getBoundingClientRect().top ?? 0) - below.getBoundingClientRect().top))
      const seen = Math.ceil((found?.clientHeight ?? innerHeight) / height.current)
      const ahead = Math.max(2, Math.floor((most - seen) / 2))
      // in steps, so that most movements draw nothing
      const step = Math.max(1, Math.floor(ahead / 2))
      const next = Math.max(0, Math.floor((Math.floor(top / height.current) - ahead + step) / step) * step)
      const wanted = Math.min(next, Math.max(0, rows - most))
      setRange((before) => {
        if (before.first === wanted) return before
        const kept = before.first < wanted ? Math.max(0, before.first + before.count - wanted) : before.first - wanted > slice ? 0 : before.count
        return { first: wanted, count: Math.min(most, kept + slice) }
      })
    }
    // apart from the task that draws the frame
    const lookLater = (): void => {
      clearTimeout(timer.current)
      timer.current = setTimeout(look)
    }
    look()
    found?.addEventListener('scroll', lookLater, { passive: true })
    return () => {
      clearTimeout(timer.current)
      found?.removeEventListener('scroll', lookLater)
    }
  }, [rows, columns, isWhole, isTall])
  const isGrowing = !isWhole && count < most
  useEffect(() => {
    if (!isGrowing) return undefined
    const later = setTimeout(() => setRange((before) => ({ ...before, count: Math.min(most, before.count + slice) })))
    return () => clearTimeout(later)
  }, [isGrowing, first, count])
  const show = (row: number): void => {
    if (isWhole || parent.current === null) return
    const top = offset()
    const [from, to] = [row * height.current, (row + 2) * height.current]
    const room = parent.current.clientHeight - 120
    if (from < top) parent.current.scrollTop -= top - from + 60
    else if (to > top + room) parent.current.scrollTop += to - top - room
  }
  return [{ height: height.current, show }, isWhole ? 0 : Math.min(first, Math.max(0, rows - most)), isWhole ? rows : Math.min(count, most), extra]
}

interface Actions {
  readonly toggle: (index: number, tab?: string, isSame?: boolean) => void
  readonly select: (rows: readonly JsonObject[], isChosen: boolean) => void
  readonly endEdit: (by: -1 | 0 | 1) => void
  readonly relationOf: (name: string) => Relation | undefined
  readonly onEdit: GridProps['onEdit']
}

interface LineProps {
  readonly row: JsonObject
  readonly index: number
  readonly columns: readonly string[]
  readonly known: ReadonlyMap<string, Column>
  readonly names: Names
  readonly colors: ReadonlyMap<string, ReadonlyMap<string, number> | undefined>
  readonly images: readonly string[]
  readonly numeric: ReadonlySet<string>
  readonly isOpen: boolean
  readonly tab: string | undefined
  readonly marked: ReadonlySet<string> | undefined
  readonly before: JsonObject | undefined
  readonly draw: GridProps['draw']
  readonly isSelected: boolean
  readonly active: number | undefined
  readonly edited: string | undefined
  readonly hasPanel: boolean
  readonly canSelect: boolean
  readonly table: Table | undefined
  /** Not compared: they act on what the grid is now. */
  readonly actions: Actions
}

/** One row, which is drawn again only if something of it has changed. */
class Line extends Component<LineProps> {
  override shouldComponentUpdate (next: LineProps): boolean {
    return (Object.keys(next) as Array<keyof LineProps>).some((name) => name === 'actions' ? next.edited !== undefined : name === 'columns' || name === 'images' ? String(next[name]) !== String(this.props[name]) : next[name] !== this.props[name])
  }

  override render ({ row, index, columns, known, names, colors, images, numeric, isOpen, tab, marked, before, draw, isSelected, active, edited, hasPanel, canSelect, table, actions }: LineProps) {
    const act = (): Actions => this.props.actions
    return (
      <tr class={`row${isOpen ? ' open' : ''}${isSelected ? ' selected' : ''}`} aria-rowindex={index + 2}>
        {hasPanel && (
          <td class='opener'><button type='button' tabIndex={-1} aria-expanded={isOpen} aria-label={`Row ${index + 1}`} title='Values, related rows, edit' onClick={() => act().toggle(index, isOpen ? tab : undefined)}><Icon name={isOpen ? 'down' : 'open'} /></button>{canSelect && <input type='checkbox' tabIndex={-1} aria-label={`Select row ${index + 1}`} checked={isSelected} onChange={({ currentTarget }) => act().select([row], currentTarget.checked)} />}</td>
        )}
        {columns.map((name, at) => {
          const value = memberOf(row, name)
          const column = known.get(name)
          const isActive = active === at
          const shared = { 'data-cell': at, 'data-active': isActive ? '' : undefined, tabIndex: isActive ? 0 : -1 }
          if (column !== undefined && edited === name && value !== undefined) {
            return <td key={name} class='edited' data-active=''><CellEditor column={column} value={value} onEnd={(by) => act().endEdit(by)} onValue={(entered) => act().onEdit?.(row, column, entered) ?? Promise.resolve(false)} /></td>
          }
          const relation = value === null || value === undefined ? undefined : actions.relationOf(name)
          const isMember = hasPanel && table !== undefined && column === undefined && (isObject(value) || isList(value))
          const old = memberOf(before, name)
          const named = relation === undefined ? undefined : names.get(name)?.get(keyText(value as Json))
          return (
            <td key={name} {...shared} class={`${numeric.has(name) ? 'number' : ''}${marked?.has(name) === true ? ' marked' : ''}`}>
              {isMember
                ? <button type='button' class='link' tabIndex={-1} aria-expanded={isOpen && tab === name} onClick={() => act().toggle(index, name)}><Summary value={value as Json} /></button>
                : relation === undefined
                  ? draw?.(name, value) ?? <>{old !== undefined && !isEqual(old, value) && <><del><Value value={old} name={name} column={column} /></del> → </>}<Value value={value} name={name} column={column} colors={colors.get(name)} isImage={images.includes(name)} /></>
                  : <button type='button' class='link' tabIndex={-1} title={`Show the row of ${relation.table}`} aria-expanded={isOpen && tab === relation.name} onClick={() => act().toggle(index, relation.name)}>{keyText(value as Json)}</button>}
              {named !== undefined && <span class='named'>{named}</span>}
            </td>
          )
        })}
      </tr>
    )
  }
}

function isNumeric (column: Column | undefined, value: Json | undefined): boolean {
  // sums and averages are texts of digits
  if (column === undefined) return typeof value === 'number' || value instanceof Digits || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value))
  return column.kind === 'integer' || column.kind === 'number' || column.kind === 'decimal'
}

/** Whether more room would leave a void beside each value. */
const isNarrowKind = (column: Column | undefined): boolean => column !== undefined && (column.kind === 'boolean' || column.takesNow.filters || column.isBytes)

interface HeadProps extends Pick<GridProps, 'onOrder' | 'onWidth'> {
  readonly name: string
  readonly column: Column | undefined
  readonly terms: readonly Term[]
  readonly isMember: boolean
  readonly isNumeric: boolean
  readonly menu: ComponentChildren
  readonly width: number
}

/** What a person asks of a column: its type, its key, its comment. */
export const describeColumn = (column: Column): string => [column.type, column.isKey ? 'primary key' : '', column.isNullable ? 'may be NULL' : '', column.references === undefined ? '' : `refers to ${column.references.table}.${column.references.column}`, column.description].filter((text) => text !== '').join(' · ')

function Head ({ name, column, terms, onOrder, isMember, isNumeric, menu, width, onWidth }: HeadProps) {
  const term = terms.find((each) => each.name === name)
  const sorted = term === undefined ? undefined : term.descends ? 'descending' : 'ascending'
  const content = <span class='name'>{column?.isKey === true && <><Icon name='key' /><span class='hidden'>key </span></>}<span>{name}</span>{term !== undefined && <Icon name={term.descends ? 'down' : 'up'} />}</span>
  const start = useRef<{ readonly x: number, readonly width: number }>(undefined)
  return (
    <th scope='col' class={isNumeric ? 'number' : ''} aria-sort={sorted ?? 'none'} title={column === undefined ? undefined : describeColumn(column)}>
      <span class='head'>
        {onOrder !== undefined && !isMember && column?.isSortable !== false
          ? <button type='button' class='sort' onClick={(event) => onOrder(name, event.shiftKey)}>{content}</button>
          : content}
        {menu}
      </span>
      {onWidth !== undefined && (
        <span
          class='grip' aria-hidden='true'
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId)
            start.current = { x: event.clientX, width }
          }}
          onPointerMove={(event) => { if (start.current !== undefined) onWidth(name, Math.max(48, Math.min(900, start.current.width + event.clientX - start.current.x))) }}
          onPointerUp={() => { start.current = undefined }}
        />
      )}
    </th>
  )
}

/** A member of `include` in a cell: how many rows, or the first values of one. */
function Summary ({ value }: { value: Json }) {
  if (isList(value)) return <>{value.length === 1 ? '1 row' : `${value.length} rows`}</>
  return <>{Object.values(value as JsonObject).filter((each) => each !== null && typeof each !== 'object').slice(0, 3).map((each) => String(each as string)).join(' · ').slice(0, 48) || '{}'}</>
}
