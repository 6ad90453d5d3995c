/** Removes invalid settings from a configuration, so that the rest is checked as well and all errors are reported at once. */
import { isObject } from '../json/exact-json.ts'

/** Settings with named or numbered entries, each of which is left out alone. */
const LISTS = ['tokens', 'jwt']
const RECORDS = ['databases', 'roles']

/**
 * Leaves out the settings at the beginning of the lines of `errors`: settings, entries of records, and entries of lists, which become undefined so that
 * the others keep their indexes.
 */
export function withoutInvalid (config: Readonly<Record<string, unknown>>, errors: readonly string[]): Record<string, unknown> {
  if (errors.length === 0) return config
  const isInvalid = (setting: string): boolean => errors.some((line) => line.startsWith(`${setting}:`) || line.startsWith(`${setting}.`))
  return Object.fromEntries(Object.entries(config).flatMap(([name, value]): Array<[string, unknown]> => {
    if (!isInvalid(name)) return [[name, value]]
    if (LISTS.includes(name) && Array.isArray(value)) return [[name, value.map((entry, index) => isInvalid(`${name}.${index}`) ? undefined : entry)]]
    if (RECORDS.includes(name) && isObject(value)) return [[name, Object.fromEntries(Object.entries(value).filter(([key]) => !isInvalid(`${name}.${key}`)))]]
    return []
  }))
}
