#!/usr/bin/env node
/** `row-query <command>`: what each command is, and nothing of how it works. */
import { ConfigError } from '../config/config-errors.ts'
import { silenceSqliteWarning } from './sqlite-warning.ts'

const HELP = `row-query: read and change rows of MySQL tables through one HTTP endpoint

  row-query serve [--config row-query.json] [--host 127.0.0.1] [--port 3000]
  row-query token --name reports --permissions select[,insert,update,delete]
                  [--database shop] [--table orders] [--expires 2027-01-01]
  row-query check [--config row-query.json] [--strict]
  row-query openapi [shop] [--config row-query.json]   the OpenAPI document of the interface, or of a database
  row-query types [shop] [--config row-query.json]     TypeScript interfaces of a database's tables

Settings also come from DATABASE_URL, API_TOKEN, API_TOKEN_PERMISSIONS, API_TOKENS_FILE, ROW_QUERY_CONFIG, HOST, PORT,
LOG_LEVEL, PATH_PREFIX, HTTPS_CERT and HTTPS_KEY. Without any, serve opens an embedded demo database.
`

type Command = (args: string[]) => Promise<number>

/** Loaded when asked for: making a token needs no server. */
const commands = new Map<string, () => Promise<Command>>([
  ['serve', async () => (await import('./serve.ts')).serve],
  ['token', async () => (await import('./token.ts')).token],
  ['check', async () => (await import('./check.ts')).check],
  ['openapi', async () => (await import('./openapi.ts')).openapi],
  ['types', async () => (await import('./types.ts')).types]
])

async function main ([name = 'help', ...args]: string[]): Promise<number> {
  if (['help', '--help', '-h'].includes(name) || args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP)
    return 0
  }
  const load = commands.get(name)
  if (load === undefined) throw new ConfigError([`"${name}" is no command; there are ${[...commands.keys()].join(', ')}`])
  const command = await load()
  return command(args)
}

silenceSqliteWarning()
// who reads what is printed may have seen enough: `row-query openapi | head`
process.stdout.on('error', () => { process.exitCode = 1 })
try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const { code, message } = error as { code?: string, message: string }
  if (code !== 'ROW_QUERY_INVALID_CONFIG' && !code?.startsWith('ERR_PARSE_ARGS')) throw error
  process.stderr.write(message.split('\n').map((line) => `row-query: ${line}\n`).join(''))
  process.exitCode = 2
}
