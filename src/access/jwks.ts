/** Downloads JSON Web Key Sets (RFC 7517). */
import type { JWK } from 'jose'

/** Time limit for a download, in milliseconds. */
const TIMEOUT = 5000
/** Maximum size of a key set, in bytes. */
const MAX_BYTES = 2 ** 20

const KEY_TYPES: ReadonlySet<unknown> = new Set(['RSA', 'EC', 'OKP'])

/** A public key that a token can name. */
export type NamedKey = JWK & { readonly kid: string }

/**
 * Downloads the public keys that verify signatures and have a `kid`. Redirects are not followed: they could lead from https to http.
 * @throws Error with a reason that may be logged
 */
export async function downloadKeys (url: URL, signal: AbortSignal): Promise<NamedKey[]> {
  const response = await fetch(url, {
    redirect: 'manual',
    headers: { accept: 'application/jwk-set+json, application/json' },
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)])
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`status ${response.status}`)
  }
  const keys = parseKeys(await readText(response))
  if (keys === undefined) throw new Error('not a JSON Web Key Set')
  return keys.filter(isNamedKey)
}

async function readText ({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error(`larger than ${MAX_BYTES} bytes`) // leaving the loop cancels the download
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parseKeys (text: string): unknown[] | undefined {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown }
    return Array.isArray(keys) ? keys : undefined
  } catch {
    return undefined
  }
}

/** Excludes keys for encryption, and private or symmetric keys, which a set may contain by mistake. */
function isNamedKey (value: unknown): value is NamedKey {
  if (typeof value !== 'object' || value === null) return false
  const { kid, kty, use = 'sig', d } = value as Record<string, unknown>
  return typeof kid === 'string' && KEY_TYPES.has(kty) && use === 'sig' && d === undefined
}

/** The reason for the log: the code of a system error, or a message of this file, but never a message of Node, which can contain the URL. */
export function reasonOfDownload (error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: { code?: string } }
  if (name === 'TimeoutError') return 'timeout'
  return name === 'Error' ? message : cause?.code ?? name
}
