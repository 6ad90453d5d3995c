import { KeyObject } from 'node:crypto'
import { downloadKeys, reasonOfDownload } from '../../access/key-set.ts'
import type { JwtIssuer } from '../../access/jwt-settings.ts'
import { findings, type Findings } from './findings.ts'

/** Downloads the keys of issuers, as the service does. The URLs are not shown. */
export async function checkIssuers (issuers: readonly JwtIssuer[]): Promise<Findings> {
  return (await Promise.all(issuers.map(checkIssuer))).flat()
}

async function checkIssuer ({ setting, keys }: JwtIssuer): Promise<Findings> {
  if (keys instanceof KeyObject) return []
  const name = `${setting}.jwks`
  try {
    const { length } = await downloadKeys(keys, new AbortController().signal)
    return length > 0 ? findings('line', [`${name}: answers, ${length} keys`]) : findings('error', [`${name}: has no public key with a "kid" that verifies signatures`])
  } catch (error) {
    return findings('error', [`${name}: the keys cannot be downloaded (${reasonOfDownload(error)})`])
  }
}
