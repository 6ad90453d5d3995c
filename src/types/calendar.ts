/**
 * Whether a text that looks like a date, `2026-11-20`, is a day of the calendar. Parts that are zero are let through: MySQL keeps such
 * dates (manual, "The DATE, DATETIME, and TIMESTAMP Types"), so what a select shows must be accepted again.
 */
export function isDay (text: string): boolean {
  const [month, day] = [Number(text.slice(5, 7)), Number(text.slice(8))]
  return month <= 12 && (day <= 28 || day <= daysOf(Number(text.slice(0, 4)), month))
}

/** Days of a month; 31 where it is zero. */
function daysOf (year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}
