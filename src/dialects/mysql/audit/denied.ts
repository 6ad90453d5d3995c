/**
 * Finds what the account may not do by preparing statements: the server then checks the privileges, including those of active roles and patterns, and runs
 * nothing. SHOW GRANTS would have to be interpreted, and information_schema does not have the privileges of roles.
 */
import type { Denied, TableUse } from '../../dialect.ts'
import type { MysqlError } from '../errors.ts'

/** @throws the driver's error */
export type Run = (sql: string) => Promise<unknown>

const NAME = 'row_query_check'
/** Privileges on a database, table, column, whole server, or routine. */
const DENIED = new Set([1044, 1142, 1143, 1227, 1370])
/** Errors of a view that refers to something that does not exist or that its definer may not use. */
const BROKEN_VIEW = new Set([1356, 1449])

export async function findDenied (run: Run, uses: readonly TableUse[]): Promise<Denied[]> {
  const denied: Denied[] = []
  for (const use of uses) denied.push(...await findDeniedUse(run, use))
  await run(`deallocate prepare ${NAME}`).catch(() => {}) // if all of them were denied, there is none
  return denied
}

async function findDeniedUse (run: Run, { table, verb, columns }: TableUse): Promise<Denied[]> {
  const error = await prepare(run, { table, verb, columns })
  if (error === undefined) return []
  if (BROKEN_VIEW.has(error.errno ?? 0)) return [{ table, verb, reason: error.code ?? `errno ${error.errno}` }]
  if (columns.length < 2) return [{ table, verb }]
  const single: string[] = []
  for (const column of columns) if (await prepare(run, { table, verb, columns: [column] }) !== undefined) single.push(column)
  return [{ table, verb, ...single.length < columns.length && { columns: single } }]
}

/** Returns the error if the privileges are not sufficient. Other errors say nothing about them. */
async function prepare (run: Run, use: TableUse): Promise<MysqlError | undefined> {
  try {
    await run(`prepare ${NAME} from '${statementFor(use).replace(/['\\]/g, '\\$&')}'`)
    return undefined
  } catch (error) {
    const { errno = 0 } = error as MysqlError
    if (errno === 0) throw error
    return DENIED.has(errno) || BROKEN_VIEW.has(errno) ? error as MysqlError : undefined
  }
}

function statementFor ({ table, verb, columns }: TableUse): string {
  const [name, ...names] = [table, ...columns].map((each) => `\`${each.replaceAll('`', '``')}\``)
  switch (verb) {
    case 'select': return `select ${names.join(', ') || '1'} from ${name}`
    case 'insert': return `insert into ${name} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`
    case 'update': return `update ${name} set ${names.map((each) => `${each} = ?`).join(', ')}`
    case 'delete': return `delete from ${name}`
  }
}
