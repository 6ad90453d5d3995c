/** The request as text: its body, as a line for a shell and for the typed client, and the requests of this tab. */
import { useEffect, useState } from 'preact/hooks'
import { readBody, verbOf } from './bodies.ts'
import { copy } from './cell.tsx'
import { writeCall, writeCurl, writeFetch, writePython } from './commands.ts'
import { Icon } from './icons.tsx'
import { memberOf } from './json.ts'
import { Empty } from './placeholder.tsx'
import { writeRequest } from './requests.ts'
import { readRoute, type Route } from './route.ts'
import { CSV } from './service.ts'
import { useStage } from './stage.tsx'
import type { Entry } from './tab-storage.ts'

interface TextPanelProps {
  readonly path: string
  readonly table: string
  readonly text: string
  readonly onText: (text: string) => void
  /** Why the text is no body. */
  readonly mistake: string | undefined
  /** The request in each language, if it is a named one. */
  readonly writers?: Readonly<Record<string, () => string>>
}

/** As in the style: there the text is below the form. */
export const isNarrow = (): boolean => matchMedia('(max-width: 62rem)').matches

const TABS = ['Body', 'curl', 'fetch', 'TypeScript', 'Python', 'History'] as const

export function TextPanel ({ path, table, text, onText, mistake, writers }: TextPanelProps) {
  const { service, document, say } = useStage()
  // on a small screen the text is one click away
  const [tab, setTab] = useState<typeof TABS[number] | undefined>(isNarrow() ? undefined : 'Body')
  const url = location.origin + service.base
  const writer = writers?.[tab ?? '']
  const shown = writer !== undefined ? call(writer) : tab === 'curl' ? writeCurl(url + path, text) : tab === 'fetch' ? call(() => writeFetch(url + path, text)) : tab === 'Python' ? call(() => writePython(url + path, text)) : tab === 'TypeScript' ? call(() => writeCall({ url, database: document.name, table, body: text })) : text
  return (
    <div class='text-panel'>
      <div class='tabs'>
        <div role='tablist' aria-label='The request as'>{TABS.map((name) => <button key={name} type='button' role='tab' aria-selected={name === tab} onClick={() => setTab(name === tab && isNarrow() ? undefined : name)}>{name}</button>)}</div>
        <span class='spacer' />
        {tab !== undefined && tab !== 'History' && <button type='button' class='quiet' onClick={() => { copy(shown).then(say) }}>Copy</button>}
      </div>
      {tab === 'Body'
        ? (
          <>
            <textarea class='body' aria-label='Request body' aria-invalid={mistake !== undefined} spellcheck={false} rows={Math.min(18, Math.max(9, text.split('\n').length + 1))} value={text} onInput={({ currentTarget }) => onText(currentTarget.value)} />
            {mistake !== undefined && <p class='mistake'>{mistake}</p>}
          </>
          )
        : tab === 'History'
          ? <History />
          : tab !== undefined && <pre class='command' tabIndex={0} aria-label={tab}>{shown}</pre>}
      {tab === 'curl' && <p class='muted'>Set the token first, so that the shell does not remember it: <code>read -rs TOKEN; export TOKEN</code></p>}
    </div>
  )
}

function call (write: () => string): string {
  try {
    return write()
  } catch {
    return 'The body is not JSON.'
  }
}

/** Every request that was sent for the user, also of opened rows, dry runs, exports and imports. */
function History () {
  const { storage } = useStage()
  const [entries, setEntries] = useState(storage.entries)
  useEffect(() => storage.watch(() => setEntries(storage.entries())), [])
  if (entries.length === 0) return <Empty icon='bolt' title='No requests yet.'><p>Those of this tab are listed here until it is closed.</p></Empty>
  return <ul class='history'>{entries.map((entry) => <HistoryEntry key={JSON.stringify([entry.accept, entry.path, entry.body, entry.file])} {...entry} />)}</ul>
}

function HistoryEntry ({ path, body, status, accept, file, at }: Entry) {
  const { service, document, requests, go, say } = useStage()
  const [isOpen, setOpen] = useState(false)
  const [language, setLanguage] = useState('curl')
  const request = requests.find((each) => each.path === path)
  const route: Route | undefined = request === undefined ? readRoute(path) : { database: document.name, table: '', view: 'call', call: request.name }
  if (route === undefined) return null
  const given = readBody(body)
  const isDry = request === undefined && (memberOf(given, 'dryRun') === true || (file !== undefined && /[?&]dryRun=/.test(path)))
  const notes = [...isDry ? ['dry run'] : [], ...accept === CSV ? ['export'] : []]
  const name = [request !== undefined ? request.name : route.table === '' ? 'several operations' : `${file === undefined ? verbOf(given) : 'import'} ${route.table}`, ...notes].join(', ')
  const url = location.origin + service.base
  const options = { accept: accept === CSV ? CSV : undefined }
  const ofBody: Readonly<Record<string, () => string>> = {
    curl: () => writeCurl(url + path, body, { ...options, file }),
    // a file is sent by its name
    ...file === undefined && {
      fetch: () => call(() => writeFetch(url + path, body, options)),
      ...accept !== CSV && { TypeScript: () => call(() => writeCall({ url, database: document.name, table: route.table, body })) },
      Python: () => call(() => writePython(url + path, body, options))
    }
  }
  const writers = request === undefined ? ofBody : writeRequest(url, request, body)
  const command = call(writers[language] ?? (() => ''))
  return (
    <li>
      <div class='buttons'>
        <button type='button' onClick={() => go(file === undefined ? { ...route, body } : route)}>
          <span><b>{name}</b> <span class={status >= 200 && status < 300 ? 'muted' : 'bad'}>{status === 0 ? 'no answer' : status}</span> <span class='muted'>{new Date(at).toLocaleTimeString()}</span></span>
          <code>{(file === undefined ? body : [file, ...Array.from(new URLSearchParams(path.split('?')[1]), (option) => option.join('='))].join(' ')).replaceAll(/\s+/g, ' ').slice(0, 160)}</code>
        </button>
        <button type='button' class='quiet' aria-expanded={isOpen} aria-label={`Code of ${name}`} title='As curl, fetch, TypeScript and Python' onClick={() => setOpen(!isOpen)}><Icon name='code' /></button>
      </div>
      {isOpen && (
        <div class='code'>
          <div class='tabs'>
            <div role='tablist' aria-label={`${name} as`}>{Object.keys(writers).map((each) => <button key={each} type='button' role='tab' aria-selected={each === language} onClick={() => setLanguage(each)}>{each}</button>)}</div>
            <span class='spacer' />
            <button type='button' class='quiet' onClick={() => { copy(command).then(say) }}>Copy</button>
          </div>
          <pre class='command' tabIndex={0} aria-label={`${name} as ${language}`}>{command}</pre>
        </div>
      )}
    </li>
  )
}
