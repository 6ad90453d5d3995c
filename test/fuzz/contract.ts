/** Checks every response against the contract: it is complete and discloses no internal information. */
import { catalogue } from '../../src/errors.ts'
import type { Answer } from '../support/service.ts'
import { faultsOf } from '../support/refusals.ts'

/** Keys of `data` in the answer to each verb. */
const forms: Readonly<Record<string, RegExp>> = {
  select: /^rows,count(,next)?(,total)?$/,
  insert: /^(rows,)?inserted,(updated,unchanged,)?id(,outcomes)?(,dryRun)?$/,
  update: /^(rows,)?updated(,dryRun)?$/,
  delete: /^(rows,)?deleted(,dryRun)?$/
}

/** Returns the faults of a response; `allowed`: codes of status 500 and above that can occur. */
export function contractFaults (answer: Answer, verb: unknown, allowed: readonly string[] = []): string[] {
  const { status, json, headers } = answer
  const faults: string[] = []
  if (!/^[\x20-\x7e]{1,128}$/.test(String(headers['x-request-id']))) faults.push('no x-request-id')
  if (status === 200) {
    if (Object.keys(json).join() !== 'success,data' || json.success !== true) faults.push('not {success: true, data}')
    if (forms[String(verb)]?.test(Object.keys(json.data).join()) !== true) {
      faults.push(
        `"data" is not that of the verb ${String(verb)}`
      )
    }
    return faults
  }
  const code = json?.error?.code
  if (catalogue.get(code) !== status) faults.push(`${status} ${code} is no pair of the contract`)
  if (status >= 500 && !allowed.includes(code)) faults.push(`${status} ${code} while all is well`)
  return [...faults, ...faultsOf(answer)]
}
