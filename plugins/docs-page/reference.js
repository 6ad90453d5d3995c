/** Shows the request of one table in Swagger UI. */
import { jsonOf } from './schemas.js'

const { SwaggerUIBundle, matchMedia, document, requestAnimationFrame } = globalThis

/** Longest text, in characters, that is shown in colors: they take an element for each word, and half a minute for 600,000 characters. */
const HIGHLIGHTED = 100_000

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
    requestAnimationFrame(() => nameControls(place))
    return original(change)
  }
  const setResponse = (original) => (path, method, response) => {
    onAnswer(response?.status)
    return original(path, method, response)
  }
  const SyntaxHighlighter = (Original, { React, getComponent }) => (props) =>
    React.createElement(props.children.length > HIGHLIGHTED ? getComponent('PlainTextViewer') : Original, props)
  const adapt = () => ({
    statePlugins: { oas3: { wrapActions: { setRequestBodyValue } }, spec: { wrapActions: { setResponse } } },
    wrapComponents: { SyntaxHighlighter }
  })
  const ui = SwaggerUIBundle({
    spec: { ...onlyTable(document, path), servers: [{ url: base === '' ? '/' : base }] },
    domNode: place,
    plugins: [adapt],
    docExpansion: 'full',
    defaultModelsExpandDepth: -1,
    deepLinking: false,
    tryItOutEnabled: true,
    validatorUrl: null,
    onComplete: () => { if (token !== '') ui.preauthorizeApiKey('token', token) }
  })
}

/** Gives names for screen readers to the controls that Swagger UI leaves without one. */
function nameControls (place) {
  for (const [selector, name] of [['textarea', 'Request body'], ['.examples-select select', 'Example']]) {
    place.querySelector(selector)?.setAttribute('aria-label', name)
  }
}

/**
 * Reduces the document to one path without schemas, which the page shows itself: Swagger UI resolves those of a table with 500 columns
 * for half a minute.
 */
function onlyTable ({ paths, components, tags, ...rest }, path) {
  const { post } = paths[path]
  const operation = {
    ...post,
    tags: ['rows'], // Swagger UI keeps tags in an object, which loses a table called `__proto__`
    requestBody: { required: true, content: { 'application/json': { examples: jsonOf(post.requestBody).examples, schema: {} } } },
    responses: { 200: { description: post.responses[200].description } }
  }
  return { ...rest, paths: { [path]: { post: operation } }, components: { securitySchemes: components.securitySchemes } }
}
