import { ConfigError } from '../../config-errors.ts'
import { ServiceError } from '../../errors.ts'

/** Reasons of a server that does answer, but cannot be used. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['ER_ACCESS_DENIED_ERROR', 'the server refuses the user name or the password'],
  ['ER_ACCESS_DENIED_NO_PASSWORD_ERROR', 'the server refuses the user name or the password'],
  ['ER_DBACCESS_DENIED_ERROR', 'the account has no privilege in the database, which may not exist'],
  ['ER_BAD_DB_ERROR', 'the server does not have the database'],
  ['ER_HOST_NOT_PRIVILEGED', 'the server does not accept connections of this machine'],
  ['ER_NOT_SUPPORTED_AUTH_MODE', 'the account logs in in a way that is not supported'],
  ['ER_CON_COUNT_ERROR', 'the server has too many connections'],
  ['ER_USER_LIMIT_REACHED', 'the account has too many connections']
])

/** Says why a database cannot be used, with the name of the error. @throws any other error, which is a bug */
export function describeConnectProblem (error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (!(error instanceof ServiceError)) throw error
  const { reason = error.code } = error
  // such as SERVER_TOO_OLD: …
  const said = REFUSALS.get(reason) ?? (reason.includes(': ') ? 'the server cannot be used' : 'does not answer')
  return `${said} (${reason})`
}
