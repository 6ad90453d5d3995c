/** Shows the columns of a table, the operators of their filters, and the fields of requests. All names and comments of the database are inserted as text. */
import { createReader, jsonOf } from './schemas.js'

const { document } = globalThis

/** @returns {HTMLElement} an element with text and elements in it */
export function element (name, properties = {}, ...children) {
  const created = Object.assign(document.createElement(name), properties)
  created.append(...children)
  return created
}

/** Fills `place` with the columns of the table at `path` of an OpenAPI document. */
export function showColumns (place, { components, paths }, path) {
  const { post } = paths[path]
  const { follow, variants, members, requestsOf } = createReader(components)
  const requests = requestsOf(post)
  const verbs = requests.flatMap((request) => request.get('verb')?.enum ?? [])
  const [rows] = variants(jsonOf(post.responses[200]).schema).map((answer) => follow(members(members(answer).get('data')).get('rows'))?.items).filter(Boolean)
  const row = follow(rows) ?? {}
  const insert = variants(requests.find((request) => request.get('verb')?.enum[0] === 'insert')?.get('data'))[0]
  const filters = members(requests.find((request) => request.has('filters'))?.get('filters'))
  const columns = new Map([...members(insert), ...members(row)])

  const operators = (column) => [...members(filters.get(column)).keys()].filter((key) => key.startsWith('$'))
  const lines = Array.from(columns, ([column, schema]) => element('tr', {},
    element('th', { scope: 'row' }, column),
    element('td', { className: 'type' }, schema['x-sql-type'] ?? ''),
    element('td', {}, notesOf(column, schema, { row, insert }).join(' · ')),
    element('td', { className: 'operators' }, operators(column).join(' '))
  ))
  const scrolled = element('div', { className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: 'Columns' },
    table(['Column', 'Type', 'Notes', 'Operators in filters'], lines))
  const count = columns.size === 1 ? '1 column' : `${columns.size} columns`
  place.replaceChildren(
    element('h2', {}, post.tags[0]),
    element('p', {}, `${count}. Verbs: `, element('b', {}, verbs.join(', '))),
    scrolled
  )
}

/** What the documents leave to the page. */
const TEXTS = new Map([
  ['verb', 'What to do with the rows.'],
  ['filters', 'Which rows: a value for each column, or an object with operators, such as {"id": {"$gte": 10}}. "$and", "$or" and "$not" combine filters.']
])

/** Fills `place` with the fields of a request to `path`, and the verbs that have them. */
export function showFields (place, { components, paths }, path) {
  const { follow, requestsOf } = createReader(components)
  const fields = new Map()
  for (const request of requestsOf(paths[path].post)) {
    for (const [name, schema] of request) {
      const field = fields.get(name) ?? { verbs: [], text: TEXTS.get(name) }
      field.verbs.push(...request.get('verb')?.enum ?? [])
      field.text ??= plain(schema.description ?? follow(schema)?.description)
      fields.set(name, field)
    }
  }
  const lines = Array.from(fields, ([name, { verbs, text = '' }]) => element('tr', {},
    element('th', { scope: 'row' }, name), element('td', {}, verbs.join(', ')), element('td', {}, text)))
  place.replaceChildren(element('h3', {}, 'Fields of a request'), element('div', { className: 'box' }, table(['Field', 'Verbs', 'Meaning'], lines)))
}

function table (titles, lines) {
  const head = element('tr', {}, ...titles.map((title) => element('th', { scope: 'col' }, title)))
  return element('table', {}, element('thead', {}, head), element('tbody', {}, ...lines))
}

/** The documents escape texts of the database for Markdown. */
const plain = (text) => text?.replaceAll('&lt;', '<').replaceAll(']\\', ']')

function notesOf (column, schema, { row, insert }) {
  const references = schema['x-references']
  return [
    row['x-primary-key']?.includes(column) && 'primary key',
    schema['x-auto-increment'] && 'auto-increment',
    schema.readOnly && 'generated',
    insert?.required?.includes(column) && 'required',
    isNullable(schema) && 'may be null',
    references && `→ ${references.table}.${references.column}`,
    plain(schema.description)
  ].filter(Boolean)
}

const isNullable = ({ type, anyOf = [] }) => [type, ...anyOf.map((member) => member.type)].flat().includes('null')
