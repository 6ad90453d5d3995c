/** Inputs for the values of a row. */
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { isEqual, isList, memberOf, withMembers, writeLine, type Json, type JsonObject } from './json.ts'
import { KeyInput, targetOf } from './key-input.tsx'
import { useStage } from './stage.tsx'
import type { Column, Table } from './table.ts'
import { exampleOf, fromGiven, fromPicked, fromText, lineEndOf, pickerOf, readBase64, toGiven, toPicked, toText, type Given, type LineEnd } from './values.ts'

interface RecordFormProps {
  readonly table: Table
  readonly verb: 'insert' | 'update'
  readonly data: JsonObject
  /** The row that is edited: its values stand in the inputs. */
  readonly row?: JsonObject | undefined
  readonly onChange: (data: JsonObject) => void
}

export function RecordForm ({ table, verb, data, row, onChange }: RecordFormProps) {
  const columns = table.columns.filter(({ isInsertable, isUpdatable }) => verb === 'insert' ? isInsertable : isUpdatable)
  // required ones first, in the order of the table
  const sorted = verb === 'insert' ? [...columns.filter(({ isRequired }) => isRequired), ...columns.filter(({ isRequired }) => !isRequired)] : columns
  const set = (column: Column, value: Json | undefined): void => {
    const isUnchanged = row !== undefined && isEqual(toValue(column, value), toValue(column, memberOf(row, column.name)))
    onChange(withMembers(data, { [column.name]: isUnchanged || value === undefined ? undefined : toGiven(column, value) }))
  }
  const element = useRef<HTMLDivElement>(null)
  // a button has opened it, which is gone
  useLayoutEffect(() => { if (row !== undefined) element.current?.focus({ preventScroll: true }) }, [])
  return (
    <div ref={element} class='record' tabIndex={-1} role='group' aria-label={row === undefined ? 'Values' : 'Values of the row'}>
      {sorted.map((column) => {
        const given = memberOf(data, column.name)
        const old = memberOf(row, column.name)
        return <Field key={column.name} table={table} column={column} verb={verb} given={given === undefined ? { value: old } : fromGiven(column, given)} old={old} isEdited={row !== undefined} isChanged={row !== undefined && given !== undefined} onValue={(value) => set(column, value)} />
      })}
    </div>
  )
}

/** 1 of a boolean column is true. */
const toValue = ({ kind }: Column, value: Json | undefined): Json | undefined => kind === 'boolean' && (value === 0 || value === 1) ? value === 1 : value

interface FieldProps {
  readonly table?: Table
  readonly column: Column
  readonly verb: 'insert' | 'update'
  readonly given: Given
  /** The value of the row. */
  readonly old: Json | undefined
  /** Whether an empty text means an empty value. */
  readonly isEdited: boolean
  readonly isChanged: boolean
  readonly onValue: (value: Json | undefined) => void
  /** What stands below the input. */
  readonly note?: string
}

export function Field ({ table, column, verb, given: { value, form }, old, isEdited, isChanged, onValue, note = '' }: FieldProps) {
  const id = useId()
  const [isNow, isDefault] = ['$now', '$default'].map((name) => memberOf(form, name) === true)
  // an update leaves a column as it is, whatever its default
  const hint = verb === 'update' ? exampleOf(column) : column.isAutoIncrement ? 'automatic' : column.default === undefined ? exampleOf(column) : `default: ${typeof column.default === 'string' ? column.default : JSON.stringify(column.default)}`
  return (
    <div class={`field${isChanged ? ' changed' : ''}`}>
      <label for={id}>{column.name}{column.isRequired && verb === 'insert' && <span class='required'> required</span>} <span class='type'>{column.type}</span></label>
      <div class='input'>
        {form !== undefined
          ? <FormInput id={id} column={column} form={form} />
          : <ValueInput id={id} table={table} column={column} value={value} otherwise={old} isEdited={isEdited} placeholder={value === null ? 'NULL' : hint} onValue={onValue} />}
        {pickerOf(column) !== undefined && form === undefined && <Picker column={column} label={column.name} value={value} onValue={onValue} />}
        {column.isBytes && form === undefined && <Upload column={column} onValue={onValue} />}
        {column.takesNow.data && <button type='button' aria-pressed={isNow} title='The present time, by the clock of the database' aria-label={`${column.name}: now`} onClick={() => onValue(isNow ? undefined : { $now: true })}>now</button>}
        {verb === 'update' && column.takesDefault === true && <button type='button' aria-pressed={isDefault} title='The default of the column' aria-label={`${column.name}: default`} onClick={() => onValue(isDefault ? undefined : { $default: true })}>default</button>}
        {column.isNullable && <button type='button' class='null-button' aria-pressed={value === null} aria-label={`${column.name}: NULL`} onClick={() => onValue(value === null ? undefined : null)}>NULL</button>}
      </div>
      {note !== '' && <span class='muted'>{note}</span>}
    </div>
  )
}

/** What the database computes, instead of a value. */
export function FormInput ({ id, label, column, form }: { id?: string, label?: string, column: Column, form: JsonObject }) {
  const text = memberOf(form, '$now') === true ? 'now, by the clock of the database' : memberOf(form, '$default') === true ? `the default${column.default === undefined ? '' : `: ${typeof column.default === 'string' ? column.default : JSON.stringify(column.default)}`}` : undefined
  return <input id={id} aria-label={label} type='text' readOnly title={text === undefined ? 'Change it in the body of the request' : undefined} value={text ?? writeLine(form)} />
}

interface ValueInputProps {
  readonly id?: string
  readonly label?: string
  /** The table whose values are offered. */
  readonly table?: Table | undefined
  readonly column: Column
  readonly value: Json | undefined
  /** The value that is meant while the text says none. */
  readonly otherwise?: Json | undefined
  readonly isEdited?: boolean
  readonly placeholder?: string
  readonly onValue: (value: Json | undefined) => void
}

/** A text that is longer gets several lines. */
const LONG = 60

/** A text that is entered, and how. A value that comes from elsewhere decides how, not what is typed: an element that is replaced loses the focus. */
interface Entry {
  /** With `\n` at the end of its lines, as in a textarea. */
  readonly text: string
  readonly hasLines: boolean
  /** Undefined if entering would change the line ends. */
  readonly lineEnd: LineEnd | undefined
}

/** The texts to choose from, instead of an input. */
const choicesOf = ({ kind, members }: Column): readonly string[] | undefined => kind === 'boolean' ? ['true', 'false'] : kind === 'text' ? members : undefined

function beginEntry (column: Column, shown: string): Entry {
  const { kind, isLong = false } = column
  const lineEnd = choicesOf(column) === undefined ? lineEndOf(shown) : '\n'
  // an input removes line ends
  const hasLines = kind === 'json' || isLong || /[\r\n]/.test(shown) || (kind === 'text' && shown.length > LONG)
  return { text: lineEnd === undefined ? shown : shown.replaceAll(lineEnd, '\n'), hasLines, lineEnd }
}

export function ValueInput ({ id, label, table, column, value, otherwise, isEdited = false, placeholder = '', onValue }: ValueInputProps) {
  const shown = isEdited && value === '' ? '' : toText(column, value)
  const [entry, setEntry] = useState(() => beginEntry(column, shown))
  const [isFocused, setFocused] = useState(false)
  const listId = useId()
  const { document } = useStage()
  const target = targetOf(column, document)
  const { text, hasLines, lineEnd } = entry
  const isFreeText = column.kind === 'text' && column.members === undefined
  // what is cleared in a row is an empty text, or NULL
  const read = (entered: string): Json | undefined => entered !== '' || !isEdited ? fromText(column, entered.replaceAll('\n', lineEnd ?? '\n')) : isFreeText ? '' : column.isNullable ? null : undefined
  // what the text says already is left as it is typed, such as `1.` on the way to 1.5, and so is what says nothing, such as `{"a": 1` on the way to `{"a": 12}`
  useLayoutEffect(() => {
    const said = read(text)
    if (!isEqual(said === undefined ? otherwise : said, value)) setEntry(beginEntry(column, shown))
  }, [value === undefined ? undefined : writeLine(value)])
  const enter = (entered: string): void => {
    setEntry({ ...entry, text: entered })
    onValue(read(entered))
  }
  const shared = { id, 'aria-label': label, placeholder }
  if (target !== undefined) return <KeyInput id={id} label={label} column={column} value={value} placeholder={placeholder} target={target} onValue={onValue} />
  const members = choicesOf(column)
  if (column.kind === 'list' && column.members !== undefined) return <MembersInput members={column.members} label={label ?? column.name} value={value} onValue={onValue} />
  if (members !== undefined) {
    return (
      <select id={id} aria-label={label} value={text} onChange={({ currentTarget }) => enter(currentTarget.value)}>
        <option value=''>{value === null ? 'NULL' : placeholder === '' ? '–' : `– (${placeholder})`}</option>
        {[...members, ...text === '' || members.includes(text) ? [] : [text]].map((member) => <option key={member} value={member}>{member === '' ? '""' : member}</option>)}
      </select>
    )
  }
  const isInvalid = (text.trim() !== '' || isEdited) && read(text) === undefined
  if (lineEnd === undefined) return <textarea {...shared} rows={3} readOnly title='An input would change the line ends of this text. Write it in the body of the request.' value={text} />
  if (hasLines) return <textarea {...shared} rows={3} spellcheck={false} aria-invalid={isInvalid} value={text} onInput={({ currentTarget }) => enter(currentTarget.value)} />
  const offers = table !== undefined && isOffered(table, column)
  const isNumber = column.kind === 'integer' || column.kind === 'number' || column.kind === 'decimal'
  return (
    <>
      <input
        {...shared} type='text' autocomplete='off' spellcheck={false} inputMode={isNumber ? 'decimal' : 'text'} aria-invalid={isInvalid} value={text}
        list={offers ? listId : undefined} onInput={({ currentTarget }) => enter(currentTarget.value)} onFocus={() => setFocused(true)}
      />
      {offers && isFocused && <Occurring id={listId} table={table} column={column.name} />}
    </>
  )
}

/** Values of a short text are offered up to this many characters. */
const SHORT = 64
const MAX_OFFERED = 50

/** Whether the values that occur in a column are few enough, by its type, to choose from. */
function isOffered ({ verbs, aggregates }: Table, { kind, members, type, isKey, references }: Column): boolean {
  const [, length] = /^(?:var)?char\((\d+)\)/i.exec(type) ?? []
  return verbs.includes('select') && aggregates.has('$count') && kind === 'text' && members === undefined && !isKey && references === undefined && Number(length ?? Infinity) <= SHORT
}

/** The values that occur most in a column. */
function Occurring ({ id, table, column }: { id: string, table: Table, column: string }) {
  const { service } = useStage()
  const [values, setValues] = useState<readonly string[]>([])
  useEffect(() => {
    const controller = new AbortController()
    const body = { verb: 'select', groupBy: [column], aggregates: { rows_with_it: { $count: '*' } }, orderBy: [{ rows_with_it: 'DESC' }], limit: MAX_OFFERED } as const
    service.look(table.path, writeLine(body), controller.signal).then(({ data }) => {
      const rows = (data?.['rows'] ?? []) as readonly JsonObject[]
      setValues(rows.map((row) => row[column]).filter((value) => typeof value === 'string'))
    }, () => {})
    return () => controller.abort()
  }, [table, column])
  return <datalist id={id}>{values.map((value) => <option key={value} value={value} />)}</datalist>
}

/** The members of a SET to check, or those of an ENUM that a filter names. */
export function MembersInput ({ members, label, value, onValue }: { members: readonly string[], label: string, value: Json | undefined, onValue: (value: Json) => void }) {
  const chosen = new Set<Json>(isList(value) ? value : [])
  return (
    <span class='members' role='group' aria-label={label}>
      {members.map((member) => <label key={member}><input type='checkbox' checked={chosen.has(member)} onChange={() => onValue(members.filter((each) => chosen.has(each) !== (each === member)))} />{member}</label>)}
    </span>
  )
}

interface PickerProps {
  readonly column: Column
  readonly label: string
  readonly value: Json | undefined
  readonly onValue: (value: Json | undefined) => void
}

/** The picker of the browser beside an input, which takes what no picker has, such as microseconds. */
export function Picker ({ column, label, value, onValue }: PickerProps) {
  const input = useRef<HTMLInputElement>(null)
  const pick = (): void => {
    if (input.current === null) return
    input.current.value = typeof value === 'string' ? toPicked(column, value) : ''
    input.current.showPicker()
  }
  return (
    <span class='picker'>
      <button type='button' aria-label={`${label}: pick`} title='Pick a date or a time' onClick={pick}>pick</button>
      <input ref={input} type={pickerOf(column) ?? 'date'} step={1} tabIndex={-1} aria-hidden='true' onChange={({ currentTarget }) => { if (currentTarget.value !== '') onValue(fromPicked(column, currentTarget.value)) }} />
    </span>
  )
}

/** Bytes of a file at most: longer ones are written by other programs. */
const MAX_FILE = 16 * 1024 * 1024

function Upload ({ column, onValue }: Pick<PickerProps, 'column' | 'onValue'>) {
  const { say } = useStage()
  const input = useRef<HTMLInputElement>(null)
  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return
    if (file.size > MAX_FILE) return say('The file has more than 16 MiB')
    onValue(await readBase64(file))
  }
  return (
    <>
      <button type='button' aria-label={`${column.name}: upload`} title='The bytes of a file' onClick={() => input.current?.click()}>upload</button>
      <input ref={input} type='file' hidden onChange={({ currentTarget }) => { take(currentTarget.files?.[0]) }} />
    </>
  )
}
