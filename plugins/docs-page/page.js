/**
 * The script of the page: loads the documents with the entered token and shows the table that the fragment of the address names, as in
 * `docs#/shop/orders`. The token is kept in `sessionStorage`: for one tab, until it is closed.
 */
import { element, showColumns, showFields } from './columns.js'
import { followColorScheme, keepNumbers, showReference } from './reference.js'

const { document, fetch, location, history, navigator, getSelection, requestAnimationFrame, AbortController } = globalThis

const byId = (id) => document.getElementById(id)
const [title, form, token, forget, choice, databases, tables, message, status] = ['title', 'form', 'token', 'forget', 'choice', 'database', 'table', 'message', 'status'].map(byId)
const [start, columns, reference, curl, command, copy, fields] = ['start', 'columns', 'reference', 'curl', 'command', 'copy', 'fields'].map(byId)

/** Prefix of the service. The page is at {base}/docs. */
const base = location.pathname.replace(/\/docs$/, '')
const STORED = `row-query token of ${base}`

/** The token that the documents were opened with. */
let used = ''
/** The document of the selected database, and its name. */
let opened = { name: undefined, document: undefined }
/** Ends the requests of an earlier action: the last action wins. */
let running = new AbortController()

keepNumbers()
followColorScheme()
const storage = findStorage()

form.addEventListener('submit', (event) => {
  event.preventDefault()
  attempt(() => openService(token.value))
})
forget.addEventListener('click', () => {
  close()
  storage?.removeItem(STORED)
  token.value = ''
  token.focus()
})
databases.addEventListener('change', () => go(`/${encodeURIComponent(databases.value)}/`))
tables.addEventListener('change', () => go(tables.value))
globalThis.addEventListener('hashchange', () => { if (!choice.hidden) attempt(openAddress) })
copy.addEventListener('click', copyCommand)

const stored = storage?.getItem(STORED) ?? ''
if (stored !== '' || document.body.dataset.documents === 'public') {
  token.value = stored
  attempt(() => openService(token.value))
} else {
  token.focus()
}

/** Storage of this tab, unless the browser refuses it. */
function findStorage () {
  try {
    return globalThis.sessionStorage
  } catch {}
}

async function attempt (action) {
  running.abort()
  const { signal } = running = new AbortController()
  message.textContent = ''
  status.textContent = ''
  document.body.ariaBusy = 'true'
  try {
    await action()
  } catch (error) {
    if (!signal.aborted) message.textContent = error.message
  } finally {
    if (!signal.aborted) document.body.ariaBusy = null
  }
}

/** GET {base}{path} with the token. Throws with the message of the service, or a reason why there is none. */
async function load (path) {
  const { signal } = running
  const headers = used === '' ? {} : { authorization: `Bearer ${used}` }
  const response = await fetch(base + path, { headers, signal }).catch(() => { throw new Error('The service cannot be reached') })
  const body = await response.json().catch(() => undefined)
  signal.throwIfAborted()
  if (response.ok && body !== undefined) return body
  if (response.status === 401) {
    close()
    storage?.removeItem(STORED)
  }
  throw new Error(body?.error?.message ?? `The answer with status ${response.status} is not one of the service`)
}

async function openService (entered) {
  close()
  used = entered.trim().replace(/^bearer\s+/i, '')
  if (/[^\x21-\x7e]/.test(used)) throw new Error('The token contains a space or a character that tokens do not have')
  const { 'x-databases': names, info } = await load('/openapi.json')
  title.textContent = info.title
  if (used !== '') storage?.setItem(STORED, used)
  fill(databases, names.map((name) => [name, name]))
  if (names.length === 0) throw new Error('The token holds no permission on any database')
  forget.hidden = used === ''
  choice.hidden = false
  start.hidden = true
  await openAddress()
}

function go (path) {
  if (location.hash === `#${path}`) attempt(openAddress)
  else location.hash = path // raises hashchange
}

/**
 * Opens what the fragment of the address names: `#/shop/orders`; the first table of a database for `#/shop/`. What the token may not
 * use is replaced by the first of its kind, and the message says so.
 */
async function openAddress () {
  const { path, name, table } = readAddress()
  clear()
  const hasDatabase = select(databases, name, 'database')
  if (opened.name !== databases.value) {
    fill(tables, [])
    opened = { name: databases.value, document: await load(`/${encodeURIComponent(databases.value)}/openapi.json`) }
  }
  // tables first: the path of the database takes operations on all of them
  const entries = Object.entries(opened.document.paths).map(([path, { post }]) => [path, isTable(path) ? post.tags[0] : 'Several operations'])
  fill(tables, entries.sort(([a], [b]) => isTable(b) - isTable(a)))
  if (entries.length === 0) throw new Error('There is no table that the token holds a permission on')
  const isNamed = hasDatabase && path !== '' && !path.endsWith('/')
  const hasTable = select(tables, isNamed ? path : '', 'table', table || path)
  if (hasDatabase && hasTable) history.replaceState(null, '', `#${tables.value}`)
  openTable(tables.value)
}

function readAddress () {
  const path = location.hash.slice(1)
  try {
    const [, name = '', table = ''] = path.split('/').map((part) => decodeURIComponent(part))
    return { path, name, table }
  } catch { // a % that begins no character
    return { path: '', name: '', table: '' }
  }
}

/** Selects an entry of a list. If it is missing, selects the first one and returns false; an empty value means the first one. */
function select (list, value, kind, shown = value) {
  list.value = value
  if (value !== '' && list.value === value) return true
  list.selectedIndex = 0
  if (value !== '') message.textContent = `There is no ${kind} "${shown}", or the token holds no permission on it. Another one is shown.`
  return value === ''
}

const isTable = (path) => path.split('/').length > 2

function openTable (path) {
  document.title = `${tables.selectedOptions[0].textContent} – ${title.textContent}`
  columns.hidden = !isTable(path)
  if (isTable(path)) showColumns(columns, opened.document, path)
  fields.hidden = false
  showFields(fields, opened.document, path)
  // A new element: Swagger UI may still be rendering the previous table into the old one.
  const place = element('div')
  const isCurrent = () => place.isConnected
  reference.replaceChildren(place)
  showReference(place, {
    document: opened.document,
    path,
    base,
    token: used,
    onBody: (body) => { if (isCurrent()) showCommand(path, body) },
    onAnswer: (code) => {
      if (!isCurrent()) return
      status.textContent = code === undefined ? 'No answer' : `Answer: ${code}`
      requestAnimationFrame(() => place.querySelector('.responses-wrapper')?.scrollIntoView({ block: 'nearest' }))
    }
  })
}

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`

function showCommand (path, body) {
  command.textContent = [
    `curl -X POST ${quote(location.origin + base + path)}`,
    '-H "Authorization: Bearer $TOKEN"',
    "-H 'Content-Type: application/json'",
    `-d ${quote(body)}`
  ].join(' \\\n  ')
  curl.hidden = false
}

async function copyCommand () {
  try {
    await navigator.clipboard.writeText(command.textContent)
    status.textContent = 'Copied'
  } catch { // only pages of https and of this machine may write to the clipboard
    getSelection().selectAllChildren(command)
    status.textContent = 'Selected: copy it with the keyboard'
  }
}

/** Shows the first screen. */
function close () {
  used = ''
  opened = { name: undefined, document: undefined }
  clear()
  choice.hidden = true
  forget.hidden = true
  start.hidden = false
  document.title = 'Row Query'
}

function clear () {
  reference.replaceChildren()
  for (const section of [columns, curl, fields]) section.hidden = true
}

function fill (list, entries) {
  list.replaceChildren(...entries.map(([value, text]) => element('option', { value }, text)))
}
