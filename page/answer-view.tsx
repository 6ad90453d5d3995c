/** The answer to a request: rows as a grid or as JSON, counts of a write, or what was wrong. */
import type { ComponentChildren } from 'preact'
import { isList, memberOf, parseJson, writeLines, type Json, type JsonObject } from './json.ts'
import { useEffect, useState } from 'preact/hooks'
import { copy } from './cell.tsx'
import { Grid } from './grid.tsx'
import { readOrder } from './order.ts'
import { columnsOf, isGrouped } from './rows.ts'
import type { Answer } from './service.ts'
import { useStage } from './stage.tsx'
import type { Column, Table } from './table.ts'

/** An answer, and the request that it is for. */
export interface Result { readonly answer: Answer, readonly body: JsonObject | undefined }

interface AnswerViewProps {
  readonly table: Table
  readonly result: Result
  readonly isOld: boolean
  readonly shown: Shown
  readonly setShown: (shown: Shown) => void
  readonly paging: Paging
  readonly onOrder: (name: string, isAdded: boolean) => void
  readonly onExport: () => void
  /** What can be done with rows that are selected. */
  readonly onSelected: (rows: readonly JsonObject[], action: 'delete' | 'export') => void
  readonly onEdit: ((row: JsonObject, column: Column, value: Json) => void) | undefined
  /** The key of the row that is open at first. */
  readonly opened: string | undefined
  readonly onOpen: (row: JsonObject | undefined) => void
  readonly panel: (row: JsonObject, tab: string | undefined, close: () => void) => ComponentChildren
  readonly children?: ComponentChildren
}

export type Shown = 'grid' | 'json'

export interface Paging {
  readonly onFirst: (() => void) | undefined
  readonly onPrevious: (() => void) | undefined
  readonly onNext: (() => void) | undefined
  readonly onLast: (() => void) | undefined
  /** The number of the first row, if it is known. */
  readonly first: number | undefined
}

const number = (value: number): string => value.toLocaleString('en')

export function AnswerView ({ table, result: { answer, body }, isOld, shown, setShown, paging, onOrder, onExport, onSelected, onEdit, opened, onOpen, panel, children }: AnswerViewProps) {
  const { data, failure } = answer
  const [selected, setSelected] = useState<ReadonlyMap<string, JsonObject>>(new Map())
  useEffect(() => setSelected(new Map()), [answer])
  if (failure !== undefined) return <FailureView answer={answer} body={body} />
  const rows = isList(memberOf(data, 'rows')) ? data?.['rows'] as readonly JsonObject[] : undefined
  const isSelect = memberOf(body, 'verb') === 'select'
  const act = (action: 'delete' | 'export'): void => onSelected([...selected.values()], action)
  return (
    <>
      {children}
      {shown === 'json'
        ? <JsonText text={answer.text} />
        : rows !== undefined && (rows.length === 0
          ? <p class='empty'>{memberOf(body, 'verb') === 'select' ? memberOf(body, 'filters') === undefined ? 'The table is empty.' : 'No row passes the filters.' : 'No rows.'}</p>
          : <Grid label={`Rows of ${table.name}`} rows={rows} columns={columnsOf(table, body, rows)} table={isGrouped(body) ? undefined : table} order={readOrder(body)} onOrder={memberOf(body, 'verb') === 'select' ? onOrder : undefined} panel={isGrouped(body) ? undefined : panel} selected={selected} onSelected={isSelect && !isGrouped(body) ? setSelected : undefined} onEdit={isSelect ? onEdit : undefined} opened={opened} onOpen={onOpen} />)}
      <div class='bar'>
        {rows !== undefined && memberOf(body, 'verb') === 'select' && <Pages paging={paging} />}
        <span class='count' role='status'>{data === undefined ? '' : rows === undefined || memberOf(data, 'count') === undefined ? describeWrite(data) : describeRows(rows.length, { total: memberOf(data, 'total'), bound: memberOf(body, 'total'), first: paging.first })}<span class='muted took'> {Math.round(answer.took)} ms</span>{isOld && <span class='muted'> · the request has changed: press Run</span>}</span>
        {selected.size > 0 && (
          <span class='buttons' role='group' aria-label='Selected rows'>
            <b>{selected.size} selected</b>
            {table.verbs.includes('delete') && <button type='button' class='danger-text' onClick={() => act('delete')}>Delete …</button>}
            <button type='button' onClick={() => act('export')}>Export selected</button>
            <button type='button' class='quiet' onClick={() => setSelected(new Map())}>Clear</button>
          </span>
        )}
        <span class='spacer' />
        {rows !== undefined && memberOf(body, 'verb') === 'select' && <button type='button' title='All rows that the filters select, as a CSV file' onClick={onExport}>Export CSV</button>}
        <span class='segments' role='group' aria-label='Show the answer as'>
          <button type='button' aria-pressed={shown === 'grid'} onClick={() => setShown('grid')}>Grid</button>
          <button type='button' aria-pressed={shown === 'json'} onClick={() => setShown('json')}>JSON</button>
        </span>
      </div>
    </>
  )
}

/** The buttons are always all there, in the same place. */
function Pages ({ paging: { onFirst, onPrevious, onNext, onLast } }: { paging: Paging }) {
  return (
    <span class='pages'>
      <button type='button' disabled={onFirst === undefined} onClick={onFirst}>« <span class='word'>First</span></button>
      <button type='button' disabled={onPrevious === undefined} onClick={onPrevious}>‹ <span class='word'>Previous</span></button>
      <button type='button' disabled={onNext === undefined} onClick={onNext}><span class='word'>Next</span> ›</button>
      <button type='button' disabled={onLast === undefined} onClick={onLast}><span class='word'>Last</span> »</button>
    </span>
  )
}

function describeRows (count: number, { total, bound, first }: { total: Json | undefined, bound: Json | undefined, first: number | undefined }): string {
  const all = typeof total === 'number' ? number(total) : undefined
  const rows = count === 1 ? '1 row' : `${number(count)} rows`
  if (all === undefined) return rows
  // total: n means "n or more"
  const isBound = total === bound
  return first === undefined || count === 0 ? `${rows} of ${all}${isBound ? ' or more' : ''}` : `Rows ${number(first)}–${number(first + count - 1)} of ${all}${isBound ? ' or more' : ''}`
}

/** `{"inserted": 1, "id": 7}` as a sentence. */
export function describeWrite (data: JsonObject): string {
  const counted = ['inserted', 'updated', 'unchanged', 'deleted'].filter((key) => typeof memberOf(data, key) === 'number')
  const id = memberOf(data, 'id')
  const text = counted.map((key) => `${number(data[key] as number)} ${data[key] === 1 ? 'row' : 'rows'} ${key}`).join(', ')
  return `${memberOf(data, 'dryRun') === true ? 'Dry run: ' : ''}${text}${id === undefined || id === null ? '' : `, id ${writeLines(id)}`}`
}

export function JsonText ({ text }: { text: string }) {
  const { say } = useStage()
  const shown = format(text)
  return (
    <div class='json'>
      <button type='button' class='copy' onClick={() => { copy(shown).then(say) }}>Copy</button>
      <pre tabIndex={0} aria-label='The answer as JSON'>{shown}</pre>
    </div>
  )
}

function format (text: string): string {
  try {
    return writeLines(parseJson(text))
  } catch {
    return text
  }
}

export function FailureView ({ answer: { status, failure, requestId }, body }: { answer: Answer, body: JsonObject | undefined }) {
  if (failure === undefined) return null
  return (
    <div class='failure' role='alert'>
      <p><b>{failure.message}</b></p>
      {failure.details.length > 0 && <ul>{failure.details.map(({ path, message }) => <li key={path + message}>{path !== '' && <code>{path}</code>} {message}{path !== '' && at(body, path)}</li>)}</ul>}
      <p class='muted'>{status > 0 ? `Status ${status} · ` : ''}<code>{failure.code}</code>{requestId === null ? '' : <> · request <code>{requestId}</code></>}</p>
    </div>
  )
}

/** The value at a JSON Pointer of the body. */
function at (body: JsonObject | undefined, path: string): string {
  const found = path.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')).reduce<Json | undefined>((value, key) => isList(value) ? value[Number(key)] : memberOf(value, key), body)
  return found === undefined || typeof found === 'object' ? '' : ` (${writeLines(found)})`
}
