import t from 'tap'
import * as errors from '../src/errors.ts'
import { codeBlocks, readDocument, tableRows } from './support/markdown.ts'
import { anyEngine } from './support/rotation.ts'
import { onEachEngine, type Schema, startService, TOKEN } from './support/service.ts'
import { shop } from './support/shop.ts'
import { startUnforeseen, unforeseen } from './support/unforeseen.ts'

const {
  at,
  catalogue,
  mayBeNew,
  ServiceError,
  toErrorBody,
  isBug,
  isTrouble,
  isTemporary,
  withDetails,
  withReason,
  withRetryAfter,
  isUnauthenticated,
  isServiceError,
  copyOf,
  toReadable,
  toWritable,
  pointer,
  didYouMean,
  findNearest,
  ...refusals
} = errors
const document = readDocument('docs/errors.md')
/** In cells a bar is written \|. */
const documented = tableRows(document.replaceAll('\\|', '¦'), 'code', 'status', 'when', 'do').map(
  ([code = '', status, when, advice]) => ({ code: code.replaceAll('`', ''), status: Number(status), when, advice })
)

t.test('docs/errors.md describes every error with its status, once, and no other', async (t) => {
  t.same(documented.map(({ code, status }) => [code, status]).toSorted(), [...catalogue].toSorted())
  for (const { code, when } of documented) t.ok(when, `${code} says when`)
  const statuses = documented.map(({ status }) => status)
  t.same(statuses, statuses.toSorted((a, b) => a - b), 'in the order of their statuses')
})

t.test('docs/errors.md says which requests may be retried', async (t) => {
  const known = Array.from(document.matchAll(/^- \*\*(.+)\*\*:/gm), ([, advice]) => advice)
  t.same([...new Set(documented.map(({ advice }) => advice))].toSorted(), known.toSorted())
  const advised = (advice: string): number[] => [
    ...new Set(documented.filter((row) => row.advice === advice).map(({ status }) => status))
  ]
  t.same(advised('again'), [408, 409, 429, 503], 'those with Retry-After')
  t.same(advised('once more'), [504])
  t.same(advised('look'), [502])
})

await onEachEngine(t, 'the example of docs/errors.md is a real response', {
  schema: shop, only: await anyEngine(t)
}, async (t, { post }) => {
  const blocks = new Map(codeBlocks(document).map(({ kind, text }) => [kind, text]))
  const answer = await post('customers', blocks.get('json request') as string)
  t.equal(answer.status, 400)
  t.strictSame(answer.json, JSON.parse(blocks.get('json response') as string))
})

t.test('every error has its code and status, and only bugs have a stack', async (t) => {
  const made = Object.values(refusals).map(
    (refuse) => (refuse as (...args: unknown[]) => errors.ServiceError)('one', 'two')
  )
  t.same(
    [...new Set(made.map(({ code }) => code))].toSorted(), [...catalogue.keys()].toSorted(), 'each code can be made'
  )
  t.notOk(isServiceError(new class extends ServiceError {}('of an app')))
  for (const error of made) {
    t.equal(String(error), `ServiceError [${error.code}]: ${error.message}`)
    t.equal(error.constructor.name, 'ServiceError', 'also in logs')
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

t.test('what the catalog causes may be new: always for some codes, and for others where it is marked', async (t) => {
  const made = Object.values(refusals).map((create) => (create as (...args: string[]) => errors.ServiceError)('a', 'b'))
  const codes = made.filter((error) => error.mayBeNew === true).map(({ code }) => code)
  t.same([...new Set(codes)].toSorted(), [
    'BROKEN_DEFINITION', 'COLUMN_NOT_FOUND', 'COLUMN_NOT_WRITABLE', 'FILTERS_REQUIRED', 'INVALID_ORDER_BY',
    'INVALID_VALUE', 'MISSING_COLUMN', 'NOT_NULL_VIOLATION', 'NOT_SUPPORTED', 'TABLE_NOT_FOUND'
  ])
  t.same(made.filter(({ code, mayBeNew }) => codes.includes(code) && mayBeNew !== true), [], 'whatever made them')
  t.equal(mayBeNew(errors.invalidBody('a')).mayBeNew, true)
  t.equal(mayBeNew(errors.invalidOrderBy('a')).mayBeNew, true)
})

t.test('messages contain what the client sent unchanged, and no arguments without a placeholder', async (t) => {
  t.equal(
    errors.columnNotFound('100%s %d %%', 'table "a%j"').message, 'Column "100%s %d %%" does not exist in table "a%j"'
  )
  t.equal((errors.deadlock as (reason: string) => errors.ServiceError)('secret')
    .message, 'The statement was rolled back because of a deadlock; nothing was changed')
})

t.test('the body of an error has details, possibly empty, and never the reason', async (t) => {
  const refusal = withReason(errors.tableNotFound('a', 'b'), 'ER_SECRET')
  t.equal(refusal.reason, 'ER_SECRET')
  t.strictSame(toErrorBody(refusal), {
    success: false,
    data: {},
    error: {
      code: 'TABLE_NOT_FOUND', message: 'Table "a" does not exist in database "b"', details: []
    }
  })
  t.notOk(Object.hasOwn(withReason(errors.deadlock(), undefined), 'reason'))
  t.same(
    [0, 1, 1000, 1001].map((milliseconds) => withRetryAfter(errors.deadlock(), milliseconds).retryAfter), [1, 1, 1, 2],
    'a retry takes at least a second'
  )
  const detail = { path: pointer('data', 'a/b~c', 0), message: 'why' }
  t.equal(detail.path, '/data/a~1b~0c/0', 'a JSON Pointer (RFC 6901)')
  t.strictSame(toErrorBody(withDetails(errors.invalidBody('no'), detail)).error.details, [detail])
})

/** Values of rows that no request below carries; no answer and no line of the log may carry them either. */
const VALUES = /grace@|likes %|zoë@|zoe@|rush it|1000000\.01/i
const SQL = /\b(select|insert into|delete from|update)\b.*\b(from|values|where|set)\b|_schema\b/i
/** What the servers say of a statement. */
const SAID = /constraint failed|duplicate entry|violat(es|ed) |near "|you have an error|doesn't exist|no such/i
const STACK = /\n +at |\bat [^"]*:\d+:\d+|node:internal|\.ts:\d/
/** What the servers' own errors say of the account, the host and the database. */
const SERVER = /leaky|secret|127\.0\.0\.1|localhost|\bt_[0-9a-f]{12}|test\.db/

const leaks = [VALUES, SQL, SAID, STACK, SERVER]

interface Failure {
  body: unknown,
  status: number,
  table?: string,
  database?: string,
  token?: string
  | null,
  headers?: Record<string, string>,
  method?: 'GET'
}

const verb = 'select'
const failures: Failure[] = [
  { body: 'no JSON {', status: 400 },
  { body: { verb: 'drop' }, status: 400 },
  { body: { verb, filters: { "x' or 1 = 1": 1 } }, status: 400 },
  { body: { verb, orderBy: "id; drop table customers -- '" }, status: 400 },
  { body: { verb }, table: "customers' --", status: 404 },
  { body: { verb }, table: 'user', database: 'mysql', status: 404 },
  { body: { verb }, token: null, status: 401 },
  { body: { verb }, token: 'some-token-that-nobody-has', status: 401 },
  { body: { verb }, headers: { 'content-type': 'text/plain' }, status: 415 },
  { body: '', method: 'GET', status: 405 },
  { body: { verb: 'delete', filters: {} }, status: 400 },
  { body: { verb: 'insert', data: { name: 'me', email: 'ada@example.com' } }, status: 409 },
  { body: { verb: 'update', data: { id: 4 }, filters: { id: { $gte: 3 } } }, status: 409 },
  { body: { verb: 'update', data: { email: 'same@example.com' }, filters: { id: [2, 4] } }, status: 409 },
  { body: { verb: 'delete', filters: { id: 2 } }, status: 409 },
  { body: { verb: 'insert', data: { customer_id: 99 } }, table: 'orders', status: 409 },
  { body: { verb: 'update', data: { credit: '-500.00' }, filters: { id: 2 } }, status: 422 },
  { body: { verb: 'update', data: { name: null }, filters: { id: 2 } }, status: 422 },
  { body: { verb: 'insert', data: { a: 1 } }, table: 'unforeseen', status: 500 },
  { body: { verb }, table: 'dropped', status: 503 },
  { body: { verb: 'insert', data: { a: 1 } }, table: 'dropped', status: 503 }
]

const schema: Schema = {
  mysql: [...shop.mysql, ...unforeseen.mysql, 'create table dropped (a int null)'],
  sqlite: [...shop.sqlite, ...unforeseen.sqlite, 'create table dropped (a int null)']
}

await onEachEngine(t, 'neither answers nor the log contain SQL, hosts, accounts, tokens, stacks or ' +
  'values of other rows', { schema }, async (t, service) => {
  const { post, log } = await startUnforeseen(t, service)
  await service.sql('drop table dropped')
  for (const { body, status, table = 'customers', ...options } of failures) {
    const what = `${table} ${JSON.stringify(body)}`
    const answer = await post(table, body, options)
    t.equal(answer.status, status, what)
    // what the request itself said may come back to it
    const text = (answer.text + JSON.stringify(answer.headers)).replaceAll(table, '').replaceAll(
      /[;'] ?(drop table customers )?(or 1 = 1|--)/g, ''
    )
    for (const leak of leaks) t.notMatch(text, leak, what)
  }
  const stacks = log.splice(0).filter((line) => {
    const { err, ...rest } = JSON.parse(line)
    for (const leak of [...leaks, new RegExp(TOKEN), /some-token/]) {
      t.notMatch(
        JSON.stringify({ ...rest, req: rest.req?.method }), leak, line
      )
    }
    if (err === undefined) return false
    for (const leak of [VALUES, SQL, SERVER]) t.notMatch(JSON.stringify({ ...err, stack: '' }), leak, line)
    for (const leak of [VALUES, SERVER]) t.notMatch(err.stack, leak, line)
    t.notMatch(err.stack.split('\n')[0], SQL, line)
    return STACK.test(err.stack)
  })
  t.equal(stacks.length, 1, 'the error that nobody foresaw is logged with its stack')
})

/** What a service that cannot reach its database says and logs about it. */
await onEachEngine(t, 'an error of an unusable database does not contain its host, ' +
  'account or password', { schema: shop, only: ['mariadb', 'mysql'] }, async (t, { url }) => {
  const changed = (parts: Partial<URL>): string => Object.assign(new URL(url), parts).href
  const wrong: Array<[reason: string, url: string]> = [
    ['ER_ACCESS_DENIED_ERROR', changed({ username: 'leaky', password: 'secret' })],
    ['ER_BAD_DB_ERROR', changed({ pathname: '/secret' })],
    ['ECONNREFUSED', changed({ port: '1', password: 'secret' })]
  ]
  for (const [reason, url] of wrong) {
    const { post, log } = await startService(t, url)
    for (const body of [{ verb }, { verb: 'insert', data: { name: 'x' } }]) {
      const answer = await post('customers', body)
      t.equal(answer.status, 503, reason)
      t.equal(answer.text, '{"success":false,"data":{},"error":{"code":"DATABASE_UNAVAILABLE","message":"The ' +
        'database is not available; nothing was changed","details":[]}}')
      t.equal(answer.headers['retry-after'], '1')
    }
    for (const leak of [...leaks, new RegExp(TOKEN)]) t.notMatch(log.join(''), leak, reason)
    t.match(JSON.parse(log[0] as string), {
      database: 'shop', code: 'DATABASE_UNAVAILABLE', reason, msg: 'the catalog could not be read'
    })
  }
})
