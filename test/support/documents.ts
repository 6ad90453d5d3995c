/** Requests the OpenAPI documents of a service. */
import type { Validator } from '@seriousme/openapi-schema-validator'
import type { TokenOptions } from '../../schemas/options.ts'
import type { Server } from '../../src/server/server.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { TOKEN, type Answer } from './service.ts'

let validator: Validator | undefined

/** Checks a document against the schema of OpenAPI, which is compiled once. */
export async function validate (document: Parameters<Validator['validate']>[0]): ReturnType<Validator['validate']> {
  validator ??= new (await import('@seriousme/openapi-schema-validator')).Validator()
  return await validator.validate(structuredClone(document))
}

/** GET /api{path} */
export async function get ({ app }: Server, path: string, { token = TOKEN, headers = {}, method = 'GET' }: {
  token?: string | null, headers?: Record<string, string>, method?: 'GET' | 'HEAD' | 'PUT'
} = {}): Promise<Answer> {
  const response = await app.inject({
    method, url: `/api${path}`, headers: { ...(token !== null && { authorization: `Bearer ${token}` }), ...headers }
  })
  const isJson = String(response.headers['content-type']).startsWith('application/json') && response.body !== ''
  return {
    status: response.statusCode,
    headers: response.headers,
    text: response.body,
    json: isJson ? JSON.parse(response.body) : undefined
  }
}

/** Creates the configuration of a token that equals its name. */
export function tokenFor (
  name: string, permissions: NonNullable<TokenOptions['permissions']>, databases?: TokenOptions['databases']
): TokenOptions {
  return { name, sha256: hashToken(name), permissions, ...(databases !== undefined && { databases }) }
}

/** Returns all references in a document. */
export function referencesIn (value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(
    ([key, item]) => key === '$ref' && typeof item === 'string' ? [item] : referencesIn(item)
  )
}
