/** What parses the rows of an import, in parts of any size. */
import { type ServiceError, withDetails } from '../errors.ts'

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
