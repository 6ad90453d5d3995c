/** The file of the setting `tokensFile`: a JSON list of tokens, in addition to those of the configuration. */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Type } from '@sinclair/typebox'
import type { FastifyBaseLogger } from 'fastify'
import { type TokenOptions, TokenSchema } from '../../schemas/options.ts'
import { ConfigError, findConfigErrors, orThrow } from '../config-errors.ts'
import { parseConfigJson } from '../json/exact-json.ts'
import { readEntries, UNIQUE, type StoredToken } from './tokens.ts'

/** A token file and the parser of its content. */
export interface TokenFile {
  readonly path: string
  /** @throws ConfigError with one line per error; no line contains part of a token */
  parse (text: string): readonly StoredToken[]
}

const FileSchema = Type.Array(TokenSchema, { description: 'of entries as "row-query token" prints them' })
const SETTING = 'tokensFile'

/** `known`: the databases that entries may name, and the tokens that they must not repeat. */
export function createTokenFile (
  path: string,
  known: { readonly databases: unknown; readonly tokens?: ReadonlyArray<TokenOptions | undefined> | undefined }
): TokenFile {
  const taken = UNIQUE.map((field) => ({ field, values: new Set(known.tokens?.map((entry) => entry?.[field])) }))
  return {
    path,
    parse (text) {
      const entries = parseEntries(text)
      const errors: string[] = []
      const tokens = readEntries(errors, SETTING, entries, known.databases)
      // removing a token from the file would not revoke it if the configuration has it too
      for (const [index, entry] of entries.entries()) {
        for (const { field, values } of taken) {
          if (values.has(entry[field])) errors.push(`${SETTING}.${index}.${field}: is already in "tokens"`)
        }
      }
      if (errors.length > 0) throw new ConfigError(errors)
      return tokens
    }
  }
}

/** Reads the tokens of the file. @throws ConfigError */
export function readTokenFile ({ path, parse }: TokenFile): readonly StoredToken[] {
  return parse(
    orThrow(
      () => readFileSync(path, 'utf8'),
      () => new ConfigError([`${SETTING}: the file cannot be read`])
    )
  )
}

function parseEntries (text: string): TokenOptions[] {
  const entries = orThrow(
    () => parseConfigJson(text),
    ({ message }) => new ConfigError([`${SETTING}: the file ${message}`])
  )
  const errors = findConfigErrors(FileSchema, entries, new Map([['configuration', SETTING]]))
  if (errors.length > 0) {
    throw new ConfigError(errors.map((line) => (line.startsWith(SETTING) ? line : `${SETTING}.${line}`)))
  }
  return entries as TokenOptions[]
}

// Watches the token file and replaces the tokens when it changes.

export interface TokenWatch {
  /** Reads the file now. Errors in it are logged. */
  refresh (): Promise<void>
  /** Parses the file with this parser from now on. */
  use (file: TokenFile): void
  stop (): void
}

/** Interval between reads in milliseconds: a token that is removed from the file works for at most this long. */
const INTERVAL = 500

/**
 * Compares the content of the file at an interval. Modification times are too coarse, and `fs.watch` misses changes
 * when the file is replaced, is a symbolic link (as in a container) or is on a network disk.
 */
export function watchTokens ({
  file: first,
  log,
  onChange
}: {
  readonly file: TokenFile
  readonly log: FastifyBaseLogger
  readonly onChange: (tokens: readonly StoredToken[]) => void
}): TokenWatch {
  let file = first
  let seen: string | undefined | null = null
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const refresh = async (): Promise<void> => {
    const text = await readFile(file.path, 'utf8').catch(() => undefined)
    if (stopped || text === seen) return
    seen = text
    if (text === undefined) return refuse(['tokensFile: cannot be read'])
    try {
      const tokens = file.parse(text)
      onChange(tokens)
      log.info({ tokens: tokens.length }, 'token file read')
    } catch (error) {
      refuse((error as ConfigError).errors)
    }
  }
  const refuse = (errors: readonly string[]): void =>
    log.error({ errors }, 'the token file cannot be used; the previous tokens stay in use')
  const wait = (): void => {
    timer = setTimeout(() => refresh().then(wait), INTERVAL).unref()
  }
  wait()
  return {
    refresh,
    use (other) { file = other },
    stop () {
      stopped = true
      clearTimeout(timer)
    }
  }
}
