/** The API of a table, or of several operations: columns, fields of requests, schemas, errors. It is read from the OpenAPI document. */
import { useState } from 'preact/hooks'
import { OPERATORS } from './filter-rows.ts'
import { save } from './download.ts'
import { useStage } from './stage.tsx'
import { plainText, schemaNameOf, type Table } from './table.ts'

/** What the documents leave to the page. */
const TEXTS: ReadonlyMap<string, string> = new Map([
  ['verb', 'What to do with the rows.'],
  ['filters', 'Which rows: a value for each column, or an object with operators, such as {"id": {"$gte": 10}}. "$and", "$or" and "$not" combine filters.']
])

export function Reference ({ path, table }: { path: string, table: Table | undefined }) {
  const { document: { document, name }, service } = useStage()
  const { post } = document.paths[path]
  const download = (): void => save(new Blob([JSON.stringify(document, null, 2)], { type: 'application/json' }), `${name}-openapi.json`)
  return (
    <div class='reference'>
      <p class='muted'><code>POST {service.base}{path}</code> · {plainText(post.summary)} · <button type='button' class='link' onClick={download}>Download the OpenAPI document</button></p>
      {table !== undefined && <><Columns table={table} /><Operators table={table} /></>}
      <Fields document={document} post={post} />
      <Schemas document={document} post={post} />
      <Errors document={document} post={post} />
    </div>
  )
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

function Columns ({ table }: { table: Table }) {
  return (
    <section>
      <h3>{plural(table.columns.length, 'column')}</h3>
      <div class='grid' tabIndex={0} role='region' aria-label='Columns'>
        <table>
          <thead><tr><th scope='col'>Column</th><th scope='col'>Type</th><th scope='col'>Notes</th><th scope='col'>Operators in filters</th></tr></thead>
          <tbody>
            {table.columns.map((column) => (
              <tr key={column.name}>
                <th scope='row'>{column.name}</th>
                <td><code>{column.type}</code></td>
                <td class='text'>{[column.isKey && 'primary key', column.isAutoIncrement && 'auto-increment', column.isGenerated && 'generated', column.isRequired && 'required', column.isNullable && 'may be NULL', column.default !== undefined && `default ${JSON.stringify(column.default)}`, column.references !== undefined && `→ ${column.references.table}.${column.references.column}`, column.description].filter(Boolean).join(' · ')}</td>
                <td class='text'><code>{column.operators.join(' ')}</code></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

/** Operators whose texts in the form say too little alone. */
const MEANINGS: ReadonlyMap<string, string> = new Map([['$null', 'true: is NULL, false: is not NULL'], ['$case', '"ignore" beside other operators: letter case makes no difference'], ['$at', 'values at paths inside JSON, such as {"$.size": {"$gt": 5}}']])

/** What the operators of the columns mean, and which columns have them. */
function Operators ({ table }: { table: Table }) {
  const names = [...new Set(table.columns.flatMap(({ operators }) => operators))]
  const sorted = [...[...OPERATORS.keys()].filter((name) => names.includes(name)), ...names.filter((name) => !OPERATORS.has(name))]
  return (
    <section>
      <h3>Operators in filters</h3>
      <div class='grid' tabIndex={0} role='region' aria-label='Operators'>
        <table>
          <thead><tr><th scope='col'>Operator</th><th scope='col'>Meaning</th><th scope='col'>Columns</th></tr></thead>
          <tbody>
            {sorted.map((name) => {
              const columns = table.columns.filter(({ operators }) => operators.includes(name))
              const meaning = MEANINGS.get(name) ?? OPERATORS.get(name) ?? ''
              return <tr key={name}><th scope='row'><code>{name}</code></th><td>{meaning}</td><td class='text'>{columns.length === table.columns.length ? 'all' : columns.map((column) => column.name).join(', ')}</td></tr>
            })}
          </tbody>
        </table>
      </div>
    </section>
  )
}

const REF = '#/components/schemas/'

/** The schemas of the verbs of a request. */
function requestsOf (document: any, post: any): any[] {
  const follow = (schema: any): any => schema?.$ref === undefined ? schema : follow(document.components.schemas[schema.$ref.slice(REF.length)])
  const schema = follow(post.requestBody.content['application/json'].schema)
  return (schema.oneOf ?? schema.anyOf ?? [schema]).map(follow)
}

function Fields ({ document, post }: { document: any, post: any }) {
  const fields = new Map<string, { verbs: string[], text: string }>()
  for (const request of requestsOf(document, post)) {
    for (const [name, schema] of Object.entries<any>(request.properties ?? {})) {
      const own = schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.slice(REF.length)]
      const field = fields.get(name) ?? { verbs: [], text: TEXTS.get(name) ?? plainText(schema.description ?? own?.description) }
      field.verbs.push(...request.properties.verb?.enum ?? [])
      fields.set(name, field)
    }
  }
  return (
    <section>
      <h3>Fields of a request</h3>
      <div class='grid' tabIndex={0} role='region' aria-label='Fields of a request'>
        <table>
          <thead><tr><th scope='col'>Field</th><th scope='col'>Verbs</th><th scope='col'>Meaning</th></tr></thead>
          <tbody>{Array.from(fields, ([name, { verbs, text }]) => <tr key={name}><th scope='row'>{name}</th><td>{verbs.join(', ')}</td><td class='text'>{text}</td></tr>)}</tbody>
        </table>
      </div>
    </section>
  )
}

/** Every schema that the request and its answer lead to. */
function schemasOf (document: any, post: any): string[] {
  const found = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, member] of Object.entries(value)) {
      if (key === '$ref' && typeof member === 'string' && member.startsWith(REF)) {
        const name = member.slice(REF.length)
        if (found.has(name)) continue
        found.add(name)
        visit(document.components.schemas[name])
      } else visit(member)
    }
  }
  visit([post.requestBody, post.responses[200]])
  const own = schemaNameOf(post)
  return [...found].sort((one, other) => Number(other.startsWith(own)) - Number(one.startsWith(own)))
}

/** Schemas that are listed at once: operations of a large database lead to all of them. */
const MAX_SCHEMAS = 60

function Schemas ({ document, post }: { document: any, post: any }) {
  const [isOpen, setOpen] = useState<ReadonlySet<string>>(new Set())
  const names = schemasOf(document, post)
  return (
    <section>
      <h3>Schemas</h3>
      {names.slice(0, MAX_SCHEMAS).map((name) => (
        <details key={name} onToggle={({ currentTarget }) => { if (currentTarget.open) setOpen(new Set([...isOpen, name])) }}>
          <summary><code>{name}</code> <span class='muted'>{plainText(document.components.schemas[name].description).slice(0, 100)}</span></summary>
          {isOpen.has(name) && <pre tabIndex={0}>{JSON.stringify(document.components.schemas[name], null, 2)}</pre>}
        </details>
      ))}
      {names.length > MAX_SCHEMAS && <p class='muted'>and {names.length - MAX_SCHEMAS} more in the OpenAPI document</p>}
    </section>
  )
}

function Errors ({ document, post }: { document: any, post: any }) {
  const errors = Object.entries<any>(post.responses).filter(([status]) => status !== '200').flatMap(([status, { $ref: ref = '' }]) => {
    const { content } = document.components.responses[ref.split('/').pop()] ?? {}
    return Object.entries<any>(content?.['application/json']?.examples ?? {}).map(([code, { value }]) => ({ status, code, message: String(value.error.message) }))
  })
  return (
    <section>
      <h3>Errors</h3>
      <div class='grid' tabIndex={0} role='region' aria-label='Errors'>
        <table>
          <thead><tr><th scope='col'>Status</th><th scope='col'>Code</th><th scope='col'>Message, for example</th></tr></thead>
          <tbody>{errors.map(({ status, code, message }) => <tr key={code}><td>{status}</td><th scope='row'><code>{code}</code></th><td class='text'>{message}</td></tr>)}</tbody>
        </table>
      </div>
    </section>
  )
}
