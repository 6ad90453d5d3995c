#!/usr/bin/env node
/** The program `row-query`: runs a command. */
import { ConfigError } from '../config-errors.ts'
import { silenceSqliteWarning } from './sqlite-warning.ts'

const HELP = `row-query: reads and changes rows of MySQL, MariaDB and SQLite tables through one HTTP endpoint

  row-query serve [--config row-query.json] [--host 127.0.0.1] [--port 3000]
  row-query token --name reports --permissions select[,insert,update,delete]
                  [--database shop] [--table orders] [--expires 2027-01-01]
  row-query check [--config row-query.json] [--strict]
  row-query openapi [shop] [--config row-query.json] [--token reports | --role clerk]
                  print the OpenAPI document of the interface or of a database, as a token or role sees it
  row-query types [shop] [--config row-query.json] [--token reports | --role clerk]
                  print TypeScript interfaces for the tables of a database, as a token or role sees them
  row-query keys [shop] [--config row-query.json]
                  print the statement that creates the table for idempotency keys

Environment variables: DATABASE_URL, API_TOKEN, API_TOKEN_PERMISSIONS, API_TOKENS_FILE, ROW_QUERY_CONFIG, HOST, PORT,
LOG_LEVEL, PATH_PREFIX, HTTPS_CERT and HTTPS_KEY. Without a database, serve opens an embedded demo database.
`

type Command = (args: string[]) => Promise<number>

/** Each command is loaded when it is used: creating a token does not need the server. */
const commands = new Map<string, () => Promise<Command>>([
  ['serve', async () => (await import('./serve.ts')).serve],
  ['token', async () => (await import('./token.ts')).token],
  ['check', async () => (await import('./check.ts')).check],
  ['openapi', async () => (await import('./openapi.ts')).openapi],
  ['keys', async () => (await import('./keys.ts')).keys],
  ['types', async () => (await import('./types.ts')).types]
])

async function main ([name = 'help', ...args]: string[]): Promise<number> {
  if (['help', '--help', '-h'].includes(name) || args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP)
    return 0
  }
  const load = commands.get(name)
  if (load === undefined) throw new ConfigError([`"${name}" is not a command; the commands are ${[...commands.keys()].join(', ')}`])
  const command = await load()
  return command(args)
}

silenceSqliteWarning()
// the reader of the output may close it early: `row-query openapi | head`
process.stdout.on('error', () => { process.exitCode = 1 })
try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const { code, message } = error as { code?: string, message: string }
  if (code !== 'ROW_QUERY_INVALID_CONFIG' && !code?.startsWith('ERR_PARSE_ARGS')) throw error
  process.stderr.write(message.split('\n').map((line) => `row-query: ${line}\n`).join(''))
  process.exitCode = 2
}
