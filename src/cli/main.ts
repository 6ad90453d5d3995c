#!/usr/bin/env node
/** `row-query <command>`: what each command is, and nothing of how it works. */
import { ConfigError } from '../config/mistakes.ts'
import { check } from './check.ts'
import { serve } from './serve.ts'
import { token } from './token.ts'

const HELP = `row-query: read and change rows of MySQL tables through one HTTP endpoint

  row-query serve [--config row-query.json] [--host 127.0.0.1] [--port 3000]
  row-query token --name reports --permissions select[,insert,update,delete]
                  [--database shop] [--table orders] [--expires 2027-01-01]
  row-query check [--config row-query.json]

Settings also come from DATABASE_URL, API_TOKEN, API_TOKEN_PERMISSIONS, ROW_QUERY_CONFIG, HOST, PORT, LOG_LEVEL and
PATH_PREFIX. Without any, serve opens an embedded demo database.
`

const commands = new Map<string, (args: string[]) => Promise<number>>([
  ['serve', serve],
  ['token', token],
  ['check', check]
])

async function main ([name = 'help', ...args]: string[]): Promise<number> {
  if (['help', '--help', '-h'].includes(name) || args.includes('--help')) {
    process.stdout.write(HELP)
    return 0
  }
  const command = commands.get(name)
  if (command === undefined) throw new ConfigError([`"${name}" is no command; there are ${[...commands.keys()].join(', ')}`])
  return command(args)
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof ConfigError) && !(error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS')) throw error
  process.stderr.write((error as Error).message.split('\n').map((line) => `row-query: ${line}\n`).join(''))
  process.exitCode = 2
}
