import { bodyTooLarge, type ServiceError, withDetails, at, invalidBody, invalidJson } from '../errors.ts'
import { findSyntaxError, isObject, lookOver, parseExactJson, repeatsKey } from '../json/exact-json.ts'

export interface RowParser<Row = unknown> {
  /** The last call has completed it. */
  readonly row: Row | undefined
  /** No row has begun. */
  readonly isBetween: boolean
  /** The current line, from 1, as an editor counts. */
  readonly line: number
  /** The first line of `row`, or of the row that has begun. */
  readonly rowLine: number
  readonly lastLine: number
  /**
   * Reads to the end of a row or of another line, or of the text. Returns the position after that. @throws
   * INVALID_BODY, INVALID_JSON
   */
  read (text: string, from: number): number
  /** Ends the text, which may complete a row. @throws as `read` */
  end (): void
}

export function atLine (error: ServiceError, line: number): ServiceError {
  const { details, message } = error
  return withDetails(error, ...(details.length === 0 ? [{ path: '', message }] : details).map((detail) => ({
    ...detail,
    line
  })))
}

/** The most items of lists and objects in one JSON text: each takes a hundred bytes, and its text three. */
const MAX_ITEMS = 1_000_000
/** The most names in one JSON text: in objects that differ in their names, each takes three hundred bytes. */
const MAX_NAMES = 250_000

/** Refuses JSON whose value would take much more memory than its bytes. @throws BODY_TOO_LARGE */
export function lookOverValue (text: string): ReturnType<typeof lookOver> {
  const overview = lookOver(text)
  if (overview.items > MAX_ITEMS) throw tooMany(MAX_ITEMS, 'items of lists and objects')
  if (overview.pairs > MAX_NAMES) throw tooMany(MAX_NAMES, 'names')
  return overview
}

function tooMany (most: number, what: string): ServiceError {
  const error = bodyTooLarge()
  error.message = `A JSON text has more than ${most} ${what}`
  return error
}

// NDJSON, in parts of any size.

export type JsonRow = Readonly<Record<string, unknown>>

const BLANK = /^[ \t\r]*$/

export class NdjsonParser implements RowParser<JsonRow> {
  #text = ''
  #count = 0
  row: JsonRow | undefined
  line = 1
  rowLine = 1
  lastLine = 0

  get isBetween (): boolean {
    return this.#text === ''
  }

  read (text: string, from: number): number {
    this.row = undefined
    const end = text.indexOf('\n', from)
    this.#text += text.slice(from, end === -1 ? undefined : end)
    if (end === -1) return text.length
    this.#endLine()
    return end + 1
  }

  end (): void {
    this.row = undefined
    this.#endLine()
  }

  #endLine (): void {
    const text = this.#text
    this.#text = ''
    this.rowLine = this.lastLine = this.line
    if (!BLANK.test(text)) {
      this.row = this.#parse(text)
      this.#count++
    }
    this.line++
  }

  /** @throws INVALID_JSON, INVALID_BODY */
  #parse (text: string): JsonRow {
    const path = ['data', this.#count]
    let overview: ReturnType<typeof lookOver>
    try {
      overview = lookOverValue(text)
    } catch (error) {
      throw atLine(at(path, error as ServiceError), this.line)
    }
    let value: unknown
    let isRepeated: boolean
    try {
      value = parseExactJson(text, overview)
      isRepeated = repeatsKey(overview, value)
    } catch (error) {
      const place = error instanceof RangeError ? undefined : findSyntaxError(text)?.replace(/^line \d+ /, '')
      const reason = place === undefined ? 'it cannot be parsed' : `error at ${place}`
      throw atLine(at(path, invalidJson(`line ${this.line}: ${reason}`)), this.line)
    }
    if (isRepeated) throw atLine(at(path, invalidBody('A name appears twice in one object')), this.line)
    if (!isObject(value)) throw atLine(at(path, invalidBody('A line must be a JSON object')), this.line)
    return value
  }
}
