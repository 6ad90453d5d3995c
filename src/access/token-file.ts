/** The file of the setting `tokensFile`: a JSON list of tokens, in addition to those of the configuration. */
import { readFileSync } from 'node:fs'
import { Type } from '@sinclair/typebox'
import { TokenSchema, type TokenOptions } from '../../schemas/options.ts'
import type { StoredToken } from './tokens.ts'
import { ConfigError, findConfigErrors, orThrow } from '../config-errors.ts'
import { parseConfigJson } from '../config-json.ts'
import { readEntries, UNIQUE } from './token-entries.ts'

/** A token file and the parser of its content. */
export interface TokenFile {
  readonly path: string
  /** @throws ConfigError with one line per error; no line contains part of a token */
  parse (text: string): readonly StoredToken[]
}

const FileSchema = Type.Array(TokenSchema, { description: 'of entries as "row-query token" prints them' })
const SETTING = 'tokensFile'

/** `known`: the databases that entries may name, and the tokens that they must not repeat. */
export function createTokenFile (path: string, known: { readonly databases: unknown, readonly tokens?: ReadonlyArray<TokenOptions | undefined> | undefined }): TokenFile {
  const taken = UNIQUE.map((field) => ({ field, values: new Set(known.tokens?.map((entry) => entry?.[field])) }))
  return {
    path,
    parse (text) {
      const entries = parseEntries(text)
      const errors: string[] = []
      const tokens = readEntries(errors, SETTING, entries, known.databases)
      // removing a token from the file would not revoke it if the configuration has it too
      for (const [index, entry] of entries.entries()) {
        for (const { field, values } of taken) if (values.has(entry[field])) errors.push(`${SETTING}.${index}.${field}: is already in "tokens"`)
      }
      if (errors.length > 0) throw new ConfigError(errors)
      return tokens
    }
  }
}

/** Reads the tokens of the file. @throws ConfigError */
export function readTokenFile ({ path, parse }: TokenFile): readonly StoredToken[] {
  return parse(orThrow(() => readFileSync(path, 'utf8'), () => new ConfigError([`${SETTING}: the file cannot be read`])))
}

function parseEntries (text: string): TokenOptions[] {
  const entries = orThrow(() => parseConfigJson(text), ({ message }) => new ConfigError([`${SETTING}: the file ${message}`]))
  const errors = findConfigErrors(FileSchema, entries, new Map([['configuration', SETTING]]))
  if (errors.length > 0) throw new ConfigError(errors.map((line) => line.startsWith(SETTING) ? line : `${SETTING}.${line}`))
  return entries as TokenOptions[]
}
