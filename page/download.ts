/** Rows as a CSV file: the stream of the service, or what it answers in JSON. */
import { writeCsv } from './csv.ts'
import { isObject, memberOf, withMembers, writeLine, type JsonObject } from './json.ts'
import { readOrder } from './order.ts'
import type { Service } from './service.ts'

/** Rows of an answer in JSON at most. */
const MAX_ROWS = 1000

/** Saves the rows that a select finds, without its limit. Returns what to say. */
export async function downloadCsv (service: Service, { path, name, body, columns }: { path: string, name: string, body: JsonObject, columns: readonly string[] }): Promise<string> {
  // counts, and related rows that the order does not need, are not part of a stream
  const whole = withMembers(body, { limit: undefined, after: undefined, offset: undefined, total: undefined, include: membersOfOrder(body), expect: undefined })
  const streamed = await service.stream(path, writeLine(whole))
  if (streamed instanceof Blob) {
    save(streamed, `${name}.csv`)
    return `${name}.csv was saved`
  }
  const { data, failure } = streamed.failure === undefined ? await service.send(path, writeLine({ ...whole, limit: MAX_ROWS })) : streamed
  if (data === undefined) return failure?.message ?? ''
  const rows = data['rows'] as readonly JsonObject[]
  save(new Blob([writeCsv(columns.filter((column) => rows.every((row) => memberOf(row, column) !== undefined)), rows)], { type: 'text/csv' }), `${name}.csv`)
  return rows.length < MAX_ROWS ? `${name}.csv was saved` : `${name}.csv was saved with the first ${MAX_ROWS} rows`
}

/** The members of `include` that `orderBy` names: they are one row, without members of their own. */
function membersOfOrder (body: JsonObject): JsonObject | undefined {
  const { include } = body
  if (!isObject(include)) return undefined
  const named = new Set(readOrder(body).map(({ member }) => member))
  const members = Object.entries(include).filter(([name]) => named.has(name)).map(([name, member]) => [name, withMembers(member as JsonObject, { include: undefined })])
  return members.length === 0 ? undefined : Object.fromEntries(members)
}

export function save (content: Blob, name: string): void {
  const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(content), download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
