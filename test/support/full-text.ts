/** The triggers that keep an FTS5 table of SQLite up to date, as its manual has them. */
export function fullTextTriggers (table: string, fts: string, columns: readonly string[], rowid = 'id'): string[] {
  const values = (row: string): string => [`${row}.${rowid}`, ...columns.map((column) => `${row}.${column}`)].join(', ')
  const added = `insert into ${fts} (rowid, ${columns.join(', ')}) values (${values('new')})`
  const removed = `insert into ${fts} (${fts}, rowid, ${columns.join(', ')}) values ('delete', ${values('old')})`
  return [
    `create trigger ${fts}_i after insert on ${table} begin ${added}; end`,
    `create trigger ${fts}_d after delete on ${table} begin ${removed}; end`,
    `create trigger ${fts}_u after update on ${table} begin ${removed}; ${added}; end`
  ]
}
