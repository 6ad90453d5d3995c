/** Rows as a table: types in the head, NULL visible, long values on click, related rows and values in place below a row. */
import { Fragment, type ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Digits, isEqual, isList, isObject, memberOf, writeLine, type Json, type JsonObject } from './json.ts'
import type { Term } from './order.ts'
import type { Column, Relation, Table } from './table.ts'
import { keyFilters, nameColumn } from './bodies.ts'
import { keyOf } from './filter-rows.ts'
import { Value } from './cell.tsx'
import { ValueInput } from './record-form.tsx'
import { mayLeave, useHold, useStage } from './stage.tsx'
import { toGiven } from './values.ts'

/** Cells that are drawn at once; a button shows more. */
const MAX_CELLS = 12_000

export interface GridProps {
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
  /** The key of the row that the address opens. */
  readonly opened?: string | undefined
  readonly onOpen?: ((row: JsonObject | undefined) => void) | undefined
}

/** What tells the rows of a table apart: the values of its primary key. Undefined if it has none, or a row does not show it. */
export function rowKey (table: Table | undefined, row: JsonObject): string | undefined {
  const filters = table === undefined ? undefined : keyFilters(table, row)
  return filters === undefined ? undefined : writeLine(filters)
}

/** A row that is open, and what of it. */
interface Open { readonly row: string, readonly tab: string | undefined }

export function Grid ({ label, rows, columns, table, order = [], onOrder, panel, marked, before, selected, onSelected, onEdit, opened, onOpen }: GridProps) {
  const [open, setOpen] = useState<Open | undefined>(opened === undefined ? undefined : { row: opened, tab: undefined })
  const [edited, setEdited] = useState<{ readonly row: string, readonly name: string }>()
  const [shown, setShown] = useState(MAX_CELLS)
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => setOpen((before) => before?.row === opened ? before : opened === undefined ? undefined : { row: opened, tab: undefined }), [opened])
  const known = new Map(table?.columns.map((column) => [column.name, column]))
  const count = Math.max(10, Math.floor(shown / Math.max(1, columns.length)))
  const idOf = (row: JsonObject, index: number): string => rowKey(table, row) ?? String(index)
  const openAs = (next: Open | undefined, row?: JsonObject): void => {
    if (next?.row !== open?.row && !mayLeave()) return
    setOpen(next)
    onOpen?.(next === undefined ? undefined : row)
  }
  const close = (): void => {
    element.current?.querySelector<HTMLElement>('tr.open button')?.focus()
    openAs(undefined)
  }
  const endEdit = (): void => {
    setEdited(undefined)
    element.current?.focus({ preventScroll: true })
  }
  const toggle = (key: string, row: JsonObject, tab?: string): void => openAs(open?.row === key && open.tab === tab ? undefined : { row: key, tab }, row)
  const canSelect = onSelected !== undefined && rows.length > 0 && rows.every((row) => rowKey(table, row) !== undefined)
  const select = (chosen: readonly JsonObject[], isChosen: boolean): void => {
    const changed = new Map(selected)
    for (const row of chosen) isChosen ? changed.set(rowKey(table, row) as string, row) : changed.delete(rowKey(table, row) as string)
    onSelected?.(changed)
  }
  const names = useNames(rows, columns, table)
  const relationOf = (name: string): Relation | undefined => table?.relations.find(({ on, isMany }) => !isMany && on.length === 1 && on[0]?.[0] === name)
  return (
    <div ref={element} class='grid' tabIndex={0} role='region' aria-label={label}>
      <table>
        <thead>
          <tr>
            {panel !== undefined && <th class='opener'><span class='hidden'>Open</span>{canSelect && <input type='checkbox' aria-label='Select all rows' checked={rows.every((row) => selected?.has(rowKey(table, row) as string))} onChange={({ currentTarget }) => select(rows, currentTarget.checked)} />}</th>}
            {columns.map((name) => <Head key={name} name={name} column={known.get(name)} terms={order} onOrder={onOrder} isMember={table !== undefined && !known.has(name)} isNumeric={!names.has(name) && isNumeric(known.get(name), memberOf(rows[0], name))} />)}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, count).map((row, index) => {
            const key = idOf(row, index)
            const isOpen = open?.row === key
            return (
              <Fragment key={key}>
                <tr class={isOpen ? 'open' : ''}>
                  {panel !== undefined && (
                    <td class='opener'><button type='button' aria-expanded={isOpen} aria-label={`Row ${index + 1}`} title='Values, related rows, edit' onClick={() => toggle(key, row, isOpen ? open.tab : undefined)}>{isOpen ? '▾' : '▸'}</button>{canSelect && <input type='checkbox' aria-label={`Select row ${index + 1}`} checked={selected?.has(key) === true} onChange={({ currentTarget }) => select([row], currentTarget.checked)} />}</td>
                  )}
                  {columns.map((name) => {
                    const value = memberOf(row, name)
                    const column = known.get(name)
                    const relation = panel === undefined || value === null || value === undefined ? undefined : relationOf(name)
                    const isMember = panel !== undefined && table !== undefined && column === undefined && (isObject(value) || isList(value))
                    const old = memberOf(before?.get(key), name)
                    const canEdit = onEdit !== undefined && column?.isUpdatable === true && value !== undefined && rowKey(table, row) !== undefined
                    if (canEdit && edited?.row === key && edited.name === name) {
                      return <td key={name}><CellEditor column={column} value={value} onEnd={endEdit} onValue={(entered) => onEdit(row, column, entered)} /></td>
                    }
                    return (
                      <td key={name} title={canEdit ? 'Double-click to edit' : undefined} onDblClick={canEdit ? () => setEdited({ row: key, name }) : undefined} class={`${!names.has(name) && isNumeric(column, value) ? 'number' : ''}${marked?.has(name) === true ? ' marked' : ''}`}>
                        {isMember
                          ? <button type='button' class='link' aria-expanded={isOpen && open.tab === name} onClick={() => toggle(key, row, name)}><Summary value={value as Json} /></button>
                          : relation === undefined
                            ? <>{old !== undefined && !isEqual(old, value) && <><del><Value value={old} name={name} /></del> → </>}<Value value={value} name={name} /></>
                            : <button type='button' class='link' title={`Show the row of ${relation.table}`} aria-expanded={isOpen && open.tab === relation.name} onClick={() => toggle(key, row, relation.name)}>{keyText(value as Json)}</button>}
                        {relation !== undefined && names.get(name)?.has(keyText(value as Json)) === true && <span class='named'>{names.get(name)?.get(keyText(value as Json))}</span>}
                      </td>
                    )
                  })}
                </tr>
                {isOpen && panel !== undefined && <tr class='below'><td colSpan={columns.length + 1}><div class='inset'>{panel(row, open.tab, close)}</div></td></tr>}
              </Fragment>
            )
          })}
        </tbody>
      </table>
      {rows.length > count && <p class='more'><button type='button' onClick={() => setShown(shown + 4 * MAX_CELLS)}>Draw more rows</button> <span class='muted'>{count} of {rows.length} rows are drawn</span></p>}
    </div>
  )
}

interface CellEditorProps {
  readonly column: Column
  readonly value: Json
  readonly onValue: (value: Json) => Promise<boolean>
  readonly onEnd: () => void
}

/** The input of one value in its cell: Enter shows what would change, Escape leaves it. It stays until the value is written. */
function CellEditor ({ column, value, onValue, onEnd }: CellEditorProps) {
  const element = useRef<HTMLSpanElement>(null)
  const [entered, setEntered] = useState<Json | undefined>(value)
  const isChanged = entered !== undefined && !isEqual(entered, value)
  useEffect(() => element.current?.querySelector<HTMLElement>('input, select, textarea')?.focus(), [])
  useHold(isChanged)
  const isAsking = useRef(false)
  const finish = async (): Promise<void> => {
    if (isAsking.current) return
    isAsking.current = true
    if (!isChanged || await onValue(toGiven(column, entered))) onEnd()
    isAsking.current = false
  }
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') onEnd()
    else if (event.key !== 'Enter' || (event.target instanceof HTMLTextAreaElement && !event.ctrlKey)) return
    else finish()
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <span ref={element} class='cell-editor' onKeyDown={press}>
      <ValueInput label={`New ${column.name}`} column={column} value={entered} otherwise={value} isEdited placeholder={entered === null ? 'NULL' : ''} onValue={setEntered} />
      {column.isNullable && <button type='button' aria-pressed={entered === null} aria-label={`${column.name}: NULL`} onClick={() => setEntered(null)}>NULL</button>}
      <button type='button' disabled={!isChanged} onClick={() => { finish() }}>Save …</button>
      <button type='button' class='quiet' aria-label='Leave the value as it is' onClick={onEnd}>×</button>
    </span>
  )
}

const keyText = (value: Json): string => typeof value === 'string' ? value : writeLine(value)

/** Keys of which names are looked up at once, for a column. */
const MAX_NAMES = 1000
const MAX_NAME = 40

/** For each column that refers to a row with a name: its key to that name. */
function useNames (rows: readonly JsonObject[], columns: readonly string[], table: Table | undefined): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const { document, service } = useStage()
  const [names, setNames] = useState<ReadonlyMap<string, ReadonlyMap<string, string>>>(new Map())
  useEffect(() => {
    const controller = new AbortController()
    const look = async ({ name, references }: Column): Promise<void> => {
      const other = references === undefined ? undefined : document.table(references.table)
      const label = other === undefined ? undefined : nameColumn(other)
      const keys = new Map(rows.map((row) => memberOf(row, name)).filter((value) => value !== null && value !== undefined).map((value) => [keyText(value), value]))
      if (references === undefined || other?.verbs.includes('select') !== true || label === undefined || label.name === references.column || keys.size === 0) return
      const filters = { [keyOf(references.column)]: { $in: [...keys.values()].slice(0, MAX_NAMES) } }
      const { data } = await service.look(other.path, writeLine({ verb: 'select', columns: [references.column, label.name], filters, limit: MAX_NAMES }), controller.signal)
      const found = (memberOf(data, 'rows') ?? []) as readonly JsonObject[]
      const named = found.flatMap((row): Array<[string, string]> => typeof row[label.name] === 'string' ? [[keyText(row[references.column] as Json), (row[label.name] as string).slice(0, MAX_NAME)]] : [])
      setNames((before) => new Map([...before, [name, new Map(named)]]))
    }
    setNames(new Map())
    table?.columns.filter(({ name }) => columns.includes(name)).forEach((column) => look(column).catch(() => {}))
    return () => controller.abort()
  }, [rows])
  return names
}

function isNumeric (column: Column | undefined, value: Json | undefined): boolean {
  // sums and averages are texts of digits
  if (column === undefined) return typeof value === 'number' || value instanceof Digits || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value))
  return column.kind === 'integer' || column.kind === 'number' || column.kind === 'decimal'
}

interface HeadProps extends Pick<GridProps, 'onOrder'> {
  readonly name: string
  readonly column: Column | undefined
  readonly terms: readonly Term[]
  readonly isMember: boolean
  readonly isNumeric: boolean
}

function Head ({ name, column, terms, onOrder, isMember, isNumeric }: HeadProps) {
  const term = terms.find((each) => each.name === name)
  const sorted = term === undefined ? undefined : term.descends ? 'descending' : 'ascending'
  const type = column?.type ?? ''
  const title = column === undefined ? undefined : [column.isKey ? 'Primary key' : '', column.isNullable ? 'may be NULL' : '', column.references === undefined ? '' : `refers to ${column.references.table}.${column.references.column}`, column.description].filter((text) => text !== '').join(' · ')
  const content = <><span class='name'>{column?.isKey === true && <span class='key'>key</span>}{name}{term !== undefined && <span aria-hidden='true'>{term.descends ? ' ↓' : ' ↑'}</span>}</span>{type !== '' && <span class='type'>{type}</span>}</>
  return (
    <th scope='col' class={isNumeric ? 'number' : ''} aria-sort={sorted ?? 'none'} title={title}>
      {onOrder !== undefined && !isMember && column?.isSortable !== false
        ? <button type='button' onClick={(event) => onOrder(name, event.shiftKey)}>{content}</button>
        : content}
    </th>
  )
}

/** A member of `include` in a cell: how many rows, or the first values of one. */
function Summary ({ value }: { value: Json }) {
  if (isList(value)) return <>{value.length === 1 ? '1 row' : `${value.length} rows`}</>
  return <>{Object.values(value as JsonObject).filter((each) => each !== null && typeof each !== 'object').slice(0, 3).map((each) => String(each as string)).join(' · ').slice(0, 48) || '{}'}</>
}
