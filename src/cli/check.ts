import { KeyObject } from 'node:crypto'
import { type JwtIssuer, downloadKeys, reasonOfDownload } from '../access/key-set.ts'
import { loadConfig, splitConfig } from '../config/load.ts'
import { resolveSettings } from '../config/settings.ts'
import { checkDatabase } from './check/check-database.ts'
import { checkTokens, type Findings, findings, has, listGrants, write } from './check/findings.ts'
import { COMMANDS, parseFlags } from './commands.ts'
import { openDemo } from './demo.ts'

/** Downloads the keys of issuers, as the service does. The URLs are not shown. */
async function checkIssuers (issuers: readonly JwtIssuer[]): Promise<Findings> {
  return (await Promise.all(issuers.map(checkIssuer))).flat()
}

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
 * account and their risks, and what each token and role may do and can do; then whether tokens and the keys of issuers
 * can be used. Returns the exit code: 1 if a database does not answer, there is an error or, with `--strict`, a
 * warning; otherwise 0.
 */
export async function check (args: string[]): Promise<number> {
  const { values } = parseFlags('check', { args, options: COMMANDS.check.flags })
  const { config, demo } = loadConfig(process.env, values)
  const { options } = splitConfig(config)
  openDemo(demo)
  const settings = resolveSettings(options)
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
    grants: listGrants(settings)
  }
  for (const database of databases) {
    const { heading, answers, findings } = await checkDatabase(database, context)
    report(heading, findings, answers)
  }
  const general = [...checkTokens(settings), ...await checkIssuers(jwt)]
  if (general.length > 0) report('tokens and keys:', general)
  return failures === 0 ? 0 : 1
}
