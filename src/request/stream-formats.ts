/** The formats of streams. Another one also needs a writer of its rows (src/response/stream-rows.ts) and a description (src/openapi/interface-document.ts). */

export type StreamFormat = 'ndjson' | 'csv'

/** The header Content-Type of each format. */
export const CONTENT_TYPES: Readonly<Record<StreamFormat, string>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present'
}

export const STREAM_FORMATS = Object.keys(CONTENT_TYPES) as readonly StreamFormat[]

/** What a client asks for in the header Accept. */
export const mediaTypeOf = (format: StreamFormat): string => CONTENT_TYPES[format].split(';')[0] as string
