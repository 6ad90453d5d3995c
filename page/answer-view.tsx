/** The answer to a request: rows as a grid or as JSON, counts of a write, or what was wrong. */
import type { ComponentChildren } from 'preact'
import { isList, isObject, memberOf, parseJson, withMembers, writeLines, type Json, type JsonObject } from './json.ts'
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks'
import { firstBody, referringFilters } from './bodies.ts'
import { copy } from './cell.tsx'
import { arrange, type ColumnLayout } from './column-layout.ts'
import { ColumnMenu } from './column-menu.tsx'
import { Grid } from './grid.tsx'
import { Icon } from './icons.tsx'
import { Menu, useNarrow } from './menu.tsx'
import { readOrder } from './order.ts'
import { columnsOf, isGrouped } from './rows.ts'
import { Empty } from './placeholder.tsx'
import { canSearch, describeCase, readSearch, withFilters, withSearch } from './search.ts'
import type { Answer } from './service.ts'
import { Summary } from './summary-view.tsx'
import { useStage, type Stage } from './stage.tsx'
import type { Column, Relation, Table } from './table.ts'

/** An answer, and the request that it is for. */
export interface Result { readonly answer: Answer, readonly body: JsonObject | undefined }

interface AnswerViewProps {
  /** The answer that there was none; the rows are those of the request before. */
  readonly unanswered: { readonly answer: Answer, readonly again: () => void } | undefined
  readonly table: Table
  readonly result: Result
  readonly isOld: boolean
  readonly shown: Shown
  readonly setShown: (shown: Shown) => void
  readonly paging: Paging
  readonly onOrder: (name: string, isAdded: boolean) => void
  readonly onExport: () => void
  readonly onImport: (() => void) | undefined
  readonly onInsert: (() => void) | undefined
  /** What can be done with rows that are selected. */
  readonly onSelected: (rows: readonly JsonObject[], action: 'delete' | 'export') => void
  /** Runs another request. */
  readonly onBody: (body: JsonObject) => void
  readonly onPaste: ((cells: ReadonlyArray<readonly string[]>, columns: readonly string[]) => void) | undefined
  readonly layout: ColumnLayout
  readonly setLayout: (layout: ColumnLayout) => void
  readonly onEdit: ((row: JsonObject, column: Column, value: Json) => Promise<boolean>) | undefined
  /** The key of the row that is open at first. */
  readonly opened: string | undefined
  readonly onOpen: (row: JsonObject | undefined) => void
  readonly panel: (row: JsonObject, tab: string | undefined, close: () => void) => ComponentChildren
  readonly children?: ComponentChildren
}

export type Shown = 'grid' | 'json'

/** Switches between what `first` names and the JSON of an answer. */
export function ShownAs ({ first = 'Rows', shown, onShown }: { first?: string, shown: Shown, onShown: (shown: Shown) => void }) {
  return (
    <span class='segments' role='group' aria-label='Show the answer as'>
      <button type='button' aria-pressed={shown === 'grid'} onClick={() => onShown('grid')}>{first}</button>
      <button type='button' aria-pressed={shown === 'json'} onClick={() => onShown('json')}>JSON</button>
    </span>
  )
}

interface AnswerSectionProps {
  /** The last one; undefined before anything was sent. */
  readonly result: Result | undefined
  readonly isRunning: boolean
  /** What will be shown, while nothing is. */
  readonly hint: string
  /** Draws an answer that is no failure. */
  readonly children: (result: Result) => ComponentChildren
}

/** The answer to what a form has sent. */
export function AnswerSection ({ result, isRunning, hint, children }: AnswerSectionProps) {
  return (
    <section class='answer' aria-label='Answer' aria-busy={isRunning}>
      {result === undefined
        ? <Empty icon='bolt' title='Nothing has run yet.'><p>{hint}</p></Empty>
        : result.answer.failure !== undefined
          ? <FailureView answer={result.answer} body={result.body} />
          : children(result)}
    </section>
  )
}

export interface Paging {
  readonly onFirst: (() => void) | undefined
  readonly onPrevious: (() => void) | undefined
  readonly onNext: (() => void) | undefined
  readonly onLast: (() => void) | undefined
  /** The number of the first row, if it is known. */
  readonly first: number | undefined
}

const number = (value: number): string => value.toLocaleString('en')

export function AnswerView ({ unanswered, table, result: { answer, body }, isOld, shown, setShown, paging, onOrder, onExport, onImport, onInsert, onSelected, onEdit, onBody, onPaste, layout, setLayout, opened, onOpen, panel, children }: AnswerViewProps) {
  const { data, failure } = answer
  const [selected, setSelected] = useState<ReadonlyMap<string, JsonObject>>(new Map())
  // before the next frame: what acts on them takes the focus with it
  useLayoutEffect(() => setSelected(new Map()), [answer])
  const rows = isList(memberOf(data, 'rows')) ? data?.['rows'] as readonly JsonObject[] : undefined
  const isSelect = memberOf(body, 'verb') === 'select'
  const all = useMemo(() => columnsOf(table, body, rows ?? []), [answer])
  const columns = useMemo(() => arrange(all, layout), [all, layout.order, layout.hidden])
  const order = readOrder(body)
  const hidden = all.length - columns.length
  const act = (action: 'delete' | 'export'): void => onSelected([...selected.values()], action)
  const isNarrow = useNarrow()
  if (failure !== undefined) return <FailureView answer={answer} body={body} table={table} />
  const more = (
    <>
      {hidden > 0 && !isGrouped(body) && <button type='button' class='quiet' onClick={() => setLayout({ ...layout, hidden: [] })}>Show {hidden === 1 ? '1 hidden column' : `${hidden} hidden columns`}</button>}
      {rows !== undefined && isSelect && <button type='button' title='All rows that the filters select, as a CSV file' onClick={onExport}>Export CSV</button>}
      {onImport !== undefined && isSelect && <button type='button' title='Rows from a CSV file' onClick={onImport}>Import CSV …</button>}
      <ShownAs first='Grid' shown={shown} onShown={setShown} />
    </>
  )
  return (
    <>
      {children}
      {unanswered !== undefined && <div class='unanswered'><FailureView answer={unanswered.answer} body={undefined} /><p class='buttons'><button type='button' class='main' onClick={() => unanswered.again()}>Try again</button> <span class='muted'>The rows below are those of the last answer.</span></p></div>}
      {shown === 'json'
        ? <JsonText text={answer.text} />
        : rows !== undefined && (rows.length === 0
          ? <NoRows table={table} body={body} onBody={onBody} onImport={onImport} onInsert={onInsert} />
          : isGrouped(body)
            ? <Summary table={table} body={body as JsonObject} rows={rows} isPart={isPartOf(body, data, rows.length)} onOrder={onOrder} />
            : <Grid
                label={`Rows of ${table.name}`} rows={rows} columns={columns} table={table} order={order} onOrder={isSelect ? onOrder : undefined} panel={panel}
                selected={selected} onSelected={isSelect ? setSelected : undefined} onEdit={isSelect ? onEdit : undefined} onPaste={isSelect && onPaste !== undefined ? (cells, from) => onPaste(cells, columns.slice(from)) : undefined} opened={opened} onOpen={onOpen}
                images={layout.images} widths={layout.widths} onWidth={isSelect ? (name, width) => setLayout({ ...layout, widths: { ...layout.widths, [name]: width } }) : undefined}
                menuOf={isSelect && body !== undefined ? (_name, column) => <ColumnMenu table={table} column={column} body={body} columns={all} layout={layout} setLayout={setLayout} onBody={onBody} /> : undefined}
              />)}
      <div class='bar'>
        {rows !== undefined && memberOf(body, 'verb') === 'select' && <Pages paging={paging} />}
        <span class='count' role='status'>{data === undefined ? '' : rows === undefined || memberOf(data, 'count') === undefined ? describeWrite(data) : describeRows(rows.length, { total: memberOf(data, 'total'), bound: memberOf(body, 'total'), first: paging.first })}<span class='muted took'> {Math.round(answer.took)} ms</span>{isOld && unanswered === undefined && <span class='muted'> · the request has changed: press Run</span>}</span>
        {selected.size > 0 && (
          <span class='buttons' role='group' aria-label='Selected rows'>
            <b>{selected.size} selected</b>
            {table.verbs.includes('delete') && <button type='button' class='danger-text' onClick={() => act('delete')}>Delete …</button>}
            <button type='button' aria-label='Export selected' onClick={() => act('export')}>Export</button>
            <button type='button' class='quiet' onClick={() => setSelected(new Map())}>Clear</button>
          </span>
        )}
        <span class='spacer' />
        {isNarrow ? <Menu label='More' icon='more'>{() => <div class='options'>{more}</div>}</Menu> : more}
      </div>
    </>
  )
}

/** Whether a select may have found more rows than those of its answer. */
function isPartOf (body: JsonObject | undefined, data: JsonObject | undefined, count: number): boolean {
  const [offset, limit] = [memberOf(body, 'offset'), memberOf(body, 'limit')]
  return offset === undefined ? count >= (typeof limit === 'number' ? limit : 100) : offset !== 0 || (memberOf(data, 'next') ?? null) !== null
}

/** The buttons are always all there, in the same place, and keep the focus where they do nothing. */
function Pages ({ paging: { onFirst, onPrevious, onNext, onLast } }: { paging: Paging }) {
  return (
    <span class='pages'>
      <button type='button' aria-disabled={onFirst === undefined} onClick={onFirst}><Icon name='first' /><span class='word'>First</span></button>
      <button type='button' aria-disabled={onPrevious === undefined} onClick={onPrevious}><Icon name='left' /><span class='word'>Previous</span></button>
      <button type='button' aria-disabled={onNext === undefined} onClick={onNext}><span class='word'>Next</span><Icon name='right' /></button>
      <button type='button' aria-disabled={onLast === undefined} onClick={onLast}><span class='word'>Last</span><Icon name='last' /></button>
    </span>
  )
}

/** Why there are no rows and, for a search, where else the text is. */
interface NoRowsProps extends Pick<AnswerViewProps, 'table' | 'onBody' | 'onImport' | 'onInsert'> { readonly body: JsonObject | undefined }

function NoRows ({ table, body, onBody, onImport, onInsert }: NoRowsProps) {
  const filters = memberOf(body, 'filters')
  if (memberOf(body, 'verb') !== 'select') return <Empty title='No rows.' />
  if (filters === undefined) return <Empty title={isGrouped(body) ? 'There is nothing to summarize.' : 'The table is empty.'}>{onInsert !== undefined && <p class='buttons'><button type='button' class='main' onClick={onInsert}>Insert a row …</button>{onImport !== undefined && <button type='button' onClick={onImport}>Import CSV …</button>}</p>}</Empty>
  const search = readSearch(table, filters)
  const without = (text: string, changed: JsonObject | undefined) => <p class='buttons'><button type='button' onClick={() => onBody(withFilters(table, body as JsonObject, changed))}>{text}</button></p>
  if (search === undefined) return <Empty icon='filter' title='No row matches the filters.'>{without('Remove the filters', undefined)}</Empty>
  return (
    <Empty icon='search' title={<>No row matches “{search.text}”.</>}>
      <p>{search.columns === undefined ? describeCase(search.text) : 'A full-text index leaves out short words and stop words.'}</p>
      <Elsewhere table={table} text={search.text} />
      {without('Remove the search', withSearch(table, filters, { text: '' }))}
    </Empty>
  )
}

/** Other tables that are searched at most, and rows that are counted in each. */
const MAX_TABLES = 12
const MAX_FOUND = 100

/** The other tables that have a text, each with a link to its rows. */
function Elsewhere ({ table, text }: { table: Table, text: string }) {
  const { document, service, go } = useStage()
  const [found, setFound] = useState<ReadonlyArray<{ readonly name: string, readonly total: number, readonly body: string }>>()
  useEffect(() => {
    const controller = new AbortController()
    const look = async (name: string): Promise<void> => {
      const other = document.table(name)
      if (other === undefined || !other.verbs.includes('select') || !canSearch(other)) return
      const filters = withSearch(other, undefined, { text })
      if (filters === undefined) return
      const { data } = await service.look(other.path, writeLines({ verb: 'select', filters, limit: 1, total: MAX_FOUND }), controller.signal)
      const total = memberOf(data, 'total')
      if (typeof total === 'number' && total > 0) setFound((before = []) => [...before, { name, total, body: writeLines(withMembers(firstBody(other, 'select'), { filters })) }])
    }
    setFound(undefined)
    const others = document.tables.filter(({ name }) => name !== table.name).slice(0, MAX_TABLES)
    Promise.all(others.map(({ name }) => look(name).catch(() => {}))).then(() => setFound((before = []) => before))
    return () => controller.abort()
  }, [table, text])
  if (found === undefined) return <p class='muted'>Looking in the other tables …</p>
  if (found.length === 0) return <p class='muted'>No other table has it either.</p>
  return <ul class='elsewhere'>{found.map(({ name, total, body }) => <li key={name}><button type='button' class='link' onClick={() => go({ database: document.name, table: name, body })}>{total === 1 ? '1 row' : `${total}${total === MAX_FOUND ? ' or more' : ''} rows`} of {name}</button></li>)}</ul>
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

interface FailureProps {
  readonly answer: Answer
  readonly body: JsonObject | undefined
  /** The table of a request that changes or deletes rows. */
  readonly table?: Table | undefined
}

export function FailureView ({ answer: { status, failure, requestId }, body, table }: FailureProps) {
  if (failure === undefined) return null
  // a detail that says what the headline says has only its place left
  const details = failure.details.map(({ path, message, line }) => ({ path, line, message: message === failure.message ? '' : message })).filter(({ path, message, line }) => path !== '' || message !== '' || line !== undefined)
  const { committed } = failure
  return (
    <div class='failure' role='alert'>
      <p><b>{failure.message}</b></p>
      {details.length > 0 && <ul>{details.map(({ path, message, line }) => <li key={path + message}>{line !== undefined ? <b>{placeOf(line, path)}</b> : path !== '' && <code>{path}</code>} {message}{path !== '' && at(body, path)}</li>)}</ul>}
      {committed !== undefined && <p>{committed.rows === 0 ? 'No row is in the table.' : `The rows up to line ${committed.line} are in the table (${number(committed.rows)}), and none after it.`}</p>}
      {failure.code === 'FOREIGN_KEY_VIOLATION' && table !== undefined && ['update', 'delete'].includes(String(memberOf(body, 'verb'))) && <Referrers table={table} filters={memberOf(body, 'filters')} />}
      <p class='muted'>{status > 0 ? `Status ${status} · ` : ''}<code>{failure.code}</code>{requestId === null ? '' : <> · request <code>{requestId}</code></>}</p>
    </div>
  )
}

/** Shows why nothing was written, before everything else. */
export function showRefusal ({ show }: Stage, props: FailureProps): void {
  show({
    title: 'Nothing was written',
    content: <><FailureView {...props} /><p class='buttons'><button type='button' class='main' onClick={() => show(undefined)}>Close</button></p></>
  })
}

/** The place in a file of what `/data/7/price` names. */
function placeOf (line: number, path: string): string {
  const column = path.split('/')[3]
  return `Line ${number(line)}${column === undefined ? '' : `, column ${column.replaceAll('~1', '/').replaceAll('~0', '~')}`}`
}

/** Rows of other tables are counted as far as this. */
const MAX_REFERRERS = 1000

/** The tables whose rows refer to those that the filters select, each with a link to its rows. */
function Referrers ({ table, filters }: { table: Table, filters: Json | undefined }) {
  const { document, service, go } = useStage()
  const [found, setFound] = useState<ReadonlyArray<{ readonly name: string, readonly total: Json, readonly body: string }>>([])
  useEffect(() => {
    const controller = new AbortController()
    const look = async (relation: Relation): Promise<void> => {
      const other = document.table(relation.table)
      if (other?.verbs.includes('select') !== true) return
      const select = { ...firstBody(other, 'select'), filters: referringFilters(table, relation, other, filters) }
      const { data } = await service.look(other.path, writeLines({ ...select, limit: 1, total: MAX_REFERRERS }), controller.signal)
      const total = memberOf(data, 'total')
      if (total !== undefined && total !== 0) setFound((before) => [...before, { name: other.name, total, body: writeLines(select) }])
    }
    // a foreign key of this table that points to others is another matter
    table.relations.filter(({ isReferring }) => isReferring).forEach((relation) => look(relation).catch(() => {}))
    return () => controller.abort()
  }, [table, filters])
  if (found.length === 0) return null
  return <ul>{found.map(({ name, total, body }) => <li key={body}><button type='button' class='link' onClick={() => go({ database: document.name, table: name, body })}>{total === 1 ? '1 row' : `${writeLines(total)}${total === MAX_REFERRERS ? ' or more' : ''} rows`} of {name}</button> {total === 1 ? 'refers' : 'refer'} to {isOneRow(table, filters) ? 'it' : 'these rows'}.</li>)}</ul>
}

const isOneRow = ({ primaryKey }: Table, filters: Json | undefined): boolean => primaryKey.length > 0 && primaryKey.every((name) => {
  const value = memberOf(filters, name)
  return value !== undefined && !isObject(value) && !isList(value)
})

/** The value at a JSON Pointer of the body. */
function at (body: JsonObject | undefined, path: string): string {
  const found = path.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')).reduce<Json | undefined>((value, key) => isList(value) ? value[Number(key)] : memberOf(value, key), body)
  return found === undefined || typeof found === 'object' ? '' : ` (${writeLines(found)})`
}
