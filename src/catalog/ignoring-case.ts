/**
 * Looks up a table or column that a foreign key names. SQLite keeps these names as they were written, and so does MySQL on file systems that
 * ignore case; the databases ignore the case of the letters A to Z.
 */
export function findIgnoringCase<T> (byName: ReadonlyMap<string, T>, name: string): T | undefined {
  const found = byName.get(name)
  if (found !== undefined) return found
  const lower = name.toLowerCase()
  for (const [each, value] of byName) if (each.toLowerCase() === lower) return value
  return undefined
}
