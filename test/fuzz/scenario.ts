/**
 * Sends bodies one after the other to a table with known rows and checks each response against the contract and the
 * model.
 */
import type { Answer, Service } from '../support/service.ts'
import { Counterexample } from './campaign.ts'
import { contractFaults } from './contract.ts'
import { checkEffect, checkUnexpected, Mismatch, rowsOf } from './effects.ts'
import { read } from './json.ts'
import { predict, saysNothing } from './model.ts'
import type { Sent } from './mutations.ts'
import { checkPages, findWhole } from './pages.ts'
import type { FuzzTable } from './tables.ts'

/** Maximum characters of a body or a response in a report. */
const SHOWN = 1500

/** A request and its response. */
export interface Step { readonly sent: Sent, readonly answer: Answer }

/** @throws Counterexample */
export async function runScenario ({ post }: Service, table: FuzzTable, bodies: readonly Sent[]): Promise<void> {
  await table.reset()
  const dump = async (): Promise<string> =>
    (await post(table.name, '{"verb":"select","orderBy":"id","limit":1000}')).text
  const ask = (body: object): Promise<Answer> => post(table.name, JSON.stringify(body))
  let shown = await dump()
  let rows = rowsOf(shown)
  const steps: Step[] = []
  try {
    for (const sent of bodies) {
      const body = parsed(sent)
      const selected = await selectedBefore(post, table, body)
      const whole = await findWhole(ask, table, body, rows)
      const answer = await post(table.name, sent.payload, { headers: sent.headers })
      steps.push({ sent, answer })
      const [fault] = contractFaults(answer, body?.verb)
      if (fault !== undefined) throw new Mismatch(fault)
      checkRefusal(sent, answer, body, table)
      if (answer.json?.error?.code === 'EXPECTATION_FAILED') {
        checkUnexpected({
          table, body, answer, before: rows, after: rows, selected
        })
      }
      if (answer.status !== 200) continue
      const changed = body.verb !== 'select'
      const now = changed ? await dump() : shown
      const after = changed ? rowsOf(now) : rows
      checkEffect({ table, body, answer, before: rows, after, selected })
      await checkPages(ask, table, body, { answer, whole })
      shown = now
      rows = after
    }
    if (await dump() !== shown) throw new Mismatch('a request that was refused changed something')
  } catch (error) {
    throw error instanceof Mismatch ? new Counterexample(describe(table, error, steps)) : error
  }
}

/** Parses the body if it is JSON. */
export function parsed ({ payload }: Sent): any {
  try {
    return read(String(payload))
  } catch {
    return undefined
  }
}

/** The ids of a select with the filters of a write, if the model cannot predict them. */
async function selectedBefore (post: Service['post'], table: FuzzTable, body: any): Promise<Set<string> | undefined> {
  const { verb, filters } = body ?? {}
  if ((verb !== 'update' && verb !== 'delete') || typeof filters !== 'object' || filters === null ||
    predict(filters, table) !== undefined) return undefined
  const { status, text } = await post(
    table.name, JSON.stringify({ verb: 'select', columns: ['id'], limit: 1000, filters })
  )
  return status === 200 ? new Set(rowsOf(text).keys()) : undefined
}

/** Errors that a valid body can cause. */
function pardons (body: any, table: FuzzTable): string[] {
  const { verb, data } = body
  return [
    // a character that the column's character set lacks; a generated column that overflows
    ...table.name === 'texts' || verb !== 'select' ? ['VALUE_OUT_OF_RANGE'] : [],
    // a sum
    ...JSON.stringify(body.aggregates)?.match(/\$sum|\$avg/) ? ['VALUE_OUT_OF_RANGE'] : [],
    ...table.engine === 'sqlite' && JSON.stringify(body).includes('\\u0000') ? ['INVALID_VALUE'] : [],
    ...[data, body.onConflict?.set].flat().some((row) => row?.id === null || row?.level === null)
      ? [
          'NOT_NULL_VIOLATION'
        ]
      : [],
    ...verb === 'update' || verb === 'delete' ? ['FILTERS_REQUIRED'] : [],
    ...verb === 'update' || verb === 'insert' ? ['UNIQUE_VIOLATION'] : [],
    ...body.onConflict !== undefined && body.returning !== undefined ? ['NOT_SUPPORTED'] : [],
    ...body.expect !== undefined ? ['EXPECTATION_FAILED'] : []
  ]
}

/** A valid body is refused only for known reasons. */
function checkRefusal ({ valid, code: expected }: Sent, { status, json }: Answer, body: any, table: FuzzTable): void {
  if (expected !== undefined &&
    expected !== json.error?.code) throw new Mismatch(`${json.error?.code ?? status} and not ${expected}`)
  if (!valid || status === 200) return
  const { code } = json.error
  if (!pardons(body, table).includes(code)) throw new Mismatch(`${code} for a body that nothing is wrong with`)
  if (code === 'FILTERS_REQUIRED' && predict(body.filters, table) !== undefined &&
    !saysNothing(body.filters, table)) throw new Mismatch('FILTERS_REQUIRED for filters that say something')
}

/** Describes the fault and the requests that led to it. */
export function describe ({ name, engine }: FuzzTable, { message }: Error, steps: readonly Step[]): string {
  const lines = steps.map(({ sent, answer }, index) => {
    const bytes = typeof sent.payload === 'string' ? sent.payload : `(base64) ${sent.payload.toString('base64')}`
    const headers = Object.keys(sent.headers).length === 0 ? '' : ` ${JSON.stringify(sent.headers)}`
    return `${index + 1}. ${bytes.slice(0, SHOWN)}${headers}\n   -> ${answer.status} ${answer.text.slice(0, SHOWN)}`
  })
  return [`${message} (${engine}, table ${name}, rows as at the start, then:)`, ...lines].join('\n')
}
