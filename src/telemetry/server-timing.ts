import type { RequestRecord } from './record.ts'

/** The value of a `Server-Timing` header (W3C): milliseconds of planning, in the database, and altogether. */
export function timingOf ({ planning, inDatabase = 0, total }: RequestRecord): string {
  return `plan;dur=${planning.toFixed(3)}, db;dur=${inDatabase.toFixed(3)}, total;dur=${total.toFixed(3)}`
}
