import { parseArgs } from 'node:util'
import { ConfigError } from '../config-errors.ts'
import { findNearest } from '../errors.ts'

interface Usage {
  readonly summary: string
  readonly argument?: string
  readonly flags: Readonly<Record<string, {
    readonly type: 'string' | 'boolean'
    readonly multiple?: boolean
    /** A placeholder in the help. */
    readonly value?: string
    readonly description: string
  }>>
  readonly more?: string
}

const text = (value: string, description: string) => ({ type: 'string', value, description }) as const
const texts = (value: string, description: string) => ({ ...text(value, description), multiple: true }) as const
const isSet = (description: string) => ({ type: 'boolean', description }) as const

const config = text('path', 'configuration file; default: ROW_QUERY_CONFIG')
const format = text('format', 'csv or ndjson; required')
const ofGrant = {
  config,
  token: text('name', 'only what this token of the configuration sees'),
  role: text('name', 'only what this role of the configuration sees')
}

/** The flags for the rights of a command that serves requests itself. `otherwise`: what it may do without them. */
const ofCommand = (otherwise: string) => ({
  'token-name': text('name', `use the rights of this token of the configuration; default: ${otherwise} on everything`),
  role: text('name', 'use the rights of this role of the configuration'),
  claims: text('json', 'claims for the rules of the role, such as \'{"tenant": 7}\'')
})

export const COMMANDS = {
  serve: {
    summary: 'start the server; without a database, it opens an embedded demo database',
    flags: {
      config,
      host: text('address', 'address to listen on; default: HOST or 127.0.0.1'),
      port: text('number', 'port to listen on; default: PORT or 3000'),
      'log-format': text('format', 'pretty, json or auto; default: pretty on a terminal, otherwise json')
    },
    more: `
Environment variables: DATABASE_URL, API_TOKEN, API_TOKEN_PERMISSIONS, API_TOKENS_FILE, ROW_QUERY_CONFIG, HOST, PORT,
LOG_LEVEL, PATH_PREFIX, HTTPS_CERT and HTTPS_KEY, and one for each other setting, such as ROW_QUERY_POOL_SIZE=20.
docs/configuration.md lists them.
`
  },
  token: {
    summary:
      'create a token and print it with its entry for the configuration; list and revoke those of the token file',
    argument: '[list | revoke <name>]',
    flags: {
      config,
      name: text('name', 'unique name of the token; required'),
      permissions: texts('list', 'select, insert, update or delete, separated by commas; required; may be repeated'),
      database: texts('name', 'database for which the token is valid; may be repeated; default: all'),
      table: texts('name', 'table of the database; may be repeated; default: all'),
      columns: texts('list', 'columns of the tables, separated by commas; may be repeated; default: all'),
      rows: text('json', 'rules for the rows of the tables, such as \'{"tenant": 7}\''),
      write: isSet('add the entry to the token file of the configuration'),
      expires: text('time', 'such as 2027-01-01 or 2027-01-01T12:00:00Z; default: never')
    }
  },
  check: {
    summary:
      'check the configuration with its databases, replicas, accounts, tokens and keys, and print what is wrong',
    flags: { config, strict: isSet('exit with 1 if there are warnings') }
  },
  health: {
    summary: 'ask the server with this configuration, on this machine, whether it is alive; exit with 1 if it is not',
    flags: {
      config,
      host: text('address', 'address of the server; default: HOST or 127.0.0.1'),
      port: text('number', 'port of the server; default: PORT or 3000')
    }
  },
  openapi: {
    summary: 'print the OpenAPI document of a database, of "requests" (the named ones), or of the interface',
    argument: '[database]',
    flags: ofGrant
  },
  types: {
    summary: 'print TypeScript interfaces for the tables of a database',
    argument: '[database]',
    flags: ofGrant
  },
  mcp: {
    summary: 'serve tools for language models on standard input and output, by the Model Context Protocol',
    flags: { config, ...ofCommand('select') }
  },
  export: {
    summary: 'write rows of a table to a file or to standard output',
    argument: '<database> <table>',
    flags: {
      config,
      format,
      output: text('path', 'file, which appears when it is whole; default: standard output'),
      filters: text('json', 'filters as in a request, such as \'{"status": "new"}\''),
      columns: text('list', 'columns separated by commas; default: all'),
      'order-by': text('terms', 'order as in a request, such as "id DESC"'),
      limit: text('number', 'maximum number of rows; default: all'),
      ...ofCommand('select')
    }
  },
  import: {
    summary: 'insert the rows of a file or of standard input into a table',
    argument: '<database> <table>',
    flags: {
      config,
      format,
      input: text('path', 'file; default: standard input'),
      'on-conflict': text('list', 'columns of a key: rows that exist are updated'),
      set: text('list', 'columns that are updated then; default: all'),
      transaction: text('kind', 'whole, or a COMMIT for each batch; default: whole'),
      'dry-run': isSet('count the rows, and change nothing'),
      separator: text('character', 'separator of CSV: , ; or tab; default: ,'),
      'from-line': text('number', 'line of the first row that is inserted'),
      ...ofCommand('insert and update')
    }
  },
  demo: {
    summary: 'print where the embedded demo of this folder is, or reset its rows',
    flags: {
      reset: isSet('replace all its tables and rows; a running server sees the new ones')
    }
  },
  keys: {
    summary: 'print the statement that creates the table for idempotency keys',
    argument: '[database]',
    flags: ofGrant
  }
} as const satisfies Readonly<Record<string, Usage>>

export type CommandName = keyof typeof COMMANDS

export function describeProgram (): string {
  const commands = Object.entries<Usage>(COMMANDS).map(([name, { summary, argument }]) =>
    [`row-query ${name}${argument === undefined ? '' : ` ${argument}`}`, summary] as const)
  return `row-query: reads and changes rows of MySQL, MariaDB and SQLite tables through one HTTP endpoint

${alignLines(commands)}

"row-query serve --help" lists the flags of serve; "row-query --version" prints the version.
${COMMANDS.serve.more}`
}

export function describeCommand (name: CommandName): string {
  const { summary, argument, flags, more = '' }: Usage = COMMANDS[name]
  const lines = Object.entries(flags).map(
    ([flag, { value, description }]) => [`--${flag}${value === undefined ? '' : ` <${value}>`}`, description] as const
  )
  return `row-query ${name}${argument === undefined ? '' : ` ${argument}`} [flags]: ` +
    `${summary}\n\n${alignLines(lines)}\n${more}`
}

function alignLines (lines: ReadonlyArray<readonly [term: string, description: string]>): string {
  const width = Math.max(...lines.map(([term]) => term.length))
  return lines.map(([term, description]) => `  ${term.padEnd(width)}  ${description}`).join('\n')
}

/**
 * Parses the arguments of a command. @throws ConfigError with a line for each unknown flag, which suggests a similar
 * one
 */
export function parseFlags<Name extends CommandName> (command: Name, args: string[]) {
  const { argument }: Usage = COMMANDS[command]
  const options: (typeof COMMANDS)[Name]['flags'] = COMMANDS[command].flags
  const { tokens } = parseArgs({ args, options, strict: false, tokens: true })
  const unknown = tokens.filter((token) => token.kind === 'option').filter(({ name }) => !Object.hasOwn(options, name))
  if (unknown.length > 0) {
    throw new ConfigError(
      unknown.map(
        ({ rawName, name }) => `${rawName}: is not a flag of ${command}; ${describeFlags(name, Object.keys(options))}`
      )
    )
  }
  return parseArgs({ args, options, allowPositionals: argument !== undefined })
}

export type FlagValues<Name extends CommandName> = ReturnType<typeof parseFlags<Name>>['values']

function describeFlags (name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known)
  return nearest === undefined
    ? `the flags are ${known.map((each) => `--${each}`).join(', ')}`
    : `did you mean --${nearest}?`
}

/**
 * Suppresses the warning of Node 22 that node:sqlite is experimental: the program is tested with it. Must be called
 * before node:sqlite is loaded.
 */
export function silenceSqliteWarning (): void {
  const { emitWarning } = process
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (String(warning).startsWith('SQLite is an experimental feature')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }
}
