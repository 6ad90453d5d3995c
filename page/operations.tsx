/** Several operations in one transaction, as text: it begins with an example that writes and refers. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon } from './icons.tsx'
import { asOptions, Choice } from './choice.tsx'
import { isList, memberOf, withMembers, writeLine, writeLines, type Json, type JsonObject } from './json.ts'
import { AnswerSection, JsonText, type Result, type Shown, ShownAs } from './answer-view.tsx'
import { readBody } from './bodies.ts'
import { confirmWrite, OperationResults } from './confirm-write.tsx'
import { writeExample, writeNext } from './operations-example.ts'
import type { Route } from './route.ts'
import { useStage } from './stage.tsx'
import { VERBS, type Verb } from './table.ts'
import { TextPanel } from './text-panel.tsx'

export function Operations ({ path, route }: { path: string, route: Route }) {
  const stage = useStage()
  const { service, document } = stage
  const [text, setText] = useState(route.body ?? '')
  const [result, setResult] = useState<Result>()
  const [isRunning, setRunning] = useState(false)
  const [shown, setShown] = useState<Shown>('grid')
  const typed = useRef(false)
  const [table, setTable] = useState(document.tables[0]?.name ?? '')
  const [verb, setVerb] = useState<Verb>('insert')
  const body = readBody(text)
  const operations = memberOf(body, 'operations')

  useEffect(() => {
    setResult(undefined)
    typed.current = false
    if (route.body !== undefined) setText(route.body)
    else writeExample(stage).then((example) => { if (!typed.current) setText(writeLines(example)) })
  }, [route])

  const enter = (entered: string): void => {
    typed.current = true
    setText(entered)
  }
  const run = async (): Promise<void> => {
    setRunning(true)
    const isReading = isList(operations) && operations.every((operation) => memberOf(operation, 'verb') === 'select')
    const answer = isReading ? await service.send(path, text) : await confirmWrite(stage, { table: undefined, path, body: text })
    setRunning(false)
    if (answer === undefined) return
    setResult({ answer, body })
  }
  const add = (): void => {
    const found = document.table(table)
    if (found === undefined) return
    const list = isList(operations) ? operations : []
    const chosen = found.verbs.includes(verb) ? verb : found.verbs[0] as Verb
    writeNext(stage, { table: found, verb: chosen, operations: list }).then((next) => enter(writeLines(withMembers(body ?? {}, { operations: [...list, next] }))), () => {})
  }
  const verbs = VERBS.filter((each) => document.table(table)?.verbs.includes(each))

  return (
    <>
      <section class='request' aria-label='Request' onKeyDown={(event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run() } }}>
        <form class='query' onSubmit={(event) => { event.preventDefault(); run() }}>
          <div class='form'>
            <p>All operations happen, or none. <code>{'{"$ref": "/0/id"}'}</code> takes a value from an earlier result: here the <code>id</code> of the first one.</p>
            <fieldset>
              <legend>Add an operation</legend>
              <div class='filter'>
                <Choice label='Table of the operation' value={table} options={asOptions(document.tables.map(({ name }) => name))} onChoice={setTable} />
                <Choice label='Verb of the operation' value={verb} options={asOptions(verbs)} onChoice={(chosen) => setVerb(chosen as Verb)} />
                <button type='button' onClick={add}>Add</button>
              </div>
            </fieldset>
            {isList(operations) && <ol class='steps'>{operations.map((operation, index) => <li key={index}><b>{String(memberOf(operation, 'verb') as Json)} {String(memberOf(operation, 'table') as Json)}</b> <button type='button' class='quiet' aria-label={`Remove operation ${index + 1}`} onClick={() => enter(writeLines({ ...body, operations: operations.filter((each) => each !== operation) }))}><Icon name='close' /></button> <code>{describe(operation)}</code></li>)}</ol>}
            <p class='buttons'>
              <button class='main' title='Ctrl+Enter' aria-busy={isRunning}>Run …</button>
              <span class='muted'>You see what happens before anything is written.</span>
            </p>
          </div>
          <TextPanel path={path} table='' text={text} onText={enter} mistake={text !== '' && body === undefined ? 'A body is a JSON object.' : undefined} />
        </form>
      </section>
      <AnswerSection result={result} isRunning={isRunning} hint='The results are shown here.'>
        {({ answer, body: sent }) => (
          <>
            <div class='bar'>
              <span class='count' role='status'>{memberOf(answer.data, 'dryRun') === true ? 'Dry run: nothing was changed.' : 'Done.'}<span class='muted'> {Math.round(answer.took)} ms</span></span>
              <span class='spacer' />
              <ShownAs first='Results' shown={shown} onShown={setShown} />
            </div>
            {shown === 'json' ? <JsonText text={answer.text} /> : <OperationResults results={(memberOf(answer.data, 'results') ?? []) as readonly JsonObject[]} operations={(memberOf(sent, 'operations') ?? []) as readonly JsonObject[]} />}
          </>
        )}
      </AnswerSection>
    </>
  )
}

/** What an operation writes or selects, in one line. */
function describe (operation: Json): string {
  const shown = memberOf(operation, 'data') ?? memberOf(operation, 'filters')
  return shown === undefined ? '' : clip(writeLine(shown))
}

const clip = (line: string): string => line.length > 90 ? `${line.slice(0, 90)}…` : line
