/**
 * The script of the page: loads the documents with the entered token and shows the selected table in Swagger UI. It shows one
 * table at a time because Swagger UI takes seconds to render forty. The token is kept in memory only.
 */
const { document, fetch, location, SwaggerUIBundle } = globalThis

const byId = (id) => document.getElementById(id)
const [form, token, databases, tables, message, reference] = ['form', 'token', 'database', 'table', 'message', 'reference'].map(byId)

/** Prefix of the service. The page is at {base}/docs. */
const base = location.pathname.replace(/\/docs$/, '')

let shown

/** Swagger UI formats responses with JSON.parse, which rounds integers beyond 2^53. This keeps numbers as they are written. */
function keepNumbers () {
  const { parse, rawJSON } = JSON
  if (rawJSON === undefined) return // browsers before 2025
  const keep = (_key, value, { source }) => typeof value === 'number' && String(value) !== source ? rawJSON(source) : value
  JSON.parse = (text, reviver = keep) => parse(text, reviver)
}

keepNumbers()

form.addEventListener('submit', (event) => {
  event.preventDefault()
  attempt(openService)
})
databases.addEventListener('change', () => attempt(openDatabase))
tables.addEventListener('change', () => attempt(openTable))

async function attempt (action) {
  message.textContent = ''
  try {
    await action()
  } catch (error) {
    message.textContent = error.message
  }
}

async function load (path) {
  const response = await fetch(base + path, { headers: token.value === '' ? {} : { authorization: `Bearer ${token.value}` } })
  const body = await response.json()
  if (!response.ok) throw new Error(body.error.message)
  return body
}

async function openService () {
  clear()
  const { 'x-databases': names } = await load('/openapi.json')
  fill(databases, names.map((name) => [name, name]))
  if (names.length === 0) throw new Error('The token holds no permission on any database')
  await openDatabase()
}

async function openDatabase () {
  fill(tables, [])
  reference.replaceChildren()
  shown = await load(`/${encodeURIComponent(databases.value)}/openapi.json`)
  // tables first: the path of the database takes operations on all of them, and Swagger UI needs long to render it
  const entries = Object.entries(shown.paths).map(([path, { post }]) => [path, isTable(path) ? post.tags[0] : 'Several operations'])
  fill(tables, entries.sort(([a], [b]) => isTable(b) - isTable(a)))
  if (tables.options.length === 0) throw new Error('There is no table that the token holds a permission on')
  await openTable()
}

const isTable = (path) => path.split('/').length > 2

async function openTable () {
  // A new element: Swagger UI may still be rendering the previous table into the old one.
  const place = document.createElement('div')
  reference.replaceChildren(place)
  const ui = SwaggerUIBundle({
    spec: { ...onlyTable(shown, tables.value), servers: [{ url: base === '' ? '/' : base }] },
    domNode: place,
    docExpansion: 'full',
    defaultModelsExpandDepth: 0,
    deepLinking: false,
    tryItOutEnabled: true,
    validatorUrl: null,
    onComplete: () => ui.preauthorizeApiKey('token', token.value)
  })
}

/** Reduces the document to one path and the components that it refers to. */
function onlyTable ({ paths, components, tags, ...rest }, path) {
  const found = new Map()
  collect(paths[path], components, found)
  const parts = { securitySchemes: components.securitySchemes, schemas: {}, responses: {} }
  for (const [kind, name, value] of found.values()) parts[kind][name] = value
  return { ...rest, paths: { [path]: paths[path] }, components: parts }
}

/** Collects the components that a value refers to, directly or indirectly. */
function collect (value, components, found) {
  if (typeof value !== 'object' || value === null) return
  const [, kind, name] = /^#\/components\/(\w+)\/([\w.-]+)$/.exec(value.$ref) ?? []
  if (kind !== undefined && !found.has(value.$ref)) {
    found.set(value.$ref, [kind, name, components[kind][name]])
    collect(components[kind][name], components, found)
  }
  for (const part of Object.values(value)) collect(part, components, found)
}

function clear () {
  fill(databases, [])
  fill(tables, [])
  reference.replaceChildren()
}

function fill (list, entries) {
  list.replaceChildren(...entries.map(([value, text]) => Object.assign(document.createElement('option'), { value, textContent: text })))
  list.disabled = entries.length === 0
}
