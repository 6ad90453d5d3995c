/** One table: a request as a form and as text, and its answer. The text of the body is what is sent; the form reads it and writes it. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { isList, isObject, memberOf, parseJson, withMembers, writeLine, writeLines, type Json, type JsonObject } from './json.ts'
import { AnswerView, describeWrite, FailureView, showRefusal, type Paging, type Result, type Shown } from './answer-view.tsx'
import { changeVerb, firstBody, keyFilters, keysFilters, readBody, verbOf } from './bodies.ts'
import { confirmWrite } from './confirm-write.tsx'
import { asOptions, Choice } from './choice.tsx'
import { downloadCsv } from './download.ts'
import { FilterForm } from './filter-form.tsx'
import { rowKey } from './grid.tsx'
import { Icon } from './icons.tsx'
import { ImportForm } from './import-form.tsx'
import { firstPage, readOrder, reverseOrder, toggleOrder, withOrder } from './order.ts'
import { Skeleton } from './placeholder.tsx'
import { RecordForm } from './record-form.tsx'
import { RowPanel } from './row-panel.tsx'
import { columnsOf, isGrouped } from './rows.ts'
import { byRelevance, canSearch, describeSearch, isByRelevance, readSearch, withFilters, withSearch } from './search.ts'
import { isOf, writeRoute, type Route } from './route.ts'
import { useLayout } from './column-layout.ts'
import { mayRestore, offerRemoval, offerRestore, offerUndo } from './undo.ts'
import { fromText, toGiven } from './values.ts'
import { ColumnsMenu, GroupsMenu, LimitInput, RelatedMenu } from './shape-menus.tsx'
import { mayLeave, useHold, useStage, type Stage } from './stage.tsx'
import type { Table, Verb } from './table.ts'
import type { Answer } from './service.ts'
import { summarize } from './summary.ts'
import { ViewsMenu } from './views-menu.tsx'
import { isNarrow, TextPanel } from './text-panel.tsx'

/** Rows of one insert. */
const MAX_PASTED = 1000

const NAMES: Readonly<Record<Verb, string>> = { select: 'Select', insert: 'Insert', update: 'Update', delete: 'Delete' }

export function Workbench ({ table, route }: { table: Table, route: Route }) {
  const stage = useStage()
  const { service, storage, document: { name: database } } = stage
  const [text, setText] = useState(() => firstText(table, route))
  const [result, setResult] = useState<Result & { readonly text: string }>()
  const [shown, setShown] = useState<Shown>('grid')
  const [isRunning, setRunning] = useState(false)
  const scope = `${service.base}/${database}.${table.name}`
  const [layout, setLayout] = useLayout(scope)
  /** A select that was not answered, while rows of another one are there. */
  const [unanswered, setUnanswered] = useState<{ readonly answer: Answer, readonly again: () => void }>()
  const [isQueryOpen, setQueryOpen] = useState(storage.isQueryOpen && !isNarrow())
  /** The positions of the pages before this one. */
  const [trail, setTrail] = useState<readonly Json[]>([])
  const resultRef = useRef(result)
  resultRef.current = result
  const running = useRef<AbortController>(undefined)
  const section = useRef<HTMLElement>(null)
  const form = useRef<HTMLFormElement>(null)
  /** Whether a button has opened the form of a write. */
  const isOpened = useRef(false)
  /** The address of the rows, and which of them is open. */
  const address = useRef<Route>(route)

  const body = readBody(text)
  const verb = verbOf(body)
  /** The rows come first: a select is one line until it is opened. */
  const isOpen = verb !== 'select' || isQueryOpen
  const setOpen = (isOpened: boolean): void => {
    setQueryOpen(isOpened)
    storage.keepQueryOpen(isOpened)
  }

  /** What a person opens is a step of the history, with the pages before it: the browser's back button returns from it. */
  const writeAddress = (next: Route, before: readonly Json[], isStep: boolean): void => {
    // another address is being opened: its event comes later
    if (!isOf(location.hash, address.current)) return
    address.current = next
    const hash = writeRoute(next)
    history[isStep && hash !== location.hash ? 'pushState' : 'replaceState']({ trail: before }, '', hash)
  }

  const run = async (given = text, before: readonly Json[] = [], isStep = true): Promise<void> => {
    running.current?.abort()
    const { signal } = running.current = new AbortController()
    setText(given)
    setRunning(true)
    const sent = readBody(given)
    const isSelect = verbOf(sent) === 'select'
    try {
      const answer = isSelect || sent === undefined ? await service.send(table.path, given, signal) : await confirmWrite(stage, { table, path: table.path, body: given })
      if (answer === undefined || signal.aborted) return
      const isLost = isSelect && (answer.status === 0 || answer.status >= 500) && resultRef.current?.answer.data !== undefined
      setUnanswered(isLost ? { answer, again: () => { run(given, before, isStep) } } : undefined)
      if (isLost) return
      setResult({ answer, body: sent, text: given })
      setTrail(before)
      const isFirst = given === writeLines(firstBody(table))
      if (isSelect) writeAddress({ database, table: table.name, body: isFirst ? undefined : given, row: address.current.row }, before, isStep)
      if (answer.data !== undefined && !isSelect) stage.say(describeWrite(answer.data))
      // of a row that is gone, or a selection
      if (isStep) requestAnimationFrame(() => { if (document.activeElement === document.body) section.current?.querySelector<HTMLElement>('.grid')?.focus({ preventScroll: true }) })
      // below a long form
      if (!isSelect) requestAnimationFrame(() => section.current?.scrollIntoView({ block: 'nearest' }))
    } catch { // a later request has taken its place
    } finally {
      if (!signal.aborted) setRunning(false)
    }
  }

  useEffect(() => {
    const given = firstText(table, route)
    const isOtherRow = route.row !== address.current.row
    address.current = route
    setText(given)
    // the same rows stay where they are
    if (isOtherRow && !isRunning && given === result?.text) return undefined
    setResult(undefined)
    setUnanswered(undefined)
    // a link to a write waits for Run
    if (verbOf(readBody(given)) === 'select') run(given, (history.state as { readonly trail?: readonly Json[] } | null)?.trail, false)
    return () => running.current?.abort()
  }, [route])

  const change = (changed: JsonObject): void => setText(writeLines(changed))
  const runBody = (changed: JsonObject, before: readonly Json[] = []): void => { if (mayLeave()) run(writeLines(changed), before) }
  const data = memberOf(body, 'data')
  useHold((verb === 'insert' || verb === 'update') && isObject(data) && Object.keys(data).length > 0 && text !== route.body && text !== result?.text)
  /** Writes what was chosen among the rows, and shows them again. @returns whether it was written */
  const write = async (given: JsonObject, undo: { readonly before: JsonObject, readonly names: readonly string[] } | { readonly deleted: readonly JsonObject[] } | 'inserted'): Promise<boolean> => {
    const keepsRows = undo === 'inserted' || ('deleted' in undo && await mayRestore(stage, table, undo.deleted))
    const answered = await confirmWrite(stage, { table, path: table.path, body: writeLines(given), keepsRows })
    if (answered?.failure !== undefined) showRefusal(stage, { answer: answered, body: given, table })
    if (answered?.data === undefined || result === undefined) return false
    const refresh = (): void => { run(result.text, trail) }
    const shared = { table, said: describeWrite(answered.data), onUndone: refresh }
    const rows = (memberOf(answered.data, 'rows') ?? []) as readonly JsonObject[]
    if (undo === 'inserted') offerRemoval(stage, shared, rows)
    else if ('deleted' in undo) offerRestore(stage, shared, rows)
    else offerUndo(stage, { ...shared, ...undo })
    refresh()
    return true
  }
  /** The rows of a sheet, from a column on; a first line of names says which columns they are. What the database numbers is left to it. */
  const pasteRows = (cells: ReadonlyArray<readonly string[]>, from: readonly string[]): void => {
    const [head = []] = cells
    const isHead = cells.length > 1 && head.every((name) => table.columns.some((column) => column.name === name))
    const names = isHead ? head : from
    const rows = (isHead ? cells.slice(1) : cells).map((values) => Object.fromEntries(values.flatMap((text, index) => {
      const column = table.columns.find(({ name }) => name === names[index])
      const value = column === undefined || !column.isInsertable || column.isAutoIncrement ? undefined : fromText(column, text)
      return column === undefined || value === undefined ? [] : [[column.name, toGiven(column, value)]]
    })) as JsonObject)
    if (rows.length > MAX_PASTED) return stage.say(`A paste has at most ${MAX_PASTED} rows: import the file as CSV`)
    write({ verb: 'insert', data: rows }, 'inserted')
  }
  const download = (given: JsonObject): void => {
    downloadCsv(service, { path: table.path, name: table.name, body: given, columns: columnsOf(table, given, (result?.answer.data?.['rows'] ?? []) as readonly JsonObject[]) }).then(stage.say, (error: Error) => stage.say(error.message))
  }
  const onSelected = (rows: readonly JsonObject[], action: 'delete' | 'export'): void => {
    const filters = keysFilters(table, rows)
    if (action === 'delete') write({ verb: 'delete', filters, expect: rows.length }, { deleted: rows })
    else download({ ...sent, filters })
  }
  const importRows = (): void => {
    const isShown = verbOf(sent) === 'select'
    stage.show({ title: `Import rows into ${table.name}`, content: <ImportForm table={table} onImported={() => { if (isShown && result !== undefined) run(result.text, trail) }} /> })
  }
  /** A write asks by itself; rows that are read anew close what is open. */
  const submit = (): void => { if (verb !== 'select' || mayLeave()) run() }
  /** The request that the answer is for: pages and order go on from it. */
  const sent = result?.body
  const setVerb = (chosen: Verb): void => {
    if (!mayLeave()) return
    const changed = writeLines(changeVerb(table, body ?? {}, chosen))
    if (chosen === 'select') run(changed)
    else {
      setText(changed)
      isOpened.current = true
    }
  }
  useLayoutEffect(() => {
    if (isOpened.current) form.current?.querySelector<HTMLElement>('.record')?.focus({ preventScroll: true })
    isOpened.current = false
  }, [verb])

  return (
    <>
      <section class='request' aria-label='Request' onKeyDown={(event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); submit() } }}>
        <form ref={form} onSubmit={(event) => { event.preventDefault(); submit() }}>
          <div class='line'>
            <div class='segments' role='group' aria-label='Verb'>
              {table.verbs.map((each) => <button key={each} type='button' aria-pressed={verb === each} onClick={() => setVerb(each)}>{NAMES[each]}</button>)}
            </div>
            {verb === 'select' && body !== undefined && canSearch(table) && !isGrouped(body) && <SearchBox table={table} body={body} onBody={runBody} />}
            {verb === 'select' && body !== undefined
              ? <button type='button' class='menu summary' aria-expanded={isOpen} title='Filters, columns, related rows, groups, and the request as text' onClick={() => setOpen(!isOpen)}><Icon name='filter' /><span>Query</span><b>{summarize(table, body)}</b><Icon name='down' /></button>
              : <span class='spacer muted'>{verb === 'select' ? '' : 'You see what happens before anything is written.'}</span>}
            {verb === 'select' && body !== undefined && <ViewsMenu table={table} scope={scope} body={sent ?? body} layout={layout} onView={(view) => { if (mayLeave()) run(writeLines(readBody(view) ?? {})) }} />}
            {verb === 'insert' && <button type='button' title='Rows from a CSV file' onClick={importRows}>Import CSV …</button>}
            <button class='main' title='Ctrl+Enter' aria-busy={isRunning}>{verb === 'select' || verb === 'undefined' ? 'Run' : `${NAMES[verb as Verb] ?? 'Run'} …`}</button>
            {verb === 'select' && table.verbs.includes('insert') && <button type='button' class='again' onClick={() => setVerb('insert')}>Insert a row …</button>}
          </div>
          {isOpen && (
            <div class='query'>
              <div class='form'>
                {body === undefined
                  ? <p class='mistake'>The body is not a JSON object. The form is back when it is one.</p>
                  : <RequestForm table={table} body={body} verb={verb} onBody={change} />}
              </div>
              <TextPanel path={table.path} table={table.name} text={text} onText={setText} mistake={mistakeOf(text)} />
            </div>
          )}
        </form>
      </section>
      <section ref={section} class={unanswered === undefined ? 'answer' : 'answer stale'} aria-label='Answer' aria-busy={isRunning}>
        {result === undefined
          ? isRunning ? <Skeleton lines={12} /> : verb !== 'select' && <p class='muted'>The answer is shown here.</p>
          : result.answer.failure !== undefined
            ? <FailureView answer={result.answer} body={sent} table={table} />
            : (
              <AnswerView
                unanswered={unanswered}
                table={table} result={result} isOld={text !== result.text && verb === 'select'} shown={shown} setShown={setShown}
                paging={pagingOf({ result, trail, run: runBody, onLast: () => { findLast(stage, table, result).then((last) => { if (last !== undefined) runBody(last) }, () => {}) } })}
                onOrder={(name, isAdded) => { if (sent !== undefined) runBody(withOrder(sent, toggleOrder(readOrder(sent), name, isAdded), table.hasPositions && !isGrouped(sent))) }}
                onImport={verb === 'select' && table.verbs.includes('insert') ? importRows : undefined}
                onInsert={verb === 'select' && table.verbs.includes('insert') ? () => setVerb('insert') : undefined}
                onExport={() => { if (sent !== undefined) download(sent) }}
                onSelected={onSelected} onBody={runBody} layout={layout} setLayout={setLayout}
                onPaste={table.verbs.includes('insert') ? pasteRows : undefined}
                onEdit={table.verbs.includes('update') ? (row, { name }, value) => write({ verb: 'update', data: { [name]: value }, filters: keyFilters(table, row) as JsonObject, expect: 1 }, { before: row, names: [name] }) : undefined}
                opened={address.current.row}
                onOpen={(row) => { if (verbOf(sent) === 'select') writeAddress({ ...address.current, body: row === undefined ? address.current.body : result.text, row: row === undefined ? undefined : rowKey(table, row) }, trail, row !== undefined && address.current.row === undefined) }}
                panel={(row, tab, close) => <RowPanel table={table} row={row} tab={tab} onClose={close} onChanged={() => { if (verbOf(sent) === 'select') run(result.text, trail) }} />}
              >
                {verbOf(sent) !== 'select' && table.verbs.includes('select') && <p class='buttons'><button type='button' onClick={() => showWritten(result, table, runBody)}>Show the rows of {table.name}</button></p>}
              </AnswerView>
              )}
      </section>
    </>
  )
}

/** Searches when Enter is pressed, or the text is cleared. */
function SearchBox ({ table, body, onBody }: { table: Table, body: JsonObject, onBody: (body: JsonObject) => void }) {
  const filters = memberOf(body, 'filters')
  const search = readSearch(table, filters)
  const [entered, setEntered] = useState('')
  const [columns, setColumns] = useState<readonly string[]>()
  const given = search === undefined ? '' : writeLine([search.text, search.columns ?? null])
  useEffect(() => {
    setEntered(search?.text ?? '')
    if (search !== undefined) setColumns(search.columns)
  }, [given])
  const { indexes } = table
  const find = (text: string, within = columns): void => onBody(withFilters(table, body, withSearch(table, filters, { text, columns: within })))
  const nameOf = (index: readonly string[]): string => `words of ${index.join(', ')}`
  const choose = (name: string): void => {
    const index = indexes.find((each) => nameOf(each) === name)
    setColumns(index)
    if (search !== undefined) find(search.text, index)
  }
  const label = columns === undefined ? describeSearch(table) : 'Search words'
  return (
    <span class='search'>
      {indexes.length > 0 && <Choice label='Search in' value={columns === undefined ? 'all texts' : nameOf(indexes.find((index) => index.every((name) => columns.includes(name))) ?? columns)} options={asOptions(['all texts', ...indexes.map(nameOf)])} onChoice={choose} />}
      <input
        type='search' aria-label={label} title={columns === undefined ? 'In any letter case. Enter searches.' : 'Words of a full-text index: the index decides about their case and their least length'} placeholder={label} value={entered}
        onInput={({ currentTarget }) => {
          setEntered(currentTarget.value)
          if (currentTarget.value === '' && search !== undefined) find('')
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          event.preventDefault()
          event.stopPropagation()
          find(entered.trim())
        }}
      />
      {search?.columns !== undefined && <button type='button' aria-pressed={isByRelevance(body)} title='Order the rows by relevance' onClick={() => onBody(byRelevance(table, body, !isByRelevance(body)))}>Best first</button>}
    </span>
  )
}

/** The body of the address, or of the row that it names, or the page's own. */
function firstText (table: Table, { body, row }: Route): string {
  if (body !== undefined) return body
  const filters = row === undefined ? undefined : readBody(row)
  return writeLines(withMembers(firstBody(table), { filters }))
}

function RequestForm ({ table, body, verb, onBody }: { table: Table, body: JsonObject, verb: string, onBody: (body: JsonObject) => void }) {
  const data = memberOf(body, 'data')
  return (
    <>
      {(verb === 'insert' || verb === 'update') && (isList(data)
        ? <p class='muted'>The body has {data.length} rows: change them in the text.</p>
        : <fieldset><legend>{verb === 'insert' ? 'The new row' : 'Set'}</legend><RecordForm table={table} verb={verb} data={isObject(data) ? data : {}} onChange={(changed) => onBody({ ...body, data: changed })} /></fieldset>)}
      {verb !== 'insert' && <FilterForm key={verb} table={table} filters={memberOf(body, 'filters')} onChange={(filters) => onBody(withFilters(table, body, filters ?? (verb === 'select' ? undefined : {})))} />}
      {verb === 'select' && (
        <div class='menus'>
          {memberOf(body, 'groupBy') === undefined && memberOf(body, 'aggregates') === undefined && <><ColumnsMenu table={table} body={body} onBody={onBody} /><RelatedMenu table={table} body={body} onBody={onBody} /></>}
          <GroupsMenu table={table} body={body} onBody={onBody} />
          <LimitInput body={body} onBody={(changed) => onBody(firstPage(changed))} />
        </div>
      )}
    </>
  )
}

function mistakeOf (text: string): string | undefined {
  try {
    return isObject(parseJson(text)) ? undefined : 'A body is a JSON object.'
  } catch (error) {
    return `Not JSON: ${(error as Error).message}`
  }
}

/** Rows that `offset` skips at most (docs/limits.md). */
const MAX_OFFSET = 100_000

interface PagingOptions {
  readonly result: Result
  readonly trail: readonly Json[]
  readonly run: (body: JsonObject, trail?: readonly Json[]) => void
  /** Runs the body of the last page. */
  readonly onLast: () => void
}

/** The pages before and after the one that is shown, as far as its request can say so. */
function pagingOf ({ result: { answer: { data }, body }, trail, run, onLast: toLast }: PagingOptions): Paging {
  const [after, offset, limit, next] = [memberOf(body, 'after'), memberOf(body, 'offset'), memberOf(body, 'limit'), memberOf(data, 'next')]
  const none = { onFirst: undefined, onPrevious: undefined, onNext: undefined, onLast: undefined, first: undefined }
  if (body === undefined || (after === undefined && typeof offset !== 'number')) return none
  const rows = rowsOfPage(limit)
  const hasNext = next !== null && next !== undefined
  const onLast = hasNext && !isGrouped(body) ? toLast : undefined
  if (typeof offset === 'number') {
    const toOffset = (to: Json) => () => run({ ...body, offset: to })
    return { onFirst: offset > 0 ? toOffset(0) : undefined, onPrevious: offset > 0 ? toOffset(Math.max(0, offset - rows)) : undefined, onNext: hasNext ? toOffset(next) : undefined, onLast, first: offset + 1 }
  }
  const isFirst = after === null
  return {
    onFirst: isFirst ? undefined : () => run({ ...body, after: null }),
    onPrevious: trail.length > 0 ? () => run({ ...body, after: trail.at(-1) as Json }, trail.slice(0, -1)) : undefined,
    onNext: hasNext ? () => run({ ...body, after: next }, [...trail, after as Json]) : undefined,
    onLast,
    first: isFirst ? 1 : trail.length > 0 && trail[0] === null ? trail.length * rows + 1 : undefined
  }
}

const rowsOfPage = (limit: Json | undefined): number => typeof limit === 'number' ? limit : 100

/** The body of the last page. What was not counted to its end is counted as far as `offset` reaches; of more rows, the last ones are the first ones from the end. */
async function findLast ({ service, say }: Stage, table: Table, { answer: { data }, body = {} }: Result): Promise<JsonObject | undefined> {
  const [limit, given, total] = [rowsOfPage(memberOf(body, 'limit')), memberOf(body, 'total'), memberOf(data, 'total')]
  const isCounted = typeof total === 'number' && total !== given
  const counted = isCounted ? data : (await service.look(table.path, writeLine(withMembers({ verb: 'select', limit: 1, total: MAX_OFFSET + limit }, { filters: memberOf(body, 'filters') })))).data
  const all = memberOf(counted, 'total')
  const last = typeof all === 'number' ? Math.floor(Math.max(0, all - 1) / limit) * limit : Infinity
  if (last < MAX_OFFSET) return withMembers(body, { after: undefined, offset: last, total: isCounted || given === undefined ? given : true })
  if (!table.hasPositions || isByRelevance(body)) {
    say('There are more rows than can be skipped: order them otherwise')
    return undefined
  }
  say('There are more than 100,000 rows: the last ones are shown first')
  return withMembers(body, { orderBy: reverseOrder(readOrder(body), table.primaryKey), offset: undefined, after: null })
}

/** After an insert of a row its own one, otherwise all that the filters select. */
function showWritten ({ answer: { data }, body }: Result, table: Table, run: (body: JsonObject) => void): void {
  const id = memberOf(data, 'id')
  const [key] = table.primaryKey
  const inserted = memberOf(body, 'data')
  const own = isObject(inserted) ? keyFilters(table, inserted) : undefined
  const filters = own ?? (id !== undefined && id !== null && table.primaryKey.length === 1 ? { [key as string]: id } : memberOf(body, 'filters'))
  run(withMembers(firstBody(table, 'select'), { filters: filters !== undefined && writeLine(filters) !== '{}' ? filters : undefined }))
}
