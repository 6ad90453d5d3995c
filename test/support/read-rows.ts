/** Runs statements, and returns how many rows they read by the counters of the MySQL or MariaDB server. */
export async function countReadRows (
  sql: (statement: string) => Promise<any[]>, statements: readonly string[]
): Promise<number> {
  await sql('flush status')
  for (const statement of statements) await sql(statement)
  const counters = await sql("show session status where Variable_name like 'Handler_read%'")
  return counters.reduce((sum, { Value: value }) => sum + Number(value), 0)
}
