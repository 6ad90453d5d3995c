/** Definitions of named requests, whose parameters are named once: in the body. */
import type { RequestsOptions, TokenOptions } from '../../schemas/options.ts'
import { hashToken } from '../../src/access/tokens.ts'

type Definition = RequestsOptions[string]

/** The place of a parameter in a body. */
export const param = (name: string) => ({ $param: name })
export const optional = { optional: true } as const

/**
 * A request to a table of the database `shop`, or of operations without one. Its parameters are those that the body
 * names; `parameters` says what they are besides.
 */
export function define (
  table: string | undefined, body: object, { parameters = {}, ...rest }: Partial<Definition> = {}
): Definition {
  const names = Array.from(JSON.stringify(body).matchAll(/"\$param":"(\w+)"/g), ([, name]) => name as string)
  return {
    database: 'shop',
    ...table !== undefined && { table },
    ...rest,
    parameters: { ...Object.fromEntries(names.map((name) => [name, {}])), ...parameters },
    body: body as Definition['body']
  }
}

/** A token that is called by its name, and calls these requests. */
export const callerOf = (
  name: string, requests: NonNullable<TokenOptions['requests']> = '*', claims?: TokenOptions['claims']
): TokenOptions => ({ name, sha256: hashToken(name), requests, ...claims !== undefined && { claims } })
