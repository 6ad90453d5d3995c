import { parseArgs } from 'node:util'
import { createCatalog, type Table } from '../catalog/catalog.ts'
import { loadConfig } from '../config/load.ts'
import { splitConfig } from '../config/server-settings.ts'
import { resolveSettings, type DatabaseConfig } from '../config/settings.ts'
import { createShop } from '../demo/shop.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { openOnce, reasonOf } from './one-connection.ts'

/** `row-query check`: whether every database answers, its tables, and what the account may do. 0 if all answer, else 1. */
export async function check (args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { config: { type: 'string' } } })
  const { config, demo } = loadConfig(process.env, values)
  const { options } = splitConfig(config)
  if (demo !== undefined) createShop(demo.path)
  let failures = 0
  for (const database of resolveSettings(options).databases) {
    const report = await describe(database)
    process.stdout.write(report.text)
    if (!report.answers) failures++
  }
  return failures === 0 ? 0 : 1
}

async function describe (config: DatabaseConfig): Promise<{ answers: boolean, text: string }> {
  try {
    return { answers: true, text: await describeDatabase(config.name, await openOnce(config)) }
  } catch (error) {
    return { answers: false, text: `${config.name}: does not answer (${reasonOf(error)})\n` }
  }
}

async function describeDatabase (name: string, dialect: Dialect): Promise<string> {
  try {
    const { tables } = createCatalog(await dialect.introspect(), Date.now())
    const privileges = await dialect.privileges()
    const lines = [...Array.from(tables.values(), describeTable), ...privileges.map((line) => `  account: ${line}`)]
    return `${name}: answers, ${tables.size} tables and views\n${lines.map((line) => line + '\n').join('')}`
  } finally {
    await dialect.close()
  }
}

function describeTable ({ name, kind, columns, primaryKey }: Table): string {
  const readOnly = [...columns.values()].filter((column) => !column.type.writable).map((column) => `${column.name} ${column.declaration}`.trimEnd())
  const key = primaryKey.length > 0 ? `, key ${primaryKey.join(', ')}` : ', no primary key'
  return `  ${name}: ${kind === 'view' ? 'view, ' : ''}${columns.size} columns${kind === 'view' ? '' : key}${readOnly.length > 0 ? `; not writable: ${readOnly.join(', ')}` : ''}`
}
