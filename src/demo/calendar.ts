/**
 * The shop's two and a half years. They are fixed dates and not "until today",
 * because rows that depend on the clock would differ from one first start to the next.
 */
export const OPENED = Date.UTC(2023, 2, 1, 9) / 1000
export const LATEST = Date.UTC(2025, 7, 31, 18) / 1000
export const DAY = 24 * 60 * 60

/** Seconds since 1970 as the `YYYY-MM-DD HH:MM:SS` (UTC) that SQLite's own CURRENT_TIMESTAMP writes. */
export function toDateTime (seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')
}

/** The way back: the zone is spelled out, since a bare date and time would be read as local time. */
export function toSeconds (dateTime: string): number {
  return Date.parse(`${dateTime.replace(' ', 'T')}Z`) / 1000
}
