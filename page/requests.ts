/** What the document of named requests says about those that the token may call, and their calls as text. */
import { curlGet, fetchGet, pythonGet, writeCurl, writeFetch, writeNamedCall, writePython } from './commands.ts'
import { isList, memberOf, parseJson, writeLine, type Json, type JsonObject } from './json.ts'
import { kindOf, plainText, type Column } from './table.ts'
import { TIMES } from './values.ts'

export interface Parameter {
  /** Of a list: its elements, or the members that can be chosen. */
  readonly column: Column
  readonly isList: boolean
  /** Whether it is a list that is entered as one value a line. */
  readonly hasLines: boolean
  /** Whether it takes `next` of the page before. */
  readonly isPosition: boolean
}

export interface NamedRequest {
  readonly name: string
  readonly path: string
  readonly description: string
  /** Whether it only selects, so that it is called by GET. */
  readonly isRead: boolean
  readonly parameters: readonly Parameter[]
}

/** `document`: of `GET {prefix}/requests/openapi.json`. */
export function readRequests (document: any): NamedRequest[] {
  return Object.entries<any>(document.paths).map(([path, { post, get }]) => {
    const { properties, required = [] } = post.requestBody.content['application/json'].schema
    const asText = new Set((get?.parameters ?? []).filter(({ content }: any) => content !== undefined).map(({ name }: any) => name))
    return {
      name: path.slice(path.lastIndexOf('/') + 1),
      path,
      description: plainText(post.description),
      isRead: get !== undefined,
      parameters: Object.entries<any>(properties).map(([name, schema]) => readParameter(name, schema, { isRequired: required.includes(name), isJson: asText.has(name), isRead: get !== undefined }))
    }
  })
}

function readParameter (name: string, schema: any, { isRequired, isJson, isRead }: { readonly isRequired: boolean, readonly isJson: boolean, readonly isRead: boolean }): Parameter {
  const hasMembers = schema.items?.enum !== undefined
  // what a write takes of members may be a SET, which can be empty
  const isList = schema.type === 'array' && !isJson && (isRead || !hasMembers)
  const hasLines = isList && !hasMembers
  const own = hasLines ? schema.items : schema
  const variants: any[] = own.anyOf ?? [own]
  const types = variants.flatMap(({ type }) => type ?? [])
  const first = (test: (variant: any) => unknown): any => variants.map(test).find(Boolean)
  const time = first(({ pattern }) => pattern !== undefined && TIMES.find(([, , example]) => isTime(new RegExp(pattern, 'u'), example)))
  const kind = hasMembers ? 'list' : first(({ format }) => format === 'decimal') === true ? 'decimal' : isJson ? 'json' : kindOf(types, types)
  const isBytes = first(({ contentEncoding, format }) => contentEncoding === 'base64' || format === 'byte') === true
  const isPosition = variants.length === 2 && variants[0].properties !== undefined && variants[1].type === 'null'
  return {
    isList,
    hasLines,
    isPosition,
    column: {
      ...NO_COLUMN,
      name,
      kind,
      type: time?.[2] === undefined ? isBytes ? 'bytes' : kind : time[1] === 'datetime-local' ? time[2].endsWith('Z') ? 'timestamp' : 'datetime' : time[1],
      isNullable: !isPosition && types.includes('null'),
      isRequired,
      default: 'default' in schema ? schema.default : schema['x-default'],
      members: first((variant) => variant.enum ?? variant.items?.enum)?.filter((member: unknown) => member !== null),
      description: plainText(schema.description),
      isLong: first(({ maxLength }) => maxLength > LONG) === true,
      isBytes
    }
  }
}

/** Whether a pattern is of such times: that of the texts of a character set takes any text. */
const isTime = (pattern: RegExp, example: string): boolean => pattern.test(example) && !pattern.test('text')

/** Texts that may have more characters get several lines. */
const LONG = 1000

const NO_COLUMN = {
  isKey: false, isGenerated: false, isAutoIncrement: false, isInsertable: true, isUpdatable: false, isSortable: false, operators: [], pathOperators: [], takesNow: { filters: false, data: false }, references: undefined
} as const

/** The query string of a GET: a text as it is, anything else as JSON text; a list once for each element. */
export function queryOf ({ parameters }: NamedRequest, values: JsonObject): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    const parameter = parameters.find(({ column }) => column.name === name)
    for (const each of parameter?.isList === true && isList(value) ? value : [value]) query.append(name, typeof each === 'string' && parameter?.column.kind !== 'json' ? each : writeLine(each))
  }
  return query.size === 0 ? '' : `?${query.toString()}`
}

/** Whether the values can be in a query string: it has no NULL, but as a position, and no empty list. */
export const fitsQuery = ({ isRead, parameters }: NamedRequest, values: JsonObject): boolean => isRead && parameters.every(({ column: { name, kind }, isList: isMany }) => {
  const value: Json | undefined = memberOf(values, name)
  return value === undefined || (isMany ? isList(value) && value.length > 0 && !value.includes(null) : value !== null || kind === 'json')
})

/** The call as a line for a shell, and in three languages. @throws SyntaxError if the text is no JSON */
export function writeRequest (url: string, request: NamedRequest, text: string): Readonly<Record<string, () => string>> {
  const values = (): JsonObject => parseJson(text) as JsonObject
  const isGet = (): boolean => fitsQuery(request, values())
  const address = (): string => url + request.path + queryOf(request, values())
  return {
    curl: () => isGet() ? curlGet(address()) : writeCurl(url + request.path, text),
    fetch: () => isGet() ? fetchGet(address()) : writeFetch(url + request.path, text),
    TypeScript: () => writeNamedCall({ url, name: request.name, parameters: values(), isGet: isGet() }),
    Python: () => isGet() ? pythonGet(address()) : writePython(url + request.path, text)
  }
}
