/** A key of another table, which is picked by the name of its row from a list that the service searches. */
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { memberOf, withMembers, writeLine, type Json, type JsonObject } from './json.ts'
import { keyOf } from './filter-rows.ts'
import { withSearch } from './search.ts'
import { keyText } from './shown-names.ts'
import { useStage } from './stage.tsx'
import { nameColumn, type Column, type DatabaseDocument } from './table.ts'
import { fromText, toText } from './values.ts'

/** Rows that are offered, and how long to wait for the next letter, in milliseconds. */
const MAX_OFFERED = 8
const PAUSE = 150

interface Target { readonly path: string, readonly key: string, readonly name: string, readonly table: string }

/** Where the names of a key are; undefined if there are none to show. */
export function targetOf ({ references, kind, members }: Column, document: DatabaseDocument): (Target & { readonly search: (text: string) => JsonObject | undefined }) | undefined {
  const other = references === undefined || members !== undefined || (kind !== 'integer' && kind !== 'text') ? undefined : document.table(references.table)
  const label = other?.verbs.includes('select') === true ? nameColumn(other) : undefined
  if (references === undefined || other === undefined || label === undefined || label.name === references.column) return undefined
  return { path: other.path, key: references.column, name: label.name, table: other.name, search: (text) => text === '' ? undefined : withSearch(other, undefined, { text }) }
}

interface KeyInputProps {
  readonly id?: string | undefined
  readonly label?: string | undefined
  readonly column: Column
  readonly value: Json | undefined
  readonly placeholder: string
  readonly target: NonNullable<ReturnType<typeof targetOf>>
  readonly onValue: (value: Json | undefined) => void
}

export function KeyInput ({ id, label, column, value, placeholder, target, onValue }: KeyInputProps) {
  const { service } = useStage()
  const shown = toText(column, value)
  const [text, setText] = useState(shown)
  const [isOpen, setOpen] = useState(false)
  const [found, setFound] = useState<ReadonlyArray<{ readonly key: Json, readonly name: string }>>()
  const [at, setAt] = useState(-1)
  const input = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const listId = useId()
  const isKey = (entered: string): boolean => column.kind === 'text' || /^-?\d+$/.test(entered.trim())
  const isWrong = text.trim() !== '' && !isKey(text)
  useLayoutEffect(() => { if (value !== undefined && shown !== text) setText(shown) }, [shown])
  const entered = text === shown && value !== undefined && value !== null ? '' : text.trim()
  useEffect(() => {
    if (!isOpen) return undefined
    const controller = new AbortController()
    const body = withMembers({ verb: 'select', columns: [target.key, target.name], limit: MAX_OFFERED }, { filters: target.search(entered) })
    const timer = setTimeout(() => {
      service.look(target.path, writeLine(body), controller.signal).then(({ data }) => {
        const rows = (memberOf(data, 'rows') ?? []) as readonly JsonObject[]
        setFound(rows.map((row) => ({ key: row[target.key] as Json, name: keyText(row[target.name] ?? '') })))
        setAt(-1)
      }, () => {})
    }, PAUSE)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [isOpen, entered])
  useLayoutEffect(() => {
    const [panel, box] = [list.current, input.current?.getBoundingClientRect()]
    if (panel === null || box === undefined) return
    panel.togglePopover(isOpen)
    if (!isOpen) return
    const fits = box.bottom + panel.offsetHeight + 8 < innerHeight
    panel.style.left = `${Math.max(8, Math.min(box.left, innerWidth - panel.offsetWidth - 8))}px`
    panel.style.top = `${fits ? box.bottom + 2 : Math.max(8, box.top - panel.offsetHeight - 2)}px`
    panel.style.minWidth = `${box.width}px`
  }, [isOpen, found])
  const enter = (given: string): void => {
    setText(given)
    setOpen(true)
    onValue(given.trim() === '' || !isKey(given) ? undefined : fromText(column, given))
  }
  const choose = (key: Json): void => {
    setText(keyText(key))
    setOpen(false)
    onValue(key)
  }
  const press = (event: KeyboardEvent): void => {
    const count = found?.length ?? 0
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      setOpen(true)
      if (count > 0) setAt((at + (event.key === 'ArrowDown' ? 1 : count + (at < 0 ? 0 : -1))) % count)
    } else if (event.key === 'Enter' && isOpen && found?.[at] !== undefined) choose(found[at].key)
    else if (event.key === 'Escape' && isOpen) setOpen(false)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const [named, setNamed] = useState<{ readonly key: string, readonly name: string }>()
  useEffect(() => {
    if (value === undefined || value === null) return undefined
    const controller = new AbortController()
    service.look(target.path, writeLine({ verb: 'select', columns: [target.name], filters: { [keyOf(target.key)]: value }, limit: 1 }), controller.signal).then(({ data }) => {
      const [row] = (memberOf(data, 'rows') ?? []) as readonly JsonObject[]
      if (row !== undefined) setNamed({ key: keyText(value), name: keyText(row[target.name] ?? '') })
    }, () => {})
    return () => controller.abort()
  }, [])
  const name = found?.find(({ key }) => keyText(key) === text)?.name ?? (named?.key === text ? named.name : undefined)
  return (
    <span class='key-input'>
      <input
        ref={input} id={id} aria-label={label} type='text' role='combobox' autocomplete='off' spellcheck={false} placeholder={placeholder === '' ? `search ${target.table}` : placeholder} aria-invalid={isWrong} aria-expanded={isOpen} aria-controls={listId} aria-autocomplete='list'
        aria-activedescendant={isOpen && at >= 0 ? `${listId}-${at}` : undefined} value={text} onInput={({ currentTarget }) => enter(currentTarget.value)} onFocus={() => setOpen(true)} onClick={() => setOpen(true)} onBlur={() => setOpen(false)} onKeyDown={press}
      />
      {isWrong ? <span class='mistake'>This is no {target.key} of {target.table}: choose a row.</span> : name !== undefined && <span class='muted'>{name}</span>}
      <div ref={list} id={listId} popover='manual' class='panel choices' role='listbox' aria-label={`Rows of ${target.table}`}>
        {isOpen && found === undefined && <span class='skeleton' />}
        {isOpen && found?.length === 0 && <p class='muted'>No row of {target.table} matches.</p>}
        {isOpen && found?.map(({ key, name: each }, index) => <div key={keyText(key)} id={`${listId}-${index}`} class='item' role='option' aria-selected={index === at} onPointerDown={(event) => { event.preventDefault(); choose(key) }}><span class='value'>{each}</span><span class='muted'>{keyText(key)}</span></div>)}
      </div>
    </span>
  )
}
