/** Runs a command of `row-query`. */
import { createRequire } from 'node:module'
import { ConfigError } from '../config-errors.ts'
import { didYouMean } from '../errors.ts'
import { COMMANDS, describeCommand, describeProgram, type CommandName, silenceSqliteWarning } from './commands.ts'

/** Loads each command only when it is used: creating a token does not need the server. */
const commands: Readonly<Record<CommandName, () => Promise<(args: string[]) => Promise<number>>>> = {
  serve: async () => (await import('./serve.ts')).serve,
  token: async () => (await import('./token.ts')).token,
  check: async () => (await import('./check.ts')).check,
  health: async () => (await import('./health.ts')).health,
  openapi: async () => (await import('./print.ts')).openapi,
  types: async () => (await import('./print.ts')).types,
  mcp: async () => (await import('./mcp-stdio.ts')).mcp,
  import: async () => (await import('./import.ts')).importRows,
  export: async () => (await import('./export.ts')).exportRows,
  demo: async () => (await import('./serve.ts')).demo,
  keys: async () => (await import('./print.ts')).keys
}

const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name)

async function run ([name = 'help', ...args]: string[]): Promise<number> {
  const help = [name, ...args].some((argument) => argument === '--help' || argument === '-h')
  if (isCommand(name) && !help) return await (await commands[name]())(args)
  if (name === '--version' && !help) process.stdout.write(`${version()}\n`)
  else if (help || name === 'help') process.stdout.write(helpFor(name === 'help' ? args[0] : name))
  else {
    const names = Object.keys(COMMANDS)
    const hint = didYouMean(name, names, `; the commands are ${names.join(', ')}`)
    throw new ConfigError([`"${name}" is not a command${hint}`])
  }
  return 0
}

const helpFor = (name = ''): string => isCommand(name) ? describeCommand(name) : describeProgram()

/** Reads package.json by the name of the package, because its path differs for the sources and the compiled files. */
const version = (): string => createRequire(import.meta.url)('fastify-row-query/package.json').version

silenceSqliteWarning()
// the reader of the output may close it early: `row-query openapi | head`
for (const output of [process.stdout, process.stderr]) output.on('error', () => { process.exitCode = 1 })
try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  const { code, message } = error as { code?: string, message: string }
  if (code !== 'ROW_QUERY_INVALID_CONFIG' && !code?.startsWith('ERR_PARSE_ARGS')) throw error
  process.stderr.write(message.split('\n').map((line) => `row-query: ${line}\n`).join(''))
  process.exitCode = 2
}
