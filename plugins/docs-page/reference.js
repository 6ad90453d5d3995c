/** Shows one table in Swagger UI: only one, because Swagger UI takes seconds to render forty. */
const { SwaggerUIBundle, matchMedia, document } = globalThis

/** Swagger UI formats responses with JSON.parse, which rounds integers beyond 2^53. This keeps numbers as they are written. */
export function keepNumbers () {
  const { parse, rawJSON } = JSON
  if (rawJSON === undefined) return // browsers before 2025
  const keep = (_key, value, { source }) => typeof value === 'number' && String(value) !== source ? rawJSON(source) : value
  JSON.parse = (text, reviver = keep) => parse(text, reviver)
}

/** Sets the class that Swagger UI's dark style needs, and follows changes of the system. */
export function followColorScheme () {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
  dark.addEventListener('change', apply)
  apply()
}

/**
 * Shows the table at `path` of the document. `onBody` is called with the text of the body when it changes, `onAnswer` with the
 * status of each answer.
 */
export function showReference (place, { document, path, base, token, onBody, onAnswer }) {
  const setRequestBodyValue = (original) => (change) => {
    if (typeof change.value === 'string') onBody(change.value) // undefined at first
    return original(change)
  }
  const setResponse = (original) => (path, method, response) => {
    onAnswer(response?.status)
    return original(path, method, response)
  }
  const watch = () => ({ statePlugins: { oas3: { wrapActions: { setRequestBodyValue } }, spec: { wrapActions: { setResponse } } } })
  const ui = SwaggerUIBundle({
    spec: { ...onlyTable(document, path), servers: [{ url: base === '' ? '/' : base }] },
    domNode: place,
    plugins: [watch],
    docExpansion: 'full',
    defaultModelsExpandDepth: -1,
    deepLinking: false,
    tryItOutEnabled: true,
    validatorUrl: null,
    onComplete: () => { if (token !== '') ui.preauthorizeApiKey('token', token) }
  })
}

/** Reduces the document to the request of one path and the components that it refers to. Answers are shown when they arrive. */
function onlyTable ({ paths, components, tags, ...rest }, path) {
  const { post } = paths[path]
  // Swagger UI keeps tags in an object, which loses a table called `__proto__`
  const item = { post: { ...post, tags: ['rows'], responses: { 200: { description: post.responses[200].description } } } }
  const found = new Map()
  collect(item, components, found)
  const parts = { securitySchemes: components.securitySchemes, schemas: {} }
  for (const [kind, name, value] of found.values()) parts[kind][name] = value
  return { ...rest, paths: { [path]: item }, components: parts }
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
