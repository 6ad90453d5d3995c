import { parseArgs } from 'node:util'
import { createCatalog, type Table } from '../catalog/catalog.ts'
import { loadConfig } from '../config/load.ts'
import { splitConfig } from '../config/server-settings.ts'
import { resolveSettings, type DatabaseConfig } from '../config/settings.ts'
import { createShop } from '../demo/shop.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { openOnce, reasonOf } from './one-connection.ts'

/**
 * `row-query check`: prints for each database whether it answers, its tables, the privileges of the account and their risks. Returns the exit
 * code: 1 if a database does not answer or, with `--strict`, there are risks; otherwise 0.
 */
export async function check (args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { config: { type: 'string' }, strict: { type: 'boolean', default: false } } })
  const { config, demo } = loadConfig(process.env, values)
  const { options } = splitConfig(config)
  if (demo !== undefined) createShop(demo.path)
  const { databases } = resolveSettings(options)
  const configured = databases.flatMap(({ address }) => address.engine === 'mysql' ? [address.address.database] : [])
  let failures = 0
  for (const database of databases) {
    const { answers, risks, text } = await describe(database, configured)
    process.stdout.write(text)
    if (!answers || (values.strict && risks > 0)) failures++
  }
  return failures === 0 ? 0 : 1
}

interface Report {
  readonly answers: boolean
  readonly risks: number
  readonly text: string
}

async function describe (config: DatabaseConfig, configured: readonly string[]): Promise<Report> {
  try {
    return await describeDatabase(config.name, await openOnce(config), configured)
  } catch (error) {
    return { answers: false, risks: 0, text: `${config.name}: does not answer (${reasonOf(error)})\n` }
  }
}

async function describeDatabase (name: string, dialect: Dialect, configured: readonly string[]): Promise<Report> {
  try {
    const { tables } = createCatalog(await dialect.introspect(), Date.now())
    const privileges = await dialect.privileges()
    const { risks, enough } = await dialect.findRisks(configured)
    const lines = [
      ...Array.from(tables.values(), describeTable),
      ...privileges.map((line) => `  account: ${line}`),
      ...risks.map((line) => `  warning: ${line}`),
      ...enough.map((line) => `  enough: ${line}`)
    ]
    return { answers: true, risks: risks.length, text: `${name}: answers, ${tables.size} tables and views\n${lines.map((line) => line + '\n').join('')}` }
  } finally {
    await dialect.close()
  }
}

function describeTable ({ name, kind, columns, primaryKey }: Table): string {
  const readOnly = [...columns.values()].filter((column) => !column.type.writable).map((column) => `${column.name} ${column.declaration}`.trimEnd())
  const key = primaryKey.length > 0 ? `, key ${primaryKey.join(', ')}` : ', no primary key'
  return `  ${name}: ${kind === 'view' ? 'view, ' : ''}${columns.size} columns${kind === 'view' ? '' : key}${readOnly.length > 0 ? `; not writable: ${readOnly.join(', ')}` : ''}`
}
