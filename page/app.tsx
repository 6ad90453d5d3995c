/** The page: the token, the open database, and what the address names. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { forgetKept, readKept, writeKept } from './kept.ts'
import { DatabaseMap, RECENT } from './map.tsx'
import { Operations } from './operations.tsx'
import { Skeleton } from './placeholder.tsx'
import { Reference } from './reference.tsx'
import { readRequests, type NamedRequest } from './requests.ts'
import { NamedRequestView } from './requests.tsx'
import { readRoute, writeRoute, type Route } from './route.ts'
import { createService, LoadError, type Service } from './service.ts'
import { openSharing, type Sharing } from './sharing.ts'
import { Sidebar } from './sidebar.tsx'
import { mayLeave, StageContext, type Action, type Dialog, type Stage } from './stage.tsx'
import { ColorScheme, SignIn, Start } from './start.tsx'
import { readDocument, type DatabaseDocument } from './table.ts'
import type { TabStorage } from './tab-storage.ts'
import { takeToken } from './token.ts'
import { Workbench } from './workbench.tsx'

interface AppProps {
  /** The prefix of the service. */
  readonly base: string
  readonly storage: TabStorage
  /** The token in the address with which the page was opened. */
  readonly offered: string | undefined
  /** Whether the documents need no token. */
  readonly isPublic: boolean
}

/** The service, after its first document was loaded. */
interface Opened { readonly service: Service, readonly token: string, readonly title: string, readonly databases: readonly string[], readonly requests: Promise<readonly NamedRequest[]> }

/** Of a token that may only call named requests. */
const NO_DATABASE = readDocument('', { paths: {}, tags: [] })
const NO_REQUESTS: readonly NamedRequest[] = []

const NAME = 'Row Query'

export function App ({ base, storage, offered, isPublic }: AppProps) {
  const [opened, setOpened] = useState<Opened>()
  const [document, setDocument] = useState<DatabaseDocument>()
  const [route, setRoute] = useState<Route>()
  const [requests, setRequests] = useState(NO_REQUESTS)
  const [message, setMessage] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [dialog, setDialog] = useState<Dialog>()
  const [said, setSaid] = useState<{ readonly text: string, readonly action?: Action | undefined }>({ text: '' })
  /** Whether new tabs get the token of this one. */
  const [isShared, setShared] = useState(false)
  const shared = useRef<string>(undefined)
  shared.current = isShared ? opened?.token : undefined
  const sharing = useRef<Sharing>(undefined)
  /** Counts what was opened: the last one wins. */
  const turn = useRef(0)
  /** The last token of an address, which is used where the token of the tab is not valid any more. */
  const spare = useRef(offered)

  const close = (): void => {
    turn.current++
    storage.clear()
    forgetKept(RECENT)
    setShared(false)
    setOpened(undefined)
    setDocument(undefined)
    setDialog(undefined)
  }

  const attempt = async (action: (isCurrent: () => boolean) => Promise<void>): Promise<void> => {
    const own = ++turn.current
    setBusy(true)
    setMessage('')
    try {
      await action(() => own === turn.current)
    } catch (error) {
      if (own !== turn.current) return
      if ((error as LoadError).status === 401) close()
      setMessage((error as Error).message)
    } finally {
      setBusy(false)
    }
  }

  const openService = (entered: string): Promise<void> => attempt(async (isCurrent) => {
    const token = entered.trim().replace(/^bearer\s+/i, '')
    setOpened(undefined)
    setDocument(undefined)
    if (/[^\x21-\x7e]/.test(token)) throw new Error('The token contains a space or a character that tokens do not have')
    const service = createService(base, token, storage.addEntry)
    const head = await service.load('/openapi.json').catch((error: LoadError) => error)
    if (!isCurrent()) return
    if (head instanceof LoadError) {
      const next = spare.current
      spare.current = undefined
      if (head.status !== 401 || next === undefined || next === token) throw head
      return await openService(next)
    }
    const { 'x-databases': databases, info } = head
    if (token !== '') storage.keepToken(token)
    // without waiting: a database that cannot be reached delays the document. A service without named requests has none
    const named: Opened['requests'] = service.load('/requests/openapi.json').then(readRequests).catch(() => NO_REQUESTS)
    if (databases.length === 0 && (await named).length === 0) throw new Error('The token holds no permission on any database')
    if (!isCurrent()) return
    const next = { service, token, title: info.title, databases, requests: named }
    setOpened(next)
    await openRoute(next, undefined, isCurrent)
  })

  /** Opens what the address names. What the token may not use is replaced by the first of its kind, and the message says so. */
  const openRoute = async ({ service, databases, requests }: Opened, current: DatabaseDocument | undefined, isCurrent: () => boolean): Promise<void> => {
    const asked = readRoute(location.hash)
    const isKnown = asked === undefined || databases.includes(asked.database) || (asked.call !== undefined && asked.database === '')
    const name = asked !== undefined && databases.includes(asked.database) ? asked.database : databases[0] ?? ''
    const found = current?.name === name ? current : name === '' ? NO_DATABASE : readDocument(name, await service.load(`/${encodeURIComponent(name)}/openapi.json`))
    const [first] = found.tables
    const callable = asked?.call !== undefined || first === undefined ? await requests : NO_REQUESTS
    if (!isCurrent()) return
    const call = callable.find((request) => request.name === asked?.call) ?? (first === undefined ? callable[0] : undefined)
    if (first === undefined && call === undefined) throw new Error('There is no table that the token holds a permission on')
    const missing = asked?.call !== undefined && asked.call !== call?.name ? `request "${asked.call}"` : !isKnown ? `database "${asked.database}"` : asked !== undefined && asked.table !== '' && found.table(asked.table) === undefined ? `table "${asked.table}"` : undefined
    if (missing !== undefined) setMessage(`There is no ${missing}, or the token holds no permission on it. These are the ones that there are.`)
    const isShown = asked !== undefined && missing === undefined && (asked.table !== '' || asked.view === 'map' || found.operationsPath !== undefined)
    // there is nothing to choose from
    const only = found.tables.length === 1 ? first?.name : undefined
    const next: Route = call !== undefined ? { database: name, table: '', view: 'call', call: call.name, body: asked?.call === call.name ? asked.body : undefined } : isShown && (only === undefined || asked.view !== 'map') ? asked : only === undefined ? { database: name, table: '', view: 'map' } : { database: name, table: only }
    if (next !== asked) history.replaceState(null, '', writeRoute(next))
    setDocument(found)
    setRoute(next)
    noteOpened(service, next)
    setDialog(undefined)
  }

  useEffect(() => {
    const channel = sharing.current = openSharing(base, { token: () => shared.current, onForget: () => { close(); setMessage('') } })
    const isOther = turn.current
    if (storage.token !== '' || isPublic) openService(storage.token)
    else channel.ask().then((token) => { if (token !== undefined && turn.current === isOther) openService(token) })
    return () => channel.end()
  }, [])

  useEffect(() => {
    const follow = ({ oldURL }: HashChangeEvent): void => {
      if (!mayLeave()) return history.replaceState(null, '', oldURL)
      const token = takeToken()
      if (token !== undefined && opened === undefined) openService(token)
      else if (opened !== undefined) attempt((isCurrent) => openRoute(opened, document, isCurrent))
    }
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [opened, document])

  useEffect(() => {
    let isOpen = true
    setRequests(NO_REQUESTS)
    opened?.requests.then((found) => { if (isOpen) setRequests(found) })
    return () => { isOpen = false }
  }, [opened])

  const title = opened?.title ?? NAME
  const table = route === undefined || document === undefined ? undefined : document.table(route.table)
  const request = requests.find(({ name }) => name === route?.call)
  const heading = request?.name ?? table?.name ?? (route?.view === 'map' ? route.database : 'Several operations')
  useEffect(() => { globalThis.document.title = opened === undefined || document === undefined ? NAME : `${heading} – ${title}` }, [heading, title, document])

  const stage = useMemo((): Stage | undefined => opened === undefined || document === undefined
    ? undefined
    : {
        service: opened.service,
        document,
        storage,
        requests,
        go: (next) => {
          if (!mayLeave()) return
          const hash = writeRoute(next)
          // a body that is too long for the address is not part of it
          if (location.hash !== hash) history.pushState(null, '', hash)
          setMessage('')
          setRoute({ ...next })
          noteOpened(opened.service, next)
          setDialog(undefined)
        },
        show: setDialog,
        say: (text, action) => setSaid({ text, action })
      }, [opened, document, requests])

  return (
    <>
      <header>
        <h1>{title}</h1>
        <span class='spacer' />
        <ColorScheme />
        <SignIn token={opened?.token ?? ''} isShared={isShared} onShared={setShared} onToken={(token) => { openService(token) }} onForget={() => { sharing.current?.forget(); close(); setMessage('') }} />
      </header>
      <p id='message' role='alert'>{message}</p>
      <main aria-busy={isBusy}>
        {stage === undefined || route === undefined || document === undefined || opened === undefined
          ? opened === undefined && !(isBusy && storage.token !== '') ? <Start /> : <Skeleton lines={12} />
          : (
            <StageContext.Provider value={stage}>
              <Sidebar databases={opened.databases} document={document} route={route} onDatabase={(name) => { location.hash = `#/${encodeURIComponent(name)}` }} />
              <div class='content' key={`${document.name}/${route.table}`}>
                <div class='sheet'>
                  <Heading heading={heading} comment={[...table?.isView === true ? ['view'] : [], table?.comment ?? request?.description ?? ''].filter((text) => text !== '').join(' · ')} route={route} onView={(view) => stage.go({ database: document.name, table: route.table, view })} />
                  {route.view === 'call'
                    ? request !== undefined && <NamedRequestView key={request.name} request={request} route={route} />
                    : route.view === 'map'
                      ? <DatabaseMap key={document.name} />
                      : route.view === 'reference'
                        ? <Reference path={table?.path ?? document.operationsPath as string} table={table} />
                        : table !== undefined ? <Workbench key={table.path} table={table} route={route} /> : <Operations path={document.operationsPath as string} route={route} />}
                </div>
              </div>
              <DialogView dialog={dialog} onClose={() => setDialog(undefined)} />
            </StageContext.Provider>
            )}
      </main>
      <Toast said={said} onEnd={() => setSaid({ text: '' })} />
    </>
  )
}

/** Tables that are remembered. */
const MAX_RECENT = 5

/** Remembers the names of the tables that were opened last, in this browser. */
function noteOpened ({ base }: Service, { database, table }: Route): void {
  if (table === '') return
  const kept = readKept(RECENT + base + database)
  writeKept(RECENT + base + database, [table, ...(Array.isArray(kept) ? kept as string[] : []).filter((name) => name !== table)].slice(0, MAX_RECENT))
}

function Heading ({ heading, comment, route, onView }: { heading: string, comment: string, route: Route, onView: (view: Route['view']) => void }) {
  return (
    <div class='heading'>
      <h2>{heading}</h2>
      {comment !== '' && <span class='muted'>{comment}</span>}
      <span class='spacer' />
      {route.view !== 'map' && route.view !== 'call' && (
        <span class='segments' role='group' aria-label='Show'>
          <button type='button' aria-pressed={route.view === undefined} onClick={() => onView(undefined)}>{route.table === '' ? 'Requests' : 'Rows'}</button>
          <button type='button' aria-pressed={route.view === 'reference'} onClick={() => onView('reference')}>Reference</button>
        </span>
      )}
    </div>
  )
}

function DialogView ({ dialog, onClose }: { dialog: Dialog | undefined, onClose: () => void }) {
  const element = useRef<HTMLDialogElement>(null)
  // at once: until a dialog is closed, nothing else takes an input
  useLayoutEffect(() => {
    if (dialog === undefined) return undefined
    element.current?.showModal()
    return () => {
      element.current?.close()
      dialog.onClose?.()
    }
  }, [dialog])
  return (
    <dialog ref={element} aria-labelledby='dialog-title' onClose={(event) => { if (event.target === event.currentTarget && !event.currentTarget.open) onClose() }} onClick={(event) => { if (event.target === event.currentTarget) event.currentTarget.close() }}>
      {dialog !== undefined && <div class='dialog'><h2 id='dialog-title'>{dialog.title}</h2>{dialog.content}</div>}
    </dialog>
  )
}

/** How long a message stays, in milliseconds: longer if something can be done about it. */
const SHOWN = 5000
const SHOWN_WITH_ACTION = 12_000

function Toast ({ said: { text, action }, onEnd }: { said: { readonly text: string, readonly action?: Action | undefined }, onEnd: () => void }) {
  useEffect(() => {
    if (text === '') return undefined
    const timer = setTimeout(onEnd, action === undefined ? SHOWN : SHOWN_WITH_ACTION)
    return () => clearTimeout(timer)
  }, [text, action])
  return (
    <div class={text === '' ? 'toast' : 'toast shown'}>
      <span role='status'>{text}</span>
      {action !== undefined && <button type='button' onClick={() => { onEnd(); action.run() }}>{action.label}</button>}
    </div>
  )
}
