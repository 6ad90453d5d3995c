/** Parses lines of JSON objects (NDJSON), in parts of any size. */
import { at, invalidBody, invalidJson, type ServiceError } from '../errors.ts'
import { findSyntaxError, isObject, lookOver, parseExactJson, repeatsKey } from '../json/exact-json.ts'
import { atLine, requireFewItems, type RowParser } from './row-parser.ts'

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
    try {
      requireFewItems(text)
    } catch (error) {
      throw atLine(at(path, error as ServiceError), this.line)
    }
    let value: unknown
    let isRepeated: boolean
    try {
      const overview = lookOver(text)
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
