/** `row-query token`: creates tokens, and lists and revokes tokens of the token file. */
import { existsSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { type TokenOptions, TokenSchema } from '../../schemas/options.ts'
import { findMissing } from '../access/grant.ts'
import { createTokenFile, readTokenFile, parseExpiry } from '../access/token-settings.ts'
import { createToken, hashToken } from '../access/tokens.ts'
import { ConfigError, findConfigErrors, orThrow } from '../config-errors.ts'
import { loadConfig } from '../config/load.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { didYouMean } from '../errors.ts'
import { type FlagValues, parseFlags } from './commands.ts'

/**
 * `row-query token`: creates a token and prints it with its entry for the configuration file, which contains only its
 * hash; `--write` adds the entry to the token file. `row-query token list` and `row-query token revoke NAME`.
 * @throws ConfigError
 */
export async function token (args: string[]): Promise<number> {
  const { values, positionals: [action, ...names] } = parseFlags('token', args)
  if (action === undefined) return create(values)
  const flags = Object.keys(values).filter((name) => name !== 'config')
  if (flags.length > 0) throw new ConfigError(flags.map((name) => `--${name}: is not a flag of token ${action}`))
  if (action === 'list' && names.length === 0) return list(values.config)
  if (action === 'revoke' && names.length === 1) return revoke(values.config, names[0] as string)
  throw new ConfigError(['token: takes flags, or "list", or "revoke" with the name of a token'])
}

type Values = FlagValues<'token'>

function create ({ config, write, ...values }: Values): number {
  const { database = [], table, columns, rows, expires } = values
  const secret = createToken()
  const lists = (texts: string[] | undefined): string[] | undefined =>
    texts?.flatMap((list) => list.split(',')).map((name) => name.trim())
  const narrowed = columns === undefined && rows === undefined
    ? table
    : Object.fromEntries((table ?? []).map((name) => [name, {
      ...(columns !== undefined && { columns: { select: lists(columns) } }),
      ...(rows !== undefined && { rows: parseRows(rows) })
    }]))
  const entry = {
    name: values.name,
    sha256: hashToken(secret),
    permissions: lists(values.permissions),
    ...(database.length > 0 && { databases: Object.fromEntries(database.map((name) => [name, narrowed ?? '*'])) }),
    ...(expires !== undefined && { expires })
  }
  check(entry as TokenOptions, values)
  const file = write === true ? openFile(config, { create: true }) : undefined
  if (file !== undefined) replace(file, [...file.entries, entry as TokenOptions])
  process.stdout.write(
    `The token, which is not shown again:\n\n  ${secret}\n\n` +
    (file === undefined
      ? 'Its entry for "tokens" in the configuration file, or for the token file:\n\n' +
        `${JSON.stringify(entry, undefined, 2)}\n`
      : `Its entry is in ${file.path}; a running service accepts it within a second.\n`)
  )
  return 0
}

function parseRows (text: string): unknown {
  return orThrow(
    () => parseExactJson(text),
    () => new ConfigError(['--rows: must be a JSON object of rules by column'])
  )
}

function check (entry: TokenOptions, { database = [], table, columns, rows }: Values): void {
  const errors = findConfigErrors(TokenSchema, JSON.parse(JSON.stringify(entry))).map((line) => `--${line}`)
  const missing = findMissing(entry, false)
  if (missing !== undefined) errors.push(`--${missing}`)
  if (table !== undefined && database.length !== 1) errors.push('--table: requires exactly one --database')
  for (const [flag, value] of Object.entries({ columns, rows })) {
    if (value !== undefined && table === undefined) errors.push(`--${flag}: requires --table`)
  }
  if (entry.expires !== undefined) {
    try {
      if (parseExpiry(entry.expires) <= Date.now()) errors.push('--expires: is in the past')
    } catch (error) {
      errors.push(`--${(error as Error).message}`)
    }
  }
  if (errors.length > 0) throw new ConfigError(errors)
}

interface OpenFile {
  readonly path: string
  readonly entries: readonly TokenOptions[]
  /** Checks a new content as the service does. @throws ConfigError */
  readonly check: (text: string) => void
}

/** The token file of the configuration; `create`: one that is missing is created. @throws ConfigError */
function openFile (configPath: string | undefined, { create = false } = {}): OpenFile {
  const { config } = loadConfig(process.env, { config: configPath })
  const { tokensFile: path, databases, tokens } = config
  if (path === undefined) {
    throw new ConfigError([
      'tokensFile: is not set; name a file with a JSON list in the configuration, or in API_TOKENS_FILE'
    ])
  }
  if (create && !existsSync(path)) {
    orThrow(
      () => { writeFileSync(path, '[]\n', { flag: 'wx' }) },
      () => new ConfigError(['tokensFile: the file cannot be created'])
    )
  }
  const file = createTokenFile(path, { databases, tokens })
  readTokenFile(file)
  // numbers of claims stay exact
  const entries = parseExactJson(readFileSync(path, 'utf8')) as TokenOptions[]
  return { path, entries, check: (text) => { file.parse(text) } }
}

/** Replaces the file by a rename, so that it is never read half-written. @throws ConfigError if it would be invalid */
function replace ({ path, check }: OpenFile, entries: readonly TokenOptions[]): void {
  const text = `${JSON.stringify(entries, undefined, 2)}\n`
  check(text)
  const target = realpathSync(path)
  const unfinished = `${target}.${process.pid}.tmp`
  writeFileSync(unfinished, text, { mode: statSync(target).mode & 0o777 })
  renameSync(unfinished, target)
}

function list (configPath: string | undefined): number {
  const { config } = loadConfig(process.env, { config: configPath })
  const { tokens = [], tokensFile } = config
  const ofFile = tokensFile === undefined ? [] : openFile(configPath).entries
  const describe = ({ name, expires, ...grant }: TokenOptions, place: string): string =>
    `${JSON.stringify(name)}: ${describeGrant(grant)}` +
    (expires === undefined ? '' : `, ${parseExpiry(expires) <= Date.now() ? 'expired' : 'expires'} ${expires}`) +
    ` (${place})\n`
  const lines = [
    ...tokens.map((entry) => describe(entry, 'configuration')),
    ...ofFile.map((entry) => describe(entry, tokensFile as string))
  ]
  process.stdout.write(lines.length === 0 ? 'There are no tokens.\n' : lines.join(''))
  return 0
}

/** What a token may do, in a few words. */
function describeGrant ({ permissions, databases = '*', requests }: Omit<TokenOptions, 'name' | 'sha256'>): string {
  const where = databases === '*' ? 'all databases' : Object.keys(databases).join(', ')
  const parts = [
    ...permissions === undefined ? [] : [`${permissions.join(', ')} on ${where}`],
    ...requests === undefined ? [] : [`calls ${requests === '*' ? 'all named requests' : requests.join(', ')}`]
  ]
  return parts.join('; ')
}

function revoke (configPath: string | undefined, name: string): number {
  const file = openFile(configPath)
  const remaining = file.entries.filter((entry) => entry.name !== name)
  if (remaining.length === file.entries.length) {
    const hint = didYouMean(name, file.entries.map((entry) => entry.name))
    throw new ConfigError([`${JSON.stringify(name)} is not a token of ${file.path}${hint}`])
  }
  replace(file, remaining)
  process.stdout.write(`${JSON.stringify(name)} is revoked; a running service refuses it within a second.\n`)
  return 0
}
