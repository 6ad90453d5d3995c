/** A request as a line for a shell, and for the typed client. */
import { Digits, isList, isObject, parseJson, withMembers, writeLine, type Json, type JsonObject } from './json.ts'

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The token is a variable: it is shown nowhere. `file`: the name of a CSV file that is the body. */
export function writeCurl (url: string, body: string, { accept, file }: { readonly accept?: string | undefined, readonly file?: string | undefined } = {}): string {
  const types = [`-H 'Content-Type: ${file === undefined ? 'application/json' : 'text/csv'}'`, ...accept === undefined ? [] : [`-H 'Accept: ${accept}'`]]
  // curl reads a name with `./` as a file, whatever it begins with
  const data = file === undefined ? `-d ${quote(body)}` : `-T ${quote(`./${file}`)}`
  return [`curl -X POST ${quote(url)}`, '-H "Authorization: Bearer $TOKEN"', ...types, data].join(' \\\n  ')
}

/** The same by GET: the parameters are in the address. */
export const curlGet = (url: string): string => `curl ${quote(url)} \\\n  -H "Authorization: Bearer $TOKEN"`

interface Accepted {
  /** What the answer is, if it is not JSON. */
  readonly accept?: string | undefined
}

/** The request of any program that has `fetch`. */
export function writeFetch (url: string, body: string, { accept }: Accepted = {}): string {
  const read = accept === undefined
    ? 'const { success, data, error } = await response.json()\nif (!success) throw new Error(error.message)'
    : 'if (!response.ok) throw new Error(await response.text())\nconst text = await response.text()'
  return `const response = await fetch('${url}', {
  method: 'POST',
  headers: { authorization: \`Bearer \${process.env.TOKEN}\`, 'content-type': 'application/json'${accept === undefined ? '' : `, accept: '${accept}'`} },
  body: ${writeString(writeLine(parseJson(body)))}
})
${read}`
}

export const fetchGet = (url: string): string => `const response = await fetch(${writeString(url)}, { headers: { authorization: \`Bearer \${process.env.TOKEN}\` } })
const { success, data, error } = await response.json()
if (!success) throw new Error(error.message)`

/** The request with what Python has. */
export function writePython (url: string, body: string, { accept }: Accepted = {}): string {
  return `import json, os, urllib.request

body = ${JSON.stringify(writeLine(parseJson(body)))}
request = urllib.request.Request('${url}', body.encode(), {
    'Authorization': f"Bearer {os.environ['TOKEN']}", 'Content-Type': 'application/json'${accept === undefined ? '' : `, 'Accept': '${accept}'`}
})
with urllib.request.urlopen(request) as response:
    ${accept === undefined ? "data = json.load(response)['data']" : 'text = response.read().decode()'}`
}

export const pythonGet = (url: string): string => `import json, os, urllib.request

request = urllib.request.Request(${writeString(url)}, headers={'Authorization': f"Bearer {os.environ['TOKEN']}"})
with urllib.request.urlopen(request) as response:
    data = json.load(response)['data']`

const IMPORT = "import { createClient } from 'fastify-row-query/client'"

export interface Called {
  readonly url: string
  readonly database: string
  readonly table: string
  readonly body: string
}

/** The call of `fastify-row-query/client`. @throws SyntaxError if the body is not JSON */
export function writeCall ({ url, database, table, body }: Called): string {
  const given = parseJson(body)
  const { verb, operations, ...fields } = isObject(given) ? given : {} as JsonObject
  const options = withMembers(fields, {})
  const second = Object.keys(options).length === 0 ? '' : `, ${writeSource(options, '')}`
  const call = table === ''
    ? `const { results } = await db.transaction(${writeSource(operations ?? [], '')}${second})`
    : `const { ${resultsOf(String(verb as Json), options)} } = await db.${String(verb as Json)}(${writeString(table)}${second})`
  return `${IMPORT}
import type { DB } from './${/^\w+$/.test(database) ? database : 'database'}.ts' // row-query types ${/^\w+$/.test(database) ? database : quote(database)}

const client = createClient<{ ${writeKey(database)}: DB }>({ url: ${writeString(url)}, token: process.env.TOKEN })
const db = client.database(${writeString(database)})

${call}`
}

interface NamedCall {
  readonly url: string
  readonly name: string
  readonly parameters: JsonObject
  readonly isGet: boolean
}

/** The call of a named request by the client. */
export function writeNamedCall ({ url, name, parameters, isGet }: NamedCall): string {
  return `${IMPORT}

const client = createClient({ url: ${writeString(url)}, token: process.env.TOKEN })

const data = await client.request(${writeString(name)}, ${writeSource(parameters, '')}${isGet ? ", { method: 'GET' }" : ''})`
}

function resultsOf (verb: string, fields: JsonObject): string {
  if (verb === 'select') return ['rows', ...'after' in fields || 'offset' in fields ? ['next'] : [], ...'total' in fields ? ['total'] : []].join(', ')
  const returned = 'returning' in fields ? ', rows' : ''
  const counted = 'onConflict' in fields ? 'inserted, updated, unchanged' : 'inserted, id'
  return verb === 'insert' ? `${counted}${'outcomes' in fields ? ', outcomes' : ''}${returned}` : `${verb}d${returned}`
}

const writeKey = (key: string): string => /^[A-Za-z_$][\w$]*$/.test(key) ? key : writeString(key)
const writeString = (text: string): string => `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

function writeSource (value: Json, indent: string): string {
  if (value instanceof Digits) return /^-?\d+$/.test(value.text) ? `${value.text}n` : value.text
  if (typeof value === 'string') return writeString(value)
  const inner = `${indent}  `
  const wrap = ([open, close]: readonly [string, string], parts: readonly string[]): string => {
    const line = parts.length === 0 ? open.trim() + close.trim() : `${open}${parts.join(', ')}${close}`
    return indent.length + line.length <= 80 && !line.includes('\n') ? line : `${open.trim()}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${close.trim()}`
  }
  if (isList(value)) return wrap(['[', ']'], value.map((item) => writeSource(item, inner)))
  if (isObject(value)) return wrap(['{ ', ' }'], Object.entries(value).map(([key, member]) => `${writeKey(key)}: ${writeSource(member, inner)}`))
  return JSON.stringify(value)
}
