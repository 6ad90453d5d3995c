import { createCatalog, type Table } from '../catalog/catalog.ts'
import { loadConfig } from '../config/load.ts'
import { splitConfig } from '../config/server-settings.ts'
import { resolveSettings } from '../config/settings.ts'
import type { DatabaseConfig } from '../databases/open.ts'
import type { Grant } from '../access/grant.ts'
import { createShop } from '../demo/shop.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { COMMANDS } from './commands.ts'
import { parseFlags } from './flags.ts'
import { reportGrant } from './grant-report.ts'
import { openOnce, reasonOf } from './one-connection.ts'

/**
 * `row-query check`: prints for each database whether it answers, its tables, the privileges of the account and their risks, and what each token and
 * role may do. Returns the exit code: 1 if a database does not answer, a grant has an error or, with `--strict`, there are warnings; otherwise 0.
 */
export async function check (args: string[]): Promise<number> {
  const { values } = parseFlags('check', { args, options: COMMANDS.check.flags })
  const { config, demo } = loadConfig(process.env, values)
  const { options } = splitConfig(config)
  if (demo !== undefined) createShop(demo.path)
  const { databases, tokens, tokenFile, roles } = resolveSettings(options)
  const grants = new Map([
    ...[...tokens, ...tokenFile?.tokens ?? []].map(({ grant }): [string, Grant] => [`token "${grant.name}"`, grant]),
    ...Array.from(roles, ([name, grant]): [string, Grant] => [`role "${name}"`, grant])
  ])
  const configured = databases.flatMap(({ address }) => address.engine === 'mysql' ? [address.address.database] : [])
  let failures = 0
  for (const database of databases) {
    const { answers, errors, risks, text } = await describe(database, configured, grants)
    process.stdout.write(text)
    if (!answers || errors > 0 || (values.strict === true && risks > 0)) failures++
  }
  return failures === 0 ? 0 : 1
}

interface Report {
  readonly answers: boolean
  readonly errors: number
  readonly risks: number
  readonly text: string
}

type Grants = ReadonlyMap<string, Grant>

async function describe (config: DatabaseConfig, configured: readonly string[], grants: Grants): Promise<Report> {
  try {
    return await describeDatabase(await openOnce(config), { name: config.name, configured, grants })
  } catch (error) {
    return { answers: false, errors: 0, risks: 0, text: `${config.name}: does not answer (${reasonOf(error)})\n` }
  }
}

async function describeDatabase (dialect: Dialect, { name, configured, grants }: { name: string, configured: readonly string[], grants: Grants }): Promise<Report> {
  try {
    const catalog = createCatalog(await dialect.introspect(), Date.now())
    const { tables } = catalog
    const privileges = await dialect.privileges()
    const { risks, enough } = await dialect.findRisks(configured)
    const reports = Array.from(grants, ([label, grant]) => reportGrant(label, grant, name, catalog)).filter((report) => report !== undefined)
    const errors = reports.flatMap((report) => report.errors)
    const warnings = [...reports.flatMap((report) => report.warnings), ...risks]
    const lines = [
      ...Array.from(tables.values(), describeTable),
      ...privileges.map((line) => `  account: ${line}`),
      ...reports.flatMap((report) => report.lines.map((line) => `  ${line}`)),
      ...errors.map((line) => `  error: ${line}`),
      ...warnings.map((line) => `  warning: ${line}`),
      ...enough.map((line) => `  enough: ${line}`)
    ]
    return { answers: true, errors: errors.length, risks: warnings.length, text: `${name}: answers, ${tables.size} tables and views\n${lines.map((line) => line + '\n').join('')}` }
  } finally {
    await dialect.close()
  }
}

function describeTable ({ name, kind, columns, primaryKey }: Table): string {
  const readOnly = [...columns.values()].filter((column) => !column.type.writable).map((column) => `${column.name} ${column.declaration}`.trimEnd())
  const key = primaryKey.length > 0 ? `, key ${primaryKey.join(', ')}` : ', no primary key'
  return `  ${name}: ${kind === 'view' ? 'view, ' : ''}${columns.size} columns${kind === 'view' ? '' : key}${readOnly.length > 0 ? `; not writable: ${readOnly.join(', ')}` : ''}`
}
