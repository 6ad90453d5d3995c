import { KeyObject } from 'node:crypto'
import type { JwtIssuer } from '../access/jwt-settings.ts'
import { downloadKeys, reasonOfDownload } from '../access/key-set.ts'
import { checkDatabase } from './check/check-database.ts'
import { checkTokens, type Findings, findings, has, listGrants, write } from './check/findings.ts'
import { parseFlags } from './commands.ts'
import { loadSettings } from './one-database.ts'

/** Downloads the keys of an issuer, as the service does. The URL is not shown. */
async function checkIssuer ({ setting, keys }: JwtIssuer): Promise<Findings> {
  if (keys instanceof KeyObject) return []
  const name = `${setting}.jwks`
  try {
    const { length } = await downloadKeys(keys, new AbortController().signal)
    return length > 0
      ? findings('line', [`${name}: answers, ${length} keys`])
      : findings('error', [`${name}: has no public key with a "kid" that verifies signatures`])
  } catch (error) {
    return findings('error', [`${name}: the keys cannot be downloaded (${reasonOfDownload(error)})`])
  }
}

/**
 * `row-query check`: prints for each database whether it and its replicas answer, its tables, the privileges of the
 * account and their risks, the named requests, and what each token and role may do and can do; then whether tokens and
 * the keys of issuers can be used. Returns the exit code: 1 if a database does not answer, there is an error or, with
 * `--strict`, a warning; otherwise 0.
 */
export async function check (args: string[]): Promise<number> {
  const { values } = parseFlags('check', args)
  const { server: { prefix }, settings } = loadSettings(values)
  const { databases, jwt } = settings
  const isBad = (found: Findings): boolean => has(found, 'error') || (values.strict === true && has(found, 'warning'))
  let failures = 0
  const report = (heading: string, found: Findings, works = true): void => {
    process.stdout.write(write(heading, found))
    if (!works || isBad(found)) failures++
  }
  const context = {
    configured: databases.flatMap(({ address, replicas }) =>
      [...(address.engine === 'mysql' ? [address.address] : []), ...replicas].map(({ database }) => database)
    ),
    grants: listGrants(settings),
    requests: [...settings.requests?.values() ?? []],
    limits: settings.limits,
    prefix
  }
  for (const database of databases) {
    const { heading, answers, findings } = await checkDatabase(database, context)
    report(heading, findings, answers)
  }
  const general = [...checkTokens(settings), ...(await Promise.all(jwt.map(checkIssuer))).flat()]
  if (general.length > 0) report('tokens and keys:', general)
  return failures === 0 ? 0 : 1
}
