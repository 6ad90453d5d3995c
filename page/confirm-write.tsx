/** Shows what a write would do, by a dry run, and sends it if the person agrees. */
import { isEqual, isList, memberOf, withMembers, writeLine, writeLines, type Json, type JsonObject } from './json.ts'
import { columnsOf, isGrouped } from './rows.ts'
import { readBody, verbOf } from './bodies.ts'
import { LongValue } from './cell.tsx'
import { Grid, rowKey } from './grid.tsx'
import type { Answer } from './service.ts'
import { useStage, type Stage } from './stage.tsx'
import type { Table } from './table.ts'

export interface Write {
  /** Undefined for several operations. */
  readonly table: Table | undefined
  readonly path: string
  readonly body: string
  /** Whether the answer has the rows that are written, where the service can return them: they are needed to take it back. */
  readonly keepsRows?: boolean
}

/** Codes of a dry run that was not possible, although the write may be. */
const NOT_POSSIBLE = ['NOT_SUPPORTED', 'PERMISSION_DENIED', 'RESULT_TOO_LARGE']

/** Returns the answer to the write, or that of the dry run if it was refused; undefined if the person does not want it. */
export async function confirmWrite (stage: Stage, { table, path, body, keepsRows = false }: Write): Promise<Answer | undefined> {
  const { service } = stage
  const given = readBody(body)
  if (given === undefined || memberOf(given, 'dryRun') === true) return await service.send(path, body)
  const before = table === undefined ? undefined : await findBefore(stage, table, given)
  const tried = await tryWrite(stage, { table, path, given })
  if (tried.failure !== undefined && !NOT_POSSIBLE.includes(tried.failure.code)) return tried
  // without a dry run, the service refuses what it would refuse anyway
  if (tried.failure?.code === 'PERMISSION_DENIED' && table !== undefined && table.verbs.includes('select')) return tried
  return await new Promise((resolve) => {
    let answered = false
    const agree = (): void => {
      answered = true
      stage.show(undefined)
      const hasRows = keepsRows && isList(memberOf(tried.data, 'rows'))
      service.send(path, hasRows ? writeLines({ ...given, returning: '*' }) : body).then(resolve, () => resolve(undefined))
    }
    const { title, action } = describe(table, given, tried.data)
    stage.show({
      title,
      content: (
        <>
          {tried.data === undefined
            ? <p class='warning'>The service cannot try this write first: {tried.failure?.message}</p>
            : <Preview table={table} given={given} data={tried.data} before={before} />}
          <p class='buttons'>
            <button type='button' onClick={() => stage.show(undefined)}>{action === undefined ? 'Close' : 'Cancel'}</button>
            {action !== undefined && <button type='button' class={verbOf(given) === 'delete' ? 'danger' : 'main'} onClick={agree}>{action}</button>}
          </p>
        </>
      ),
      onClose: () => { if (!answered) resolve(undefined) }
    })
  })
}

/** The rows that an update is for, as they are now, by their keys. */
async function findBefore ({ service }: Stage, table: Table, given: JsonObject): Promise<ReadonlyMap<string, JsonObject> | undefined> {
  if (verbOf(given) !== 'update' || !table.verbs.includes('select')) return undefined
  const { data } = await service.look(table.path, writeLine(withMembers({ verb: 'select', limit: MAX_ROWS }, { filters: memberOf(given, 'filters') })))
  const found = (memberOf(data, 'rows') ?? []) as readonly JsonObject[]
  return new Map(found.map((row) => [rowKey(table, row) ?? '', row]))
}

/** The dry run, with the rows as they would be if the service can return them. */
async function tryWrite ({ service }: Stage, { table, path, given }: { table: Table | undefined, path: string, given: JsonObject }): Promise<Answer> {
  const dry = withMembers(given, { dryRun: true })
  const showsRows = table !== undefined && table.verbs.includes('select') && memberOf(given, 'returning') === undefined
  if (!showsRows) return await service.send(path, writeLine(dry))
  const answer = await service.send(path, writeLine({ ...dry, returning: '*' }))
  return answer.failure !== undefined && ['NOT_SUPPORTED', 'RESULT_TOO_LARGE'].includes(answer.failure.code) ? await service.send(path, writeLine(dry)) : answer
}

const rows = (count: Json | undefined): string => `${String(count as number)} ${count === 1 ? 'row' : 'rows'}`

/** `action` is undefined if there is nothing to do. */
function describe (table: Table | undefined, given: JsonObject, data: JsonObject | undefined): { title: string, action: string | undefined } {
  if (table === undefined) {
    const operations = memberOf(given, 'operations')
    const count = isList(operations) ? operations.length : 0
    return { title: `Run ${count} ${count === 1 ? 'operation' : 'operations'} in one transaction?`, action: 'Run' }
  }
  const verb = verbOf(given)
  const name = verb.replace(/^./, (letter) => letter.toUpperCase())
  if (data === undefined) return { title: `${name} rows of ${table.name}?`, action: name }
  const { inserted, updated, unchanged, deleted } = data
  const count = deleted ?? (verb === 'update' ? updated : inserted)
  if (verb === 'insert' && updated !== undefined) return { title: `Insert ${rows(inserted)} into ${table.name}, update ${rows(updated)}, leave ${rows(unchanged)} as they are?`, action: 'Insert' }
  if (count === 0) return { title: verb === 'update' ? `No row of ${table.name} would change` : `No row of ${table.name} would be deleted`, action: undefined }
  return { title: `${name} ${rows(count)} ${verb === 'insert' ? 'into' : verb === 'delete' ? 'from' : 'of'} ${table.name}?`, action: `${name} ${rows(count)}` }
}

/** The column of what becomes of each row; no other has a space. */
const OUTCOME = 'this row is'

/** Rows that the dialog draws. */
const MAX_ROWS = 50

interface PreviewProps {
  readonly table: Table | undefined
  readonly given: JsonObject
  readonly data: JsonObject
  readonly before: ReadonlyMap<string, JsonObject> | undefined
}

function Preview ({ table, given, data, before }: PreviewProps) {
  if (table === undefined) return <OperationResults results={(data['results'] ?? []) as readonly JsonObject[]} operations={(given['operations'] ?? []) as readonly JsonObject[]} />
  const found = memberOf(data, 'rows')
  const set = new Set(Object.keys(verbOf(given) === 'update' ? given['data'] as object ?? {} : {}))
  const outcomes = memberOf(data, 'outcomes')
  const written = isList(found) ? found : memberOf(given, 'data')
  const values = (isList(outcomes) && isList(written) ? written.map((row, index) => ({ [OUTCOME]: outcomes[index] ?? null, ...row as JsonObject })) : isList(found) ? found : []) as readonly JsonObject[]
  const columns = [OUTCOME, ...table.columns.map(({ name }) => name)].filter((name) => values.some((row) => memberOf(row, name) !== undefined))
  // what is written first, beside the key
  const sorted = set.size === 0 ? columns : [...columns.filter((name) => table.primaryKey.includes(name)), ...columns.filter((name) => set.has(name) && !table.primaryKey.includes(name)), ...columns.filter((name) => !set.has(name) && !table.primaryKey.includes(name))]
  const [only] = values
  const old = values.length === 1 && only !== undefined ? before?.get(rowKey(table, only) ?? '') : undefined
  if (only !== undefined && old !== undefined) return <Changes names={sorted.filter((name) => table.primaryKey.includes(name) || !isEqual(old[name], only[name]))} old={old} row={only} />
  return (
    <>
      <p class='muted'>A dry run: nothing has been changed yet. {values.length > 0 && (verbOf(given) === 'delete' ? 'These rows would be gone:' : 'The rows would be:')}</p>
      {values.length > 0 && <Grid label='Rows of the dry run' rows={values.slice(0, MAX_ROWS)} columns={sorted} table={table} marked={set} before={before} />}
      {values.length > MAX_ROWS && <p class='muted'>and {values.length - MAX_ROWS} more</p>}
    </>
  )
}

/** One row: its key, and what it has now beside what it would have. */
function Changes ({ names, old, row }: { names: readonly string[], old: JsonObject, row: JsonObject }) {
  return (
    <>
      <p class='muted'>A dry run: nothing has been changed yet.</p>
      <div class='grid changes' tabIndex={0} role='region' aria-label='Rows of the dry run'>
        <table>
          <thead><tr><th scope='col'>Column</th><th scope='col'>Old</th><th scope='col'>New</th></tr></thead>
          <tbody>{names.map((name) => <tr key={name}><th scope='row'>{name}</th><td class='text'><LongValue value={old[name]} name={name} /></td><td class={isEqual(old[name], row[name]) ? 'text' : 'text marked'}><LongValue value={row[name]} name={name} /></td></tr>)}</tbody>
        </table>
      </div>
    </>
  )
}

/** The results of several operations, each with its rows. */
export function OperationResults ({ results, operations }: { results: readonly JsonObject[], operations: readonly JsonObject[] }) {
  const { document } = useStage()
  return (
    <ol class='results'>
      {results.map((result, index) => {
        const { rows: found, next: _next, ...counts } = result
        const values = isList(found) ? found as readonly JsonObject[] : []
        const [first] = values
        const operation = operations[index]
        const name = String(memberOf(operation, 'table') as Json)
        const table = document.table(name)
        return (
          <li key={index}>
            <b>{String(memberOf(operation, 'verb') as Json)} {name}</b>{' '}
            <code>{Object.entries(counts).filter(([, value]) => value !== null).map(([key, value]) => `${key} ${writeLine(value)}`).join(' · ')}</code>
            {first !== undefined && <Grid label={`Rows of operation ${index + 1}`} rows={values} columns={columnsOf(table, operation, values)} table={isGrouped(operation) ? undefined : table} />}
          </li>
        )
      })}
    </ol>
  )
}
