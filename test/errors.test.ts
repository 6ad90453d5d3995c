import t from 'tap'
import * as errors from '../src/errors.ts'
import { codeBlocks, readDocument, tableRows } from './support/markdown.ts'
import { onEachEngine } from './support/service.ts'
import { shop } from './support/shop.ts'

const { at, catalogue, ServiceError, refusalOf, isBug, isTrouble, isTemporary, withDetails, withReason, withRetryAfter, isUnauthenticated, isServiceError, pointer, ...refusals } = errors
const document = readDocument('docs/errors.md')
/** In cells a bar is written \|. */
const documented = tableRows(document.replaceAll('\\|', '¦'), 'code', 'status', 'when', 'do').map(([code = '', status, when, advice]) => ({ code: code.replaceAll('`', ''), status: Number(status), when, advice }))

t.test('docs/errors.md describes every error with its status, once, and no other', async (t) => {
  t.same(documented.map(({ code, status }) => [code, status]).toSorted(), [...catalogue].toSorted())
  for (const { code, when } of documented) t.ok(when, `${code} says when`)
  const statuses = documented.map(({ status }) => status)
  t.same(statuses, statuses.toSorted((a, b) => a - b), 'in the order of their statuses')
})

t.test('docs/errors.md says which requests may be retried', async (t) => {
  const known = Array.from(document.matchAll(/^- \*\*(.+)\*\*:/gm), ([, advice]) => advice)
  t.same([...new Set(documented.map(({ advice }) => advice))].toSorted(), known.toSorted())
  const advised = (advice: string): number[] => [...new Set(documented.filter((row) => row.advice === advice).map(({ status }) => status))]
  t.same(advised('again'), [408, 409, 429, 503], 'those with Retry-After')
  t.same(advised('once more'), [504])
  t.same(advised('look'), [502])
})

await onEachEngine(t, 'the example of docs/errors.md is a real response', { schema: shop }, async (t, { post }) => {
  const blocks = new Map(codeBlocks(document).map(({ kind, text }) => [kind, text]))
  const answer = await post('customers', blocks.get('json request') as string)
  t.equal(answer.status, 400)
  t.strictSame(answer.json, JSON.parse(blocks.get('json answer') as string))
})

t.test('every error has its code and status, and only bugs have a stack', async (t) => {
  const made = Object.values(refusals).map((refuse) => (refuse as (...args: unknown[]) => errors.ServiceError)('one', 'two'))
  t.same([...new Set(made.map(({ code }) => code))].toSorted(), [...catalogue.keys()].toSorted(), 'each code can be made')
  t.notOk(isServiceError(new class extends ServiceError {}('of an app')))
  for (const error of made) {
    t.ok(isServiceError(error) && error instanceof ServiceError && error instanceof Error, error.code)
    t.equal(error.statusCode, catalogue.get(error.code), error.code)
    t.equal(/\n +at /.test(error.stack ?? ''), error.code === 'INTERNAL', `${error.code}: the stack`)
    t.notMatch(error.message, /%[sd]/, error.code)
    t.equal(isBug(error), error.statusCode === 500)
    t.equal(isTrouble(error), error.statusCode >= 500 || error.code === 'BROKEN_DEFINITION')
    t.equal(isTemporary(error), error.statusCode === 503)
    t.equal(isUnauthenticated(error), error.statusCode === 401)
  }
})

t.test('messages contain what the client sent unchanged, and no arguments without a placeholder', async (t) => {
  t.equal(errors.columnNotFound('100%s %d %%', 'table "a%j"').message, 'Column "100%s %d %%" does not exist in table "a%j"')
  t.equal((errors.deadlock as (reason: string) => errors.ServiceError)('secret').message, 'The statement was rolled back because of a deadlock; nothing was changed')
})

t.test('the body of an error has details, possibly empty, and never the reason', async (t) => {
  const refusal = withReason(errors.tableNotFound('a', 'b'), 'ER_SECRET')
  t.equal(refusal.reason, 'ER_SECRET')
  t.strictSame(refusalOf(refusal), { success: false, data: {}, error: { code: 'TABLE_NOT_FOUND', message: 'Table "a" does not exist in database "b"', details: [] } })
  t.notOk(Object.hasOwn(withReason(errors.deadlock(), undefined), 'reason'))
  t.same([0, 1, 1000, 1001].map((milliseconds) => withRetryAfter(errors.deadlock(), milliseconds).retryAfter), [1, 1, 1, 2], 'a retry takes at least a second')
  const detail = { path: pointer('data', 'a/b~c', 0), message: 'why' }
  t.equal(detail.path, '/data/a~1b~0c/0', 'a JSON Pointer (RFC 6901)')
  t.strictSame(refusalOf(withDetails(errors.invalidBody('no'), detail)).error.details, [detail])
})
