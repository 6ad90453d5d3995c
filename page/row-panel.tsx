/** What is shown below a row: its values, the rows that are related to it, and the form that changes it. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Icon } from './icons.tsx'
import { isList, isObject, memberOf, withMembers, writeLine, writeLines, type Json, type JsonObject } from './json.ts'
import { describeWrite, FailureView, showRefusal } from './answer-view.tsx'
import { firstBody, keyFilters, relatedFilters } from './bodies.ts'
import { copy, LongValue } from './cell.tsx'
import { confirmWrite } from './confirm-write.tsx'
import { Grid } from './grid.tsx'
import { Empty, Skeleton } from './placeholder.tsx'
import { RecordForm } from './record-form.tsx'
import { columnsOf } from './rows.ts'
import type { Answer } from './service.ts'
import { keyText, useNames } from './shown-names.ts'
import { writeRoute } from './route.ts'
import { mayRestore, offerRestore, offerUndo } from './undo.ts'
import { mayLeave, useHold, useStage } from './stage.tsx'
import { save } from './download.ts'
import { fromBase64 } from './values.ts'
import type { Relation, Table } from './table.ts'

interface RowPanelProps {
  readonly table: Table
  readonly row: JsonObject
  /** The name of a relation or of a member; undefined for the values. */
  readonly tab: string | undefined
  readonly onChanged: () => void
  readonly onClose: () => void
}

const VALUES = ' values'

export function RowPanel ({ table, row, tab: given, onChanged, onClose }: RowPanelProps) {
  const stage = useStage()
  const [tab, setTab] = useState(given ?? VALUES)
  useEffect(() => setTab(given ?? VALUES), [given])
  const members = Object.entries(row).filter(([name, value]) => !table.columns.some((column) => column.name === name) && (isObject(value) || isList(value)))
  const relations = table.relations.filter(({ name }) => !members.some(([member]) => member === name))
  const relation = relations.find(({ name }) => name === tab)
  const member = members.find(([name]) => name === tab)?.[1]
  const tabs = [VALUES, ...members.map(([name]) => name), ...relations.map(({ name }) => name)]
  return (
    <div class='row-panel'>
      <div class='tabs'>
        <div role='tablist' aria-label='Of this row'>{tabs.map((name) => <button key={name} type='button' role='tab' aria-selected={name === tab} onClick={() => { if (name !== tab && mayLeave()) setTab(name) }}>{name === VALUES ? 'Values' : name}</button>)}</div>
        <span class='spacer' />
        <button type='button' class='quiet' aria-label='Close the row' onClick={onClose}><Icon name='close' /></button>
      </div>
      {relation !== undefined
        ? <RelatedRows key={relation.name} relation={relation} row={row} onChanged={onChanged} />
        : member !== undefined
          ? <MemberRows name={tab} table={stage.document.table(table.relations.find(({ name }) => name === tab)?.table ?? tab)} value={member} />
          : <Values table={table} row={row} onChanged={onChanged} />}
    </div>
  )
}

function MemberRows ({ name, table, value }: { name: string, table: Table | undefined, value: Json }) {
  const rows = (isList(value) ? value : [value]) as readonly JsonObject[]
  const [first] = rows
  return first === undefined ? <Empty title='No rows.' /> : <Grid label={name} rows={rows} columns={columnsOf(table, undefined, rows)} table={table} />
}

function Values ({ table, row, onChanged }: Omit<RowPanelProps, 'tab' | 'onClose'>) {
  const stage = useStage()
  const [edited, setEdited] = useState<{ readonly row: JsonObject, readonly data: JsonObject }>()
  const [answer, setAnswer] = useState<Answer>()
  const buttons = useRef<HTMLParagraphElement>(null)
  const filters = keyFilters(table, row)
  const columns = table.columns.filter(({ name }) => memberOf(row, name) !== undefined)
  const shown = useMemo(() => [row], [row])
  const names = useNames(shown, columns.map(({ name }) => name), table)

  /** The whole row, as it is now: the grid may show some of its columns. */
  const edit = async (): Promise<void> => {
    const found = await stage.service.send(table.path, writeLines({ verb: 'select', filters: filters as JsonObject, limit: 1 }))
    const [whole] = (memberOf(found.data, 'rows') ?? []) as readonly JsonObject[]
    if (found.failure !== undefined) setAnswer(found)
    else if (whole === undefined) stage.say('The row is not there any more')
    else {
      setAnswer(undefined)
      setEdited({ row: whole, data: {} })
    }
  }
  const write = async (body: JsonObject): Promise<void> => {
    setAnswer(undefined)
    const before = edited?.row
    const keepsRows = before === undefined && await mayRestore(stage, table, [row])
    const answered = await confirmWrite(stage, { table, path: table.path, body: writeLines(body), keepsRows })
    if (answered?.failure !== undefined) showRefusal(stage, { answer: answered, body, table })
    if (answered?.data === undefined) return
    const shared = { table, said: describeWrite(answered.data), onUndone: onChanged }
    if (before === undefined) offerRestore(stage, shared, (memberOf(answered.data, 'rows') ?? []) as readonly JsonObject[])
    else offerUndo(stage, { ...shared, before, names: Object.keys(edited?.data ?? {}) })
    setEdited(undefined)
    onChanged()
  }
  const canExpect = table.verbs.includes('select')
  const address = (): string => location.origin + location.pathname + writeRoute({ database: stage.document.name, table: table.name, row: writeLine(filters as JsonObject) })
  const changes = edited === undefined ? 0 : Object.keys(edited.data).length
  useHold(changes > 0)
  const isEdited = edited !== undefined
  const wasEdited = useRef(false)
  useLayoutEffect(() => {
    if (wasEdited.current && !isEdited) buttons.current?.querySelector('button')?.focus()
    wasEdited.current = isEdited
  }, [isEdited])

  return (
    <>
      {edited === undefined
        ? (
          <dl>
            {columns.map(({ name, type, isBytes }) => (
              <div key={name}>
                <dt>{name} <span class='type'>{type}</span></dt>
                <dd>
                  <LongValue value={row[name]} name={name} column={columns.find((column) => column.name === name)} />
                  {names.has(name) && <span class='muted'> {names.get(name)?.get(keyText(row[name] as Json))}</span>}
                  {isBytes && typeof row[name] === 'string' && row[name] !== '' && <> <button type='button' class='link' onClick={() => save(fromBase64(row[name] as string), `${table.name}-${name}.bin`)}>Download {name}</button></>}
                </dd>
              </div>
            ))}
          </dl>
          )
        : <RecordForm table={table} verb='update' data={edited.data} row={edited.row} onChange={(data) => setEdited({ ...edited, data })} />}
      {answer !== undefined && <FailureView answer={answer} body={undefined} table={table} />}
      <p ref={buttons} class='buttons'>
        {edited === undefined
          ? (
            <>
              {filters !== undefined && table.verbs.includes('update') && <button type='button' class='main' onClick={() => { edit() }}>Edit</button>}
              {filters !== undefined && table.verbs.includes('delete') && <button type='button' class='danger-text' onClick={() => { write(withMembers({ verb: 'delete', filters }, { expect: canExpect ? 1 : undefined })) }}>Delete …</button>}
              <button type='button' onClick={() => { copy(writeLines(row)).then(stage.say) }}>Copy as JSON</button>
              {filters !== undefined && table.verbs.includes('select') && <button type='button' title='The address of this row' onClick={() => { copy(address()).then(stage.say) }}>Copy link</button>}
              {filters === undefined && <span class='muted'>{table.primaryKey.length === 0 ? 'Rows without a primary key are changed with the verbs update and delete above.' : `Choose the columns of the primary key (${table.primaryKey.join(', ')}) to change the row.`}</span>}
            </>
            )
          : (
            <>
              <button type='button' class='main' disabled={changes === 0} onClick={() => { write(withMembers({ verb: 'update', data: edited.data, filters: filters as JsonObject }, { expect: canExpect ? 1 : undefined })) }}>Save …</button>
              <button type='button' onClick={() => setEdited(undefined)}>Cancel</button>
              <span class='muted'>{changes === 0 ? 'Change a value first.' : `${changes === 1 ? '1 value' : `${changes} values`} changed. Nothing is written before you have seen what happens.`}</span>
            </>
            )}
      </p>
    </>
  )
}

/** Related rows that are shown at once. */
const ROWS = 10

export function RelatedRows ({ relation, row, onChanged }: { relation: Relation, row: JsonObject, onChanged: () => void }) {
  const stage = useStage()
  const { service, document } = stage
  const table = document.table(relation.table)
  const filters = relatedFilters(relation, row)
  const [answer, setAnswer] = useState<Answer>()
  /** The positions of this page and of those before it. */
  const [pages, setPages] = useState<readonly Json[]>([null])
  const [turn, setTurn] = useState(0)
  const canSelect = table?.verbs.includes('select') === true
  useEffect(() => {
    if (table === undefined || filters === undefined || !canSelect) return undefined
    const controller = new AbortController()
    const after = pages.at(-1) as Json
    const body = withMembers({ verb: 'select', filters, limit: ROWS }, table.hasPositions ? { after } : { offset: after ?? 0 })
    service.send(table.path, writeLines(body), controller.signal).then(setAnswer, () => {})
    return () => controller.abort()
  }, [pages, turn])

  if (table === undefined || !canSelect) return <Empty icon='key' title={`The token may not read ${relation.table}.`} />
  if (filters === undefined) {
    const missing = relation.on.map(([own]) => own).filter((own) => memberOf(row, own) === undefined)
    return <Empty title={missing.length > 0 ? `Choose the column ${missing.join(', ')} to see these rows.` : `None: ${relation.on.map(([own]) => own).join(', ')} is NULL.`} />
  }
  const database = document.name
  const rows = (memberOf(answer?.data, 'rows') ?? []) as readonly JsonObject[]
  const next = memberOf(answer?.data, 'next')
  return (
    <>
      {answer === undefined
        ? <Skeleton lines={3} />
        : answer.failure !== undefined
          ? <FailureView answer={answer} body={undefined} />
          : rows.length === 0
            ? <Empty title={`No rows of ${table.name}.`} />
            : <Grid label={`Related rows of ${table.name}`} rows={rows} columns={table.columns.map(({ name }) => name).filter((name) => rows.some((each) => memberOf(each, name) !== undefined))} table={table} panel={(each, tab, close) => <RowPanel table={table} row={each} tab={tab} onClose={close} onChanged={() => { setTurn(turn + 1); onChanged() }} />} />}
      <p class='buttons'>
        {(pages.length > 1 || (next !== null && next !== undefined)) && (
          <>
            <button type='button' disabled={pages.length === 1} onClick={() => setPages(pages.slice(0, -1))}><Icon name='left' />Previous</button>
            <button type='button' disabled={next === null || next === undefined} onClick={() => setPages([...pages, next as Json])}>Next<Icon name='right' /></button>
          </>
        )}
        <button type='button' onClick={() => stage.go({ database, table: table.name, body: writeLines(withMembers(firstBody(table, 'select'), { filters })) })}>Open in {table.name}</button>
        {relation.isMany && table.verbs.includes('insert') && <button type='button' onClick={() => stage.go({ database, table: table.name, body: writeLines({ verb: 'insert', data: filters }) })}>Add a row to {table.name} …</button>}
      </p>
    </>
  )
}
