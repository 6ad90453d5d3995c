/** A named request: a form for its parameters, and its answer. */
import { useEffect, useId, useLayoutEffect, useState } from 'preact/hooks'
import { AnswerSection, describeWrite, JsonText, type Result, type Shown, ShownAs } from './answer-view.tsx'
import { readBody } from './bodies.ts'
import { Grid } from './grid.tsx'
import { Icon } from './icons.tsx'
import { isEqual, isList, isObject, memberOf, withMembers, writeLine, writeLines, type Json, type JsonObject } from './json.ts'
import { Empty } from './placeholder.tsx'
import { Field } from './record-form.tsx'
import { fitsQuery, queryOf, writeRequest, type NamedRequest, type Parameter } from './requests.ts'
import type { Route } from './route.ts'
import { columnsOf } from './rows.ts'
import type { Answer } from './service.ts'
import { useHold, useStage } from './stage.tsx'
import { TextPanel } from './text-panel.tsx'
import { fromText, toText } from './values.ts'

export function NamedRequestView ({ request, route }: { request: NamedRequest, route: Route }) {
  const { service, show } = useStage()
  const { path, parameters, isRead } = request
  const [text, setText] = useState(route.body ?? '{}')
  /** What was sent, or begun with. */
  const [kept, setKept] = useState(text)
  const [result, setResult] = useState<Result>()
  const [isRunning, setRunning] = useState(false)
  const [shown, setShown] = useState<Shown>('grid')
  const values = readBody(text)
  useHold(!isRead && text !== kept)
  useEffect(() => {
    setResult(undefined)
    setText(route.body ?? '{}')
    setKept(route.body ?? '{}')
  }, [route])

  const send = async (sent: string): Promise<void> => {
    setRunning(true)
    setKept(sent)
    const body = readBody(sent)
    const answer = body !== undefined && fitsQuery(request, body) ? await service.get(path, queryOf(request, body), sent) : await service.send(path, sent)
    setRunning(false)
    setResult({ answer, body })
  }
  const run = (): void => {
    if (isRead || values === undefined) send(text)
    else {
      const agree = (): void => {
        show(undefined)
        send(text)
      }
      show({
        title: `Call ${request.name}?`,
        content: (
          <>
            <p>It changes rows, and has no dry run.</p>
            <p class='buttons'><button type='button' onClick={() => show(undefined)}>Cancel</button><button type='button' class='main' autofocus onClick={agree}>Call</button></p>
          </>
        )
      })
    }
  }
  const position = parameters.find(({ isPosition }) => isPosition)?.column.name
  const next = memberOf(result?.answer.data, 'next')
  const goOn = position === undefined || !isObject(next)
    ? undefined
    : (): void => {
        const changed = writeLines(withMembers(result?.body ?? {}, { [position]: next }))
        setText(changed)
        send(changed)
      }
  const set = (name: string, value: Json | undefined): void => setText(writeLines(withMembers(values ?? {}, { [name]: value })))
  const isGet = values !== undefined && fitsQuery(request, values)

  return (
    <>
      <section class='request' aria-label='Request' onKeyDown={(event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run() } }}>
        <form class='query' onSubmit={(event) => { event.preventDefault(); run() }}>
          <div class='form'>
            {parameters.length === 0 && <p class='muted'>It has no parameters.</p>}
            <div class='record' role='group' aria-label='Parameters'>
              {parameters.map((parameter) => <ParameterInput key={parameter.column.name} {...parameter} value={memberOf(values, parameter.column.name)} onValue={(value) => set(parameter.column.name, value)} />)}
            </div>
            <p class='buttons'>
              <button class='main' title='Ctrl+Enter' aria-busy={isRunning}>{isRead ? 'Run' : 'Run …'}</button>
              <code class='muted'>{isGet ? 'GET' : 'POST'} {service.base}{path}</code>
            </p>
          </div>
          <TextPanel path={path} table='' text={text} onText={setText} mistake={values === undefined ? 'The parameters are a JSON object.' : undefined} writers={writeRequest(location.origin + service.base, request, text)} />
        </form>
      </section>
      <AnswerSection result={result} isRunning={isRunning} hint='The answer is shown here.'>
        {({ answer }) => (
          <>
            {shown === 'json' ? <JsonText text={answer.text} /> : <Results {...answer} />}
            <div class='bar'>
              {position !== undefined && <button type='button' aria-disabled={goOn === undefined} onClick={goOn}>Next<Icon name='right' /></button>}
              <span class='count' role='status'>{describeResult(answer.data ?? {})}<span class='muted took'> {Math.round(answer.took)} ms</span></span>
              <span class='spacer' />
              <ShownAs shown={shown} onShown={setShown} />
            </div>
          </>
        )}
      </AnswerSection>
    </>
  )
}

function describeResult (data: JsonObject): string {
  const rows = memberOf(data, 'rows')
  if (isList(memberOf(data, 'results'))) return 'Done.'
  return memberOf(data, 'count') !== undefined && isList(rows) ? `${rows.length.toLocaleString('en')} ${rows.length === 1 ? 'row' : 'rows'}` : describeWrite(data)
}

/** The rows, of several operations one after the other. */
function Results ({ data = {} }: Pick<Answer, 'data'>) {
  const results = memberOf(data, 'results')
  if (isList(results)) {
    return (
      <ol class='results'>
        {(results as readonly JsonObject[]).map(({ rows, next: _next, ...counts }, index) => (
          <li key={index}>
            <code>{Object.entries(counts).filter(([, value]) => value !== null).map(([key, value]) => `${key} ${writeLine(value)}`).join(' · ')}</code>
            <Rows rows={rows} label={`Rows of operation ${index + 1}`} />
          </li>
        ))}
      </ol>
    )
  }
  const rows = memberOf(data, 'rows')
  return isList(rows) && rows.length === 0 ? <Empty icon='search' title='No row.' /> : <Rows rows={rows} label='Rows of the answer' />
}

function Rows ({ rows, label }: { rows: Json | undefined, label: string }) {
  if (!isList(rows) || rows.length === 0) return null
  const found = rows as readonly JsonObject[]
  return <Grid label={label} rows={found} columns={columnsOf(undefined, undefined, found)} />
}

interface ParameterInputProps extends Parameter {
  readonly value: Json | undefined
  readonly onValue: (value: Json | undefined) => void
}

function ParameterInput (props: ParameterInputProps) {
  const { column, isList: isMany, hasLines, value, onValue } = props
  if (hasLines) return <ListField {...props} />
  const change = (given: Json | undefined): void => onValue(isMany && isList(given) && given.length === 0 ? undefined : given)
  return <Field column={column} verb='insert' given={{ value }} old={undefined} isEdited={false} isChanged={false} onValue={change} note={column.description} />
}

/** A list: one value a line. */
function ListField ({ column, value, onValue }: ParameterInputProps) {
  const id = useId()
  const { name, isRequired, description } = column
  const write = (list: Json | undefined): string => isList(list) ? list.map((each) => toText(column, each)).join('\n') : ''
  const read = (lines: string): Json | undefined => {
    const list = lines.split('\n').flatMap((line) => {
      const each = fromText(column, line)
      return each === undefined ? [] : [each]
    })
    return list.length === 0 ? undefined : list
  }
  const [lines, setLines] = useState(write(value))
  // what the text says already is left as it is typed
  useLayoutEffect(() => { if (!isEqual(read(lines), value)) setLines(write(value)) }, [value === undefined ? undefined : writeLine(value)])
  const enter = (entered: string): void => {
    setLines(entered)
    onValue(read(entered))
  }
  return (
    <div class='field'>
      <label for={id}>{name}{isRequired && <span class='required'> required</span>} <span class='type'>list of {column.type}</span></label>
      <textarea id={id} rows={2} spellcheck={false} placeholder={column.default === undefined ? 'one a line' : `default: ${JSON.stringify(column.default)}`} value={lines} onInput={({ currentTarget }) => enter(currentTarget.value)} />
      {description !== '' && <span class='muted'>{description}</span>}
    </div>
  )
}
