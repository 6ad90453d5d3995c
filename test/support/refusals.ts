/** Checks the form of error responses and that they disclose nothing. */
import type { Test } from 'tap'
import type { Answer } from './service.ts'

/** Internal information: address and account of the database, the driver, SQL, a stack trace. */
const LEAKS = [
  /127\.0\.0\.1|localhost|\broot\b|\bt_[0-9a-f]{12}\b|\/tmp\/|\.db\b/i,
  /\bER_[A-Z]|SQLITE_|SQLSTATE|errno|ECONN|ETIMEDOUT|mysql2?\b|mariadb\b/,
  /(select|insert into|update|delete from) [`"]|information_schema|FST_ERR/i,
  /node_modules|\.ts:\d|\bat \w+ \(/
]

/** Asserts the status, code and form of an error response. */
export function isRefusal (t: Test, answer: Answer, expected: { status: number, code: string, why: string }): void {
  const { status, code, why } = expected
  t.same([answer.status, answer.json?.error?.code], [status, code], why)
  t.same(faultsOf(answer), [], `${why}: the answer is the envelope and gives nothing away`)
}

/** Returns the faults in the form of an error response. */
export function faultsOf ({ headers, text, json }: Answer): string[] {
  const { error = {} } = json ?? {}
  const faults: string[] = []
  const must = (holds: unknown, fault: string): void => {
    if (holds !== true) faults.push(`${fault}: ${text.slice(0, 300)}`)
  }
  must(keys(json) === 'success,data,error' && json.success === false &&
    keys(json.data) === '', 'not {success: false, data: {}, error}')
  must(keys(error) === 'code,message,details', 'not {code, message, details}')
  must(typeof error.message === 'string' && error.message !== '', 'no message')
  must(Array.isArray(error.details) && error.details.every(isDetail), 'details that are none')
  must(headers['content-type'] === 'application/json; charset=utf-8', 'not JSON by its header')
  must(/^[\x20-\x7e]{1,128}$/.test(String(headers['x-request-id'])), 'no x-request-id')
  for (const leak of LEAKS) must(!leak.test(text), `says ${leak.exec(text)?.[0]}`)
  return faults
}

const keys = (value: unknown): string
  | undefined => typeof value === 'object' && value !== null ? Object.keys(value).join() : undefined

/** Each detail has a JSON Pointer (empty if it is not about a part of the body) and a message. */
function isDetail (detail: { path: unknown, message: unknown }): boolean {
  return keys(detail) === 'path,message' && typeof detail.message === 'string' &&
    /^(\/([^~/]|~[01])*)*$/s.test(detail.path as string)
}

/** Returns the results of several selects, to compare them later. */
export async function dump (
  sql: (statement: string) => Promise<any[]>, selects: readonly string[]
): Promise<unknown[]> {
  const rows: unknown[] = []
  for (const select of selects) rows.push((await sql(select)).map((row) => ({ ...row })))
  return rows
}
