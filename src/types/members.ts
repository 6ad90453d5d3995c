/** The members of `enum('a','it''s')` or `set(...)` as information_schema.COLUMNS.COLUMN_TYPE writes them. */
export function parseMembers (declaration: string): string[] {
  return [...declaration.matchAll(/'((?:[^']|'')*)'/g)].map(([, member]) => (member as string).replaceAll("''", "'"))
}
