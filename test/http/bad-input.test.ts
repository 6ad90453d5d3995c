/** Bodies that are refused: with which code, at which place, and what the message and the log say. */
import t, { type Test } from 'tap'
import { parseSafely } from '../../src/json/exact-json.ts'
import { tokenFor, tokenOf } from '../grants/support.ts'
import { badBodies, type BadBody } from '../support/bad-bodies.ts'
import { badValuesByTable, EVERYTHING, shopAndOdd } from '../support/bad-values.ts'
import { dump, isRefusal } from '../support/refusals.ts'
import { anyEngine } from '../support/rotation.ts'
import { type Service, sharedOnEachEngine } from '../support/service.ts'

/** Sends each body and checks the answer, the statements and every row of the database. */
async function refuseAll (
  t: Test, { post, statements, sql }: Service, table: string, bodies: readonly BadBody[]
): Promise<void> {
  const before = await dump(sql, EVERYTHING)
  statements()
  for (const { why, body, status, code, path } of bodies) {
    const answer = await post(table, body)
    isRefusal(t, answer, { status, code, why })
    t.same(
      [answer.json.error.details[0]?.path, statements()], [path, []],
      `${why}: it says where, and nothing was asked of the database`
    )
  }
  t.same(await dump(sql, EVERYTHING), before, 'no row changed')
}

const test = sharedOnEachEngine(t, {
  only: await anyEngine(t),
  schema: (engine) => [
    ...shopAndOdd(engine),
    'create table bills (id int primary key, tenant int)',
    'insert into bills values (1, 1), (2, 1), (3, 2)', 'create table keyless (n int)',
    engine === 'sqlite'
      ? 'create table documents (id integer primary key, "größe" text, value json)'
      : 'create table documents (id int primary key, `größe` varchar(20), value json)'
  ],
  options: { requestLog: true },
  tokens: [
    tokenOf('reader', { permissions: ['select'] }), tokenOf('old', { expires: '2020-01-01' }),
    tokenFor('tenant', { bills: { rows: { tenant: { $claim: '/tenant' } } } })
  ]
})

await test('a body that does not have the form of a request is rejected and changes nothing', async (t, service) => {
  await refuseAll(t, service, 'customers', badBodies)
})

await test('a body that does not fit its table is rejected and changes nothing', async (t, service) => {
  for (const [table, bodies] of badValuesByTable) await refuseAll(t, service, table, bodies)
})

await test('messages name the table, the place and the cause', async (t, { post }) => {
  const messageOf = async (body: unknown, table = 'bills'): Promise<string> =>
    (await post(table, body)).json.error.message
  for (const body of ['', ' \n ']) t.equal(await messageOf(body), 'The body is not valid JSON: the body is empty')
  t.equal(
    await messageOf('{"verb": "select",\n  "limit": 1,\n}'), 'The body is not valid JSON: error at line 3 column 1'
  )
  t.equal(await messageOf('{"verb": select}'), 'The body is not valid JSON: error at line 1 column 10')
  t.equal(await messageOf('{"verb": "select"'), 'The body is not valid JSON: error at line 1 column 18')
  t.match(await messageOf('['.repeat(100_000)), /cannot be parsed/)

  t.match(await messageOf({ verb: 'select', columns: ['id', '*'] }), /: leave out "columns" for all columns$/)
  t.match(await messageOf({ verb: 'select', after: null }, 'keyless'), /^table "keyless" has no primary key/)
})

await test('the log names an expired token, and says why a permission is missing', async (t, { post, log }) => {
  const lineFor = async (token: string, body: unknown) => {
    log.splice(0)
    await post('bills', body, { token })
    return JSON.parse(log.at(-1) as string)
  }
  const select = { verb: 'select' }
  t.match(await lineFor('old', select), { status: 401, code: 'UNAUTHENTICATED', reason: 'the token "old" has expired' })
  t.equal((await lineFor('old?', select)).reason, undefined, 'a token that nobody knows')
  t.match(await lineFor('reader', { verb: 'delete', filters: { id: 1 } }), {
    status: 403, token: 'reader', reason: 'The token does not have the permission delete'
  })
  t.match(await lineFor('tenant', select), {
    status: 403, token: 'tenant', reason: 'The claim "/tenant" is missing or cannot be used'
  })
})

// Keys with escapes, as PHP and Python send each name that is not ASCII.

await test('a key with an escape is stored as it is, whatever other clients have sent', async (t, service) => {
  const insert = (id: number, value: string, column = 'value'): string =>
    `{"verb":"insert","data":{"id":${id},"${column}":${value}}}`
  const keys = [
    ['caf\\\\', 'caf\\u00e9', 'café'], ['\\\\', '\\n', '\n'], ['https:\\\\/', 'https:\\/\\/', 'https://']
  ] as const
  for (const [at, [poison, key, name]] of keys.entries()) {
    const [first, second] = [at * 4, at * 4 + 2]
    for (const [more, number] of [[first, '2'], [second, '12345678901234567']] as const) {
      t.match(await service.post('documents', insert(more, `{"id":1,"${poison}":${number}}`)), { status: 200 })
      t.match(await service.post('documents', insert(more + 1, `{"id":1,"${key}":${number}}`)), { status: 200 })
      const [{ text: stored }] = await service.sql(`select cast(value as ${
        service.engine === 'sqlite' ? 'text' : 'char'
      }) as text from documents where id = ${more + 1}`) as [{ text: string }]
      t.same(Object.keys(parseSafely(stored, Number) as object).sort(), ['id', name].sort(), `${key} after ${poison}`)
    }
  }
})

await test('a column whose name has an escape is found, whatever other clients have sent', async (t, service) => {
  t.match(await service.post('documents', '{"verb":"insert","data":{"id":1,"gr\\\\u00":"x"}}'), {
    status: 400, json: { error: { code: 'COLUMN_NOT_FOUND' } }
  })
  t.match(await service.post('documents', '{"verb":"insert","data":{"id":1,"gr\\u00f6\\u00dfe":"x"}}'), { status: 200 })
  t.match(
    await service.operate('{"operations":[{"table":"documents","verb":"select","filters":{"gr\\u00f6\\u00dfe":"x"}}]}'),
    { status: 200, json: { data: { results: [{ count: 1 }] } } }
  )
})
