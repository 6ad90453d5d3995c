import { TokenSchema, type TokenOptions } from '../../schemas/options.ts'
import { ConfigError, findConfigErrors } from '../config-errors.ts'
import { parseExpiry } from '../access/tokens.ts'
import { createToken, hashToken } from '../access/tokens.ts'
import { COMMANDS } from './commands.ts'
import { parseFlags } from './flags.ts'

/** `row-query token`: creates a token and prints it with its entry for the configuration file, which contains only its hash. @throws ConfigError */
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
  process.stdout.write(`The token, which is not shown again:\n\n  ${secret}\n\nIts entry for "tokens" in the configuration file, or for the token file:\n\n${JSON.stringify(entry, undefined, 2)}\n`)
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
