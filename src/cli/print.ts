import { VERBS } from '../../schemas/grants.ts'
import { type TokenOptions, TokenSchema } from '../../schemas/options.ts'
import { createToken, hashToken, parseExpiry } from '../access/tokens.ts'
import { ConfigError, findConfigErrors } from '../config-errors.ts'
import { CREATE } from '../idempotency/keys-table.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { createDatabaseDocument } from '../openapi/database-document.ts'
import { createInterfaceDocument } from '../openapi/interface-document.ts'
import { writeTypes } from '../openapi/typescript.ts'
import { visibleTables } from '../openapi/visible.ts'
import { COMMANDS, parseFlags } from './commands.ts'
import { chooseDatabase, readCatalog, requireDatabase } from './one-database.ts'

/**
 * `row-query openapi [database] [--token name]`: prints the document of the interface or of a database, for a token
 * with all permissions or a named one. @throws ConfigError
 */
export async function openapi (args: string[]): Promise<number> {
  const { databases, database, settings, grant } = chooseDatabase('openapi', args)
  const document =
    database === undefined
      ? createInterfaceDocument({
        verbs: VERBS.filter((verb) => grant.permissions.has(verb)),
        databases: databases.map(({ name }) => name),
        settings
      })
      : await createDatabaseDocument({
        database: database.name,
        tables: visibleTables(await readCatalog(database), grant, database.name),
        settings
      })
  process.stdout.write(`${JSON.stringify(parseExactJson(String(document.bytes)), undefined, 2)}\n`)
  return 0
}

/**
 * `row-query types [database] [--token name]`: prints TypeScript interfaces for its tables, or for what a token sees of
 * them. @throws ConfigError
 */
export async function types (args: string[]): Promise<number> {
  const { database, grant } = requireDatabase('types', args)
  process.stdout.write(writeTypes(database.name, visibleTables(await readCatalog(database), grant, database.name)))
  return 0
}

/**
 * `row-query keys [database]`: prints the statement that creates the table for idempotency keys. @throws ConfigError
 */
export async function keys (args: string[]): Promise<number> {
  const { database } = requireDatabase('keys', args)
  process.stdout.write(CREATE[database.address.engine])
  return 0
}

/**
 * `row-query token`: creates a token and prints it with its entry for the configuration file, which contains only its
 * hash. @throws ConfigError
 */
export async function token (args: string[]): Promise<number> {
  const { values } = parseFlags('token', { args, options: COMMANDS.token.flags })
  const { database = [], table, expires } = values
  const secret = createToken()
  const entry = {
    name: values.name,
    sha256: hashToken(secret),
    permissions: values.permissions?.flatMap((list) => list.split(',')).map((permission) => permission.trim()),
    ...(database.length > 0 && { databases: Object.fromEntries(database.map((name) => [name, table ?? '*'])) }),
    ...(expires !== undefined && { expires })
  }
  check(entry as TokenOptions, database, table)
  process.stdout.write(
    `The token, which is not shown again:\n\n  ${secret}\n\nIts entry for "tokens" in the configuration file, or for ` +
    `the token file:\n\n${JSON.stringify(entry, undefined, 2)}\n`
  )
  return 0
}

function check (entry: TokenOptions, databases: string[], tables: string[] | undefined): void {
  const errors = findConfigErrors(TokenSchema, JSON.parse(JSON.stringify(entry))).map((line) => `--${line}`)
  if (tables !== undefined && databases.length !== 1) errors.push('--table: requires exactly one --database')
  if (entry.expires !== undefined) {
    try {
      if (parseExpiry(entry.expires) <= Date.now()) errors.push('--expires: is in the past')
    } catch (error) {
      errors.push(`--${(error as Error).message}`)
    }
  }
  if (errors.length > 0) throw new ConfigError(errors)
}
