/** What parses the rows of an import, in parts of any size. */
import { bodyTooLarge, type ServiceError, withDetails } from '../errors.ts'

export interface RowParser<Row = unknown> {
  /** The row that the last call has completed. */
  readonly row: Row | undefined
  /** Whether no row has begun. */
  readonly isBetween: boolean
  /** The current line, from 1, as an editor counts. */
  readonly line: number
  /** The first line of `row`, or of the row that has begun. */
  readonly rowLine: number
  /** The last line of the last row. */
  readonly lastLine: number
  /**
   * Reads the text from a position to the end of a row or of another line, or to its own end. Returns the position
   * after that. @throws INVALID_BODY, INVALID_JSON
   */
  read (text: string, from: number): number
  /** Ends the text, which may complete a row. @throws as `read` */
  end (): void
}

/** Adds the line to the details of an error. */
export function atLine (error: ServiceError, line: number): ServiceError {
  const { details, message } = error
  return withDetails(error, ...(details.length === 0 ? [{ path: '', message }] : details).map((detail) => ({
    ...detail,
    line
  })))
}

/** Texts of up to so many characters are not scanned. */
const SMALL = 262_144

/** Maximum number of items of lists and objects in one JSON text: each takes a hundred bytes, and its text three. */
const MAX_ITEMS = 1_000_000

/** Refuses JSON text that would take much more memory than it has bytes. @throws BODY_TOO_LARGE */
export function requireFewItems (text: string): void {
  if (text.length <= SMALL) return
  let items = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === ',' || character === '[' || character === '{') items++
  }
  if (items <= MAX_ITEMS) return
  const error = bodyTooLarge()
  error.message = `A JSON text has more than ${MAX_ITEMS} items of lists and objects`
  throw error
}
