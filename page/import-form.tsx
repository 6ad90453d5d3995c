/** Imports the rows of a CSV file: a dry run first, then the import if the person agrees. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { describeWrite, FailureView } from './answer-view.tsx'
import { Choice } from './choice.tsx'
import { findSeparator } from './csv.ts'
import type { JsonObject } from './json.ts'
import type { Answer } from './service.ts'
import { useHold, useStage } from './stage.tsx'
import type { Table } from './table.ts'

/** Characters of a file that are looked at before it is sent. */
const HEAD = 65_536

const SEPARATORS: ReadonlyArray<readonly [string, string]> = [[',', 'commas'], [';', 'semicolons'], ['tab', 'tabs']]
const TRANSACTIONS: ReadonlyArray<readonly [string, string]> = [['whole', 'all rows or none'], ['batch', 'batch by batch, for large files']]

/** Codes of a dry run that was not possible, although the import may be. */
const NOT_POSSIBLE = ['NOT_SUPPORTED', 'PERMISSION_DENIED']

type Step =
  | { readonly name: 'chosen' | 'changed' }
  | { readonly name: 'trying' | 'importing', readonly bytes: number }
  | { readonly name: 'tried' | 'failed', readonly answer: Answer }
  | { readonly name: 'done', readonly data: JsonObject }

const CHOSEN: Step = { name: 'chosen' }

/** What rows that exist become, by the columns of a key: the text of the choice, and the options of the request. */
function conflictsOf ({ conflictKeys, verbs }: Table): Array<{ readonly text: string, readonly options: Readonly<Record<string, string>> }> {
  const keys = conflictKeys.filter((key) => !key.some((name) => name.includes(',')))
  return [
    { text: 'are refused', options: {} },
    ...verbs.includes('update') ? keys.map((key) => ({ text: `are updated, by ${key.join(', ')}`, options: { onConflict: key.join(',') } })) : [],
    ...keys.map((key) => ({ text: `stay as they are, by ${key.join(', ')}`, options: { onConflict: key.join(','), set: '' } }))
  ]
}

export function ImportForm ({ table, onImported }: { table: Table, onImported: () => void }) {
  const { service, show, say } = useStage()
  const [file, setFile] = useState<File>()
  const [separator, setSeparator] = useState(',')
  const [transaction, setTransaction] = useState('whole')
  const [conflict, setConflict] = useState('0')
  const [step, setStep] = useState<Step>(CHOSEN)
  const running = useRef<AbortController>(undefined)
  const input = useRef<HTMLInputElement>(null)
  const conflicts = conflictsOf(table)
  const isRunning = step.name === 'trying' || step.name === 'importing'
  useHold(step.name === 'importing')
  useEffect(() => () => running.current?.abort(), [])
  useLayoutEffect(() => { if (step.name === 'changed') input.current?.focus() }, [step])

  const choose = async (chosen: File | undefined): Promise<void> => {
    setFile(undefined)
    setStep(CHOSEN)
    if (chosen === undefined) return
    setSeparator(findSeparator(await chosen.slice(0, HEAD).text()))
    setFile(chosen)
  }
  /** What was tried was another import. */
  const changed = <T,>(set: (value: T) => void) => (value: T): void => {
    set(value)
    setStep(CHOSEN)
  }
  /** A browser does not read a file that has changed since it was chosen, and calls the same one no change. */
  const chooseAgain = (): undefined => {
    if (input.current !== null) input.current.value = ''
    setFile(undefined)
    setStep({ name: 'changed' })
  }
  const send = async (name: 'trying' | 'importing'): Promise<Answer | undefined> => {
    if (file === undefined) return undefined
    const { signal } = running.current = new AbortController()
    const options = new URLSearchParams({
      ...conflicts[Number(conflict)]?.options, ...separator !== ',' && { separator }, ...name === 'trying' ? { dryRun: 'true' } : transaction !== 'whole' && { transaction }
    })
    setStep({ name, bytes: 0 })
    try {
      const answer = await service.upload(`${table.path}${options.size > 0 ? `?${options.toString()}` : ''}`, file, { signal, onProgress: (bytes) => setStep({ name, bytes }) })
      const canRead = answer.status > 0 || await file.slice(0, 1).arrayBuffer().then(() => true, () => false)
      return canRead ? answer : chooseAgain()
    } catch { // it was cancelled
      setStep(CHOSEN)
      if (name === 'importing') say('Cancelled: see in the table whether rows were written')
      return undefined
    }
  }
  const attempt = async (): Promise<void> => {
    const answer = await send('trying')
    if (answer === undefined) return
    setStep({ name: answer.failure === undefined || NOT_POSSIBLE.includes(answer.failure.code) ? 'tried' : 'failed', answer })
  }
  const write = async (): Promise<void> => {
    const answer = await send('importing')
    if (answer === undefined) return
    setStep(answer.data === undefined ? { name: 'failed', answer } : { name: 'done', data: answer.data })
    onImported()
  }

  if (step.name === 'done') {
    return (
      <>
        <p role='status'>{describeWrite(step.data)}.</p>
        <p class='buttons'><button type='button' class='main' onClick={() => show(undefined)}>Close</button></p>
      </>
    )
  }
  const isTried = step.name === 'tried'
  const tried = isTried ? step.answer.data : undefined
  return (
    <>
      <p class='muted'>A CSV file with the names of columns in its first line. Nothing in a cell is NULL, <code>""</code> is an empty text. Columns that the file does not have get their defaults.</p>
      <div class='options'>
        <label>File <input ref={input} type='file' accept='.csv,.tsv,.txt,text/csv' disabled={isRunning} onChange={({ currentTarget }) => { choose(currentTarget.files?.[0]) }} /></label>
        <label>Cells are separated by <Choice label='Cells are separated by' value={separator} options={SEPARATORS} onChoice={changed(setSeparator)} isDisabled={isRunning} /></label>
        {conflicts.length > 1 && <label>Rows that exist <Choice label='Rows that exist' value={conflict} options={conflicts.map(({ text }, index) => [String(index), text])} onChoice={changed(setConflict)} isDisabled={isRunning} /></label>}
        <label>Write <Choice label='Write' value={transaction} options={TRANSACTIONS} onChoice={changed(setTransaction)} isDisabled={isRunning} /></label>
      </div>
      {step.name === 'changed' && <p class='warning' role='alert'>The file has changed since it was chosen: choose it again.</p>}
      {isRunning && <Progress text={step.name === 'trying' ? 'Trying: nothing is written.' : 'Importing.'} bytes={step.bytes} size={file?.size ?? 0} />}
      {isTried && (tried === undefined
        ? <p class='warning'>The service cannot try this import first: {step.answer.failure?.message}</p>
        : <p role='status'><b>{describeWrite(tried)}.</b> Nothing has been written yet.</p>)}
      {step.name === 'failed' && <FailureView answer={step.answer} body={undefined} />}
      <p class='buttons'>
        <button type='button' onClick={() => isRunning ? running.current?.abort() : show(undefined)}>Cancel</button>
        {isTried
          ? <button type='button' class='main' onClick={() => { write() }}>{tried === undefined ? 'Import' : `Import ${describeRows(tried)}`}</button>
          : <button type='button' class='main' disabled={file === undefined} aria-disabled={isRunning} onClick={() => { if (!isRunning) attempt() }}>Check the file</button>}
      </p>
    </>
  )
}

function describeRows ({ inserted, updated, unchanged }: JsonObject): string {
  const rows = [inserted, updated, unchanged].reduce<number>((sum, count) => sum + (typeof count === 'number' ? count : 0), 0)
  return rows === 1 ? '1 row' : `${rows.toLocaleString('en')} rows`
}

const kilobytes = (bytes: number): string => `${Math.ceil(bytes / 1000).toLocaleString('en')} kB`

function Progress ({ text, bytes, size }: { text: string, bytes: number, size: number }) {
  return (
    <p class='progress' role='status'>
      {text} <progress aria-label='Bytes of the file' max={Math.max(1, size)} value={bytes} /> <span class='muted'>{bytes < size ? `${kilobytes(bytes)} of ${kilobytes(size)}` : 'sent, waiting for the database'}</span>
    </p>
  )
}
