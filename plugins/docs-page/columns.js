/** Shows the columns of a table and the operators of their filters. All names and comments of the database are inserted as text. */
const { document } = globalThis

/** @returns {HTMLElement} an element with text and elements in it */
export function element (name, properties = {}, ...children) {
  const created = Object.assign(document.createElement(name), properties)
  created.append(...children)
  return created
}

/** Fills `place` with the columns of the table at `path` of an OpenAPI document. */
export function showColumns (place, { components, paths }, path) {
  const { requestBody, responses, tags: [name] } = paths[path].post
  const follow = (schema) => schema?.$ref === undefined ? schema : follow(components.schemas[schema.$ref.split('/').pop()])
  const variants = (schema) => [follow(schema)].flatMap((found) => found?.oneOf ?? found?.anyOf ?? [found]).map(follow)
  /** Members of an object schema, or of the object in a union. A Map, because a column may be called `constructor`. */
  const members = (schema) => new Map(variants(schema).flatMap((variant) => Object.entries(variant?.properties ?? {})))
  const jsonOf = ({ content }) => content['application/json'].schema

  const requests = variants(jsonOf(requestBody)).map(members)
  const verbs = requests.flatMap((request) => request.get('verb')?.enum ?? [])
  const [rows] = variants(jsonOf(responses[200])).map((answer) => follow(members(members(answer).get('data')).get('rows'))?.items).filter(Boolean)
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
  const head = ['Column', 'Type', 'Notes', 'Operators in filters'].map((text) => element('th', { scope: 'col' }, text))
  const scrolled = element('div', { className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: 'Columns' },
    element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...lines)))
  const count = columns.size === 1 ? '1 column' : `${columns.size} columns`
  place.replaceChildren(
    element('h2', {}, name),
    element('p', {}, `${count}. Verbs: `, element('b', {}, verbs.join(', '))),
    scrolled
  )
}

function notesOf (column, schema, { row, insert }) {
  const references = schema['x-references']
  return [
    row['x-primary-key']?.includes(column) && 'primary key',
    schema['x-auto-increment'] && 'auto-increment',
    schema.readOnly && 'generated',
    insert?.required?.includes(column) && 'required',
    isNullable(schema) && 'may be null',
    references && `→ ${references.table}.${references.column}`,
    // the document escapes these texts for Markdown
    schema.description?.replaceAll('&lt;', '<').replaceAll(']\\', ']')
  ].filter(Boolean)
}

const isNullable = ({ type, anyOf = [] }) => [type, ...anyOf.map((member) => member.type)].flat().includes('null')
