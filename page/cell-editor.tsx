/** The input of one value in its cell. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon } from './icons.tsx'
import { isEqual, type Json, type JsonObject } from './json.ts'
import { FormInput, ValueInput } from './record-form.tsx'
import { useHold } from './stage.tsx'
import type { Column } from './table.ts'
import { toGiven } from './values.ts'

/** What the database computes. */
const NOW: JsonObject = { $now: true }
const DEFAULT: JsonObject = { $default: true }

interface CellEditorProps {
  readonly column: Column
  readonly value: Json
  readonly onValue: (value: Json) => Promise<boolean>
  /** `by`: to the next or the previous cell. */
  readonly onEnd: (by: -1 | 0 | 1) => void
}

/** Enter shows what would change, Escape leaves it. It stays until the value is written, above the cells beside it, which do not move. */
export function CellEditor ({ column, value, onValue, onEnd }: CellEditorProps) {
  const element = useRef<HTMLSpanElement>(null)
  const [entered, setEntered] = useState<Json | undefined>(value)
  const isChanged = entered !== undefined && !isEqual(entered, value)
  useEffect(() => element.current?.querySelector<HTMLElement>('input, select, textarea')?.focus(), [])
  useHold(isChanged)
  const isAsking = useRef(false)
  const finish = async (by: -1 | 0 | 1 = 0): Promise<void> => {
    if (isAsking.current) return
    isAsking.current = true
    if (!isChanged || await onValue(toGiven(column, entered))) onEnd(by)
    isAsking.current = false
  }
  const form = isEqual(entered, NOW) || isEqual(entered, DEFAULT) ? entered as JsonObject : undefined
  const toggle = (chosen: JsonObject): void => setEntered(isEqual(entered, chosen) ? value : chosen)
  const press = (event: KeyboardEvent): void => {
    event.stopPropagation()
    const isInput = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement
    if (event.key === 'Escape') onEnd(0)
    else if (event.key === 'Tab' && isInput && !isChanged) onEnd(event.shiftKey ? -1 : 1)
    else if (event.key !== 'Enter' || event.target instanceof HTMLButtonElement || (event.target instanceof HTMLTextAreaElement && !event.ctrlKey)) return
    else finish()
    event.preventDefault()
  }
  return (
    <span ref={element} class={`cell-editor ${column.kind}`} onKeyDown={press}>
      {form === undefined
        ? <ValueInput label={`New ${column.name}`} column={column} value={entered} otherwise={value} isEdited placeholder={entered === null ? 'NULL' : ''} onValue={setEntered} />
        : <FormInput label={`New ${column.name}`} column={column} form={form} />}
      {column.takesNow.data && <button type='button' aria-pressed={isEqual(entered, NOW)} aria-label={`${column.name}: now`} onClick={() => toggle(NOW)}>now</button>}
      {column.takesDefault === true && <button type='button' aria-pressed={isEqual(entered, DEFAULT)} aria-label={`${column.name}: default`} onClick={() => toggle(DEFAULT)}>default</button>}
      {column.isNullable && <button type='button' aria-pressed={entered === null} aria-label={`${column.name}: NULL`} onClick={() => setEntered(null)}>NULL</button>}
      <button type='button' class='main' disabled={!isChanged} onClick={() => { finish() }}>Save …</button>
      <button type='button' class='quiet' aria-label='Leave the value as it is' onClick={() => onEnd(0)}><Icon name='close' /></button>
    </span>
  )
}
