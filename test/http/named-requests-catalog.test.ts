/**
 * Named requests whose tables change: the log, the errors while one does not fit, what `row-query check` says, and what
 * a public token can see.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { readTokenFile } from '../../src/access/token-settings.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { tokenFor } from '../grants/support.ts'
import { anyEngine } from '../support/rotation.ts'
import { numberedId } from '../support/definitions.ts'
import { callerOf, define, optional, param } from '../support/named-requests.ts'
import { runInProcess } from '../support/command.ts'
import { onEachEngine, TOKEN, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const schema = () => [
  'create table things (id int primary key, name varchar(20), secret varchar(20), tenant int)',
  "insert into things values (1, 'a', 's', 1), (2, 'b', 't', 2)"
]
const roles = {
  front: {
    for: 'requests' as const,
    permissions: ['select' as const, 'insert' as const],
    databases: { shop: { things: { columns: { select: ['id', 'name'] }, rows: { tenant: { $claim: '/tenant' } } } } }
  }
}
const asFront = { as: 'front' }
const name = { name: optional }
const find = define('things', {
  verb: 'select', columns: ['id', 'name'], filters: { name: param('name') }
}, asFront)
const ids = (filters: object, parameters = {}) =>
  define('things', { verb: 'select', columns: ['id'], filters }, { ...asFront, parameters })
const other = ids({ id: param('id') }, { id: optional })
const named = ids({ name: param('name') }, name)
const own = define('things', find.body)
const lonely = { ...other, table: 'nowhere' }
const tokens = [
  callerOf('website', ['find', 'other', 'named'], { tenant: 1 }),
  callerOf('claimless', ['find']),
  { name: 'reader', sha256: hashToken('reader'), permissions: ['select' as const], databases: { shop: ['things'] } }
]

const only = await anyEngine(t)
const settings = { schema, only, tokens, options: { roles, requests: { find, other, named, own } } }

const call = async (service: Service, name: string, given: object, token = 'website') =>
  (await service.call(name, given, { token })).text
const code = (text: string): string => JSON.parse(text).error?.code ?? 'done'

await onEachEngine(t, 'a column that is renamed breaks the requests that name it, ' +
  'until it comes back', settings, async (t, service) => {
  const { sql, server, log } = service
  const state = async (): Promise<string[]> => [
    code(await call(service, 'find', { name: 'a' })), code(await call(service, 'other', {})),
    code(await call(service, 'own', { name: 'a' }, 'reader'))
  ]
  const settled = async (expected: string[]): Promise<void> => {
    await until(`${expected.join()}`, async () => {
      await server.rows.refresh()
      return JSON.stringify(await state()) === JSON.stringify(expected)
    })
    t.same(await state(), expected)
  }
  t.same(await state(), ['done', 'done', 'done'])
  await sql('alter table things rename column name to title')
  await settled(['BROKEN_DEFINITION', 'done', 'COLUMN_NOT_FOUND'])
  await until('it is broken also for a call without the parameter of the column', async () =>
    code(await call(service, 'named', {})) === 'BROKEN_DEFINITION')
  await until('the log says what does not fit', () => log.some((line) => line.includes('"request":"find"') &&
    line.includes('a named request does not fit') && line.includes('COLUMN_NOT_FOUND')))
  t.match(JSON.parse(await call(service, 'own', { name: 'a' }, 'reader')).error.details, [{ path: '/body/columns/1' }])
  await sql('alter table things rename column title to name')
  await settled(['done', 'done', 'done'])
  t.equal(code(await call(service, 'named', {})), 'done')
  await until('the log says that it fits again', () =>
    log.some((line) => line.includes('"request":"find"') && line.includes('a named request fits again')))
  t.pass('the log says so')
})

await onEachEngine(t, 'a table that is renamed, dropped, and comes back with ' +
  'other types', settings, async (t, service) => {
  const { sql } = service
  const seen = async (): Promise<string> => [
    code(await call(service, 'find', { name: 'a' })), code(await call(service, 'other', {})),
    code(await call(service, 'own', { name: 'a' }, 'reader'))
  ].join()
  // while the service looks, a table is not said to be gone
  const settles = async (expected: string): Promise<void> => {
    const states: string[] = []
    await until(expected, async () => {
      await service.server.rows.refresh()
      states.push(await seen())
      return states.at(-1) === expected
    })
    t.same(states.flatMap((state) => state.split(',')).filter((each) => ![
      'done', 'BROKEN_DEFINITION', 'TABLE_NOT_FOUND', 'DATABASE_UNAVAILABLE', ...expected.split(',')
    ].includes(each)), [], states.join(' '))
    t.notMatch(await call(service, 'find', { name: 'a' }), /things/)
  }
  await settles('done,done,done')
  await sql('alter table things rename to others')
  t.equal(code(await call(service, 'find', { name: 'a' })), 'DATABASE_UNAVAILABLE', 'while the service looks')
  await settles('BROKEN_DEFINITION,BROKEN_DEFINITION,TABLE_NOT_FOUND')
  await sql('alter table others rename to things')
  await settles('done,done,done')
  await sql('drop table things')
  await settles('BROKEN_DEFINITION,BROKEN_DEFINITION,TABLE_NOT_FOUND')
  await sql('create table things (id varchar(10) primary key, name int, secret varchar(20), tenant int)')
  await sql("insert into things values ('x', 5, 's', 1)")
  await settles('INVALID_VALUE,done,INVALID_VALUE')
  t.same(JSON.parse(await call(service, 'other', { id: 'x' })).data.rows, [{ id: 'x' }])
  t.same(JSON.parse(await call(service, 'find', { name: 5 })).data.rows, [{ id: 'x', name: 5 }])
  t.match(JSON.parse(await call(service, 'find', { name: 'a' }))
    .error, { code: 'INVALID_VALUE', details: [{ path: '/name' }] }, 'read by the new type')
})

await onEachEngine(t, 'what a public token does not see changes no byte', settings, async (t, service) => {
  const { sql } = service
  const calls: Array<[string, object, string?]> = [
    ['find', { name: 'a' }], ['find', { name: 'b' }], ['other', {}], ['other', { id: 2 }], ['other', { id: 'x' }],
    ['find', {}], ['own', { name: 'a' }], ['nothing', {}], ['find', { name: 'a' }, 'claimless']
  ]
  const world = async (): Promise<string[]> =>
    await Promise.all(calls.map(([name, body, token]) => call(service, name, body, token)))
  const before = await world()
  t.match(before[8], /PERMISSION_DENIED/)
  t.notMatch(before.join(), /secret|tenant|things/)
  await sql("update things set secret = 'x', name = 'a' where id = 2")
  await sql("insert into things values (3, 'a', 'u', 2)")
  t.same(await world(), before)
})

/** A request for things with a member. */
const member = (twin: object, parameter: string) => define('things', {
  verb: 'select', columns: ['id'], include: { twin: { table: 'things', ...twin } }
}, { parameters: { [parameter]: optional } })
const secret = param('secret')
const twinById = (filters: object) => member({ on: { id: 'id' }, columns: ['id', 'name'], filters }, 'secret')
const twinByTenant = (filters: object) => member({ on: { tenant: 'tenant' }, columns: ['id'], filters }, 'id')
const hiding = [
  tokenFor('narrow', { things: { permissions: ['select'], columns: { select: ['id', 'name', 'tenant'] } } }),
  tokenFor('writer', { things: { permissions: ['insert'] } }),
  tokenFor('all', { things: { permissions: ['select'] } })
]
const [misnamed, later] = [twinById({ secre: secret }), twinById({ added: secret })]
const turned = twinByTenant({ id: param('id') })

await onEachEngine(t, 'without an optional parameter, a call is refused as its caller would be, each time alike', {
  schema, tokens: hiding, options: { requests: { member: twinById({ secret }), misnamed, later, turned } }
}, async (t, service) => {
  t.match(JSON.parse(await call(service, 'member', {}, 'all')), { data: { count: 2 } })
  await service.sql('alter table things add column added varchar(20)')
  await until('a new column works as soon as a call looks for it', async () =>
    code(await call(service, 'later', {}, 'all')) === 'done')
  for (let count = 0; count < 3; count++) {
    const refused = await call(service, 'misnamed', {}, 'narrow')
    t.match(
      JSON.parse(refused).error, { code: 'COLUMN_NOT_FOUND', details: [{ path: '/body/include/twin/filters/secre' }] },
      'no value of the parameter causes it'
    )
    t.notMatch(refused, /"secret\\"/, 'no hidden column')
    t.match(JSON.parse(await call(service, 'turned', {}, 'all')).error, {
      code: 'INVALID_BODY', details: [{ path: '/body/include' }]
    })
    t.match(JSON.parse(await call(service, 'misnamed', {}, 'writer')).error, { code: 'PERMISSION_DENIED' })
  }
})

/** Only together with the parameter, an index serves the relation. */
const served = twinByTenant({ name: param('id') })
await onEachEngine(t, 'an optional parameter whose equality serves the relation of a member is refused', {
  schema: () => [...schema(), 'create index things_name on things (name, tenant)'],
  tokens: hiding,
  options: { requests: { served } }
}, async (t, service) => {
  for (const given of [{}, { id: 'a' }, {}]) {
    t.match(JSON.parse(await call(service, 'served', given, 'all')).error, {
      code: 'INVALID_BODY', details: [{ path: /^\/body\/include/ }]
    })
  }
})

const single = {
  ...member({ on: { id: 'id' }, columns: ['id'], filters: { id: param('id') } }, 'id'), ...asFront
}
await onEachEngine(t, 'with the rights of a role, a member that would have another form is a broken definition', {
  schema,
  tokens: [callerOf('website', '*', { tenant: 1 })],
  options: {
    roles: { front: { ...roles.front, databases: { shop: ['things'] } } },
    requests: { turned: { ...turned, ...asFront }, single }
  }
}, async (t, service) => {
  for (let count = 0; count < 2; count++) {
    for (const given of [{}, { id: 1 }]) {
      t.match(JSON.parse(await call(service, 'turned', given)).error, { code: 'BROKEN_DEFINITION', details: [] })
    }
    t.match(JSON.parse(await call(service, 'single', {})), { data: { count: 2 } })
  }
})

const emptied = {
  add: define('things', { verb: 'insert', data: { name: param('name') } }, { ...asFront, parameters: name }),
  change: define('things', {
    verb: 'update', filters: { id: 1 }, data: { name: param('name') }
  }, { ...asFront, parameters: name }),
  twice: define('things', {
    verb: 'update',
    filters: {},
    key: ['id'],
    data: ['one', 'other'].map((id) => ({ id: param(id), name: param('name') }))
  }, asFront),
  list: define('things', {
    verb: 'update', filters: {}, key: ['id'], data: [{ id: 1, name: param('name') }]
  }, { ...asFront, parameters: name })
}
await onEachEngine(t, 'a request fits if it does with all its parameters, and its members have one form', {
  schema: (engine) => [
    `create table things (${numberedId(engine)}, name varchar(20) not null, tenant int)`,
    'create index things_tenant on things (tenant)',
    "insert into things (id, name) values (1, 'a')"
  ],
  tokens: [callerOf('website', '*', { tenant: 1 })],
  options: {
    roles: { front: { ...roles.front, permissions: ['select', 'insert', 'update'], databases: { shop: ['things'] } } },
    requests: { ...emptied, turned: { ...turned, ...asFront } }
  }
}, async (t, service) => {
  const misfits = (): string[] => service.log.filter((line) => line.includes('does not fit'))
  await until('the last request is compared', () => misfits().length > 0)
  t.match(misfits(), [/"request":"turned".*a member that is one row would be a list/])
  for (const [request, given, expected] of [
    ['add', { name: 'b' }, 'done'], ['add', {}, 'MISSING_COLUMN'], ['change', { name: 'c' }, 'done'],
    ['change', {}, 'INVALID_BODY'], ['list', { name: 'd' }, 'done'], ['list', {}, 'INVALID_BODY']
  ] as const) t.equal(code(await call(service, request, given)), expected, `${request} ${JSON.stringify(given)}`)
  t.match(JSON.parse(await call(service, 'add', {})).error, {
    message: 'Parameter "name": has no default', details: [{ path: '/name' }]
  }, 'a column that is missing because the call left it out')
  t.match(JSON.parse(await call(service, 'twice', { one: 1, other: 1, name: 'a' })).error, {
    code: 'INVALID_BODY',
    message: 'Parameter "other": the entry finds the same row as entry 0',
    details: [{ path: '/other' }]
  }, 'the key of an entry causes its error')
  const keyed = await service.call('add', { name: 'b' }, { token: 'website', headers: { 'idempotency-key': 'one' } })
  t.match(keyed.json.error, {
    code: 'NOT_SUPPORTED', message: /^The database has no table for idempotency keys/
  }, 'the header is the caller\'s')
})

const search = define('texts', {
  verb: 'select',
  columns: ['id'],
  orderBy: 'id',
  filters: { $match: { columns: ['v'], text: param('words') }, id: { $gte: param('least') } }
}, { parameters: { words: optional, least: { default: 1 } } })
await onEachEngine(t, 'an optional text of a search takes the whole search away', {
  schema: (engine) => [
    `create table texts (id integer primary key, v varchar(60)${engine === 'sqlite' ? '' : ', fulltext key (v)'})`,
    "insert into texts values (1, 'red shoes'), (2, 'blue hats'), (3, 'red hats')",
    ...engine === 'sqlite'
      ? [
          "create virtual table words using fts5(v, content='texts', content_rowid='id')",
          "insert into words (words) values ('rebuild')"
        ]
      : []
  ],
  options: { requests: { search } }
}, async (t, service) => {
  const ids = async (body: object): Promise<unknown> => {
    const { data, error } = JSON.parse(await call(service, 'search', body, TOKEN))
    return error?.code ?? data.rows.map(({ id }: { id: number }) => id)
  }
  t.same(await ids({}), [1, 2, 3])
  t.same(await ids({ words: 'shoes' }), [1])
  t.same(await ids({ least: 2 }), [2, 3])
  t.same(await ids({ words: 'hats', least: 3 }), [3])
  for (const words of ['', '%', null, { $gt: 0 }, ['red']]) {
    t.equal(await ids({ words }), 'INVALID_VALUE', JSON.stringify(words))
  }
})

t.test('a token file that changes while the service runs names only requests that it can call', async (t) => {
  const path = join(t.testdir(), 'tokens.json')
  const write = (...requests: string[]): void =>
    writeFileSync(path, JSON.stringify([callerOf('website', requests)]))
  write('find')
  const options = { databases: { shop: { url: 'sqlite::memory:' } }, roles, requests: { find, own }, tokensFile: path }
  const { tokenFile } = resolveSettings(options)
  for (const [name, line] of [['fnd', 'tokensFile.0.requests.0: is not one of the "requests"; did you mean "find"?'], [
    'own', 'tokensFile.0.requests.0: "own" has no "as"'
  ]] as const) {
    write(name)
    t.throws(() => readTokenFile(tokenFile?.file as never), {
      errors: [new RegExp(`^${line.replace(/[.?]/g, '\\$&')}`)]
    })
    t.throws(
      () => resolveSettings(options), { errors: [new RegExp(`^${line.replace(/[.?]/g, '\\$&')}`)] }, 'as at the start'
    )
  }
})

t.test('check shows each request with its callers, and fails for one that does not fit', async (t) => {
  const folder = t.testdir({})
  const path = join(folder, 'row-query.json')
  const run = async (requests: object) => {
    writeFileSync(path, JSON.stringify({
      databases: { shop: { url: 'sqlite::memory:', setup: schema() } },
      tokens: tokens.map((token) => ({ ...token, ...('requests' in token && { requests: '*' }) })),
      roles: {
        front: { ...roles.front, databases: { shop: { ...roles.front.databases.shop, nowhere: {} } } },
        wide: { ...roles.front, databases: { shop: { things: { rows: { tenant: { $claim: '/tenant' } } } } } }
      },
      requests
    }))
    return await runInProcess(t as Test, ['check', '--config', path])
  }
  const page = (body: object, otherwise: unknown): object => ({
    ...find, parameters: { x: { default: otherwise } }, body: { ...find.body, filters: {}, orderBy: 'name', ...body }
  })
  const right = page({ after: { $param: 'x' } }, { name: 'a', id: 1 })
  const good = await run({ find, other, own, right })
  t.equal(good.code, 1, good.stdout)
  t.match(good.stdout, /error: request "find": each call of token "claimless" is refused: The claim "\/tenant"/)
  t.match(good.stdout, /request "find": GET, HEAD, POST \/api\/requests\/find: select on "things" as "front"; /)
  t.match(good.stdout, /; parameters name \(varchar\(20\)\); called by token "website", token "claimless"\n/)
  t.match(good.stdout, /request "other": .*parameters id \(\w+, optional\)/)
  t.match(good.stdout, /request "own": .*with the rights of the caller; .*called by token "reader"\n/)
  const wrong = {
    after: page({ after: { $param: 'x' } }, { x: 1 }),
    empty: page({ after: { $param: 'x' } }, {}),
    text: page({ filters: { id: { $param: 'x' } } }, 'abc'),
    form: page({ filters: { id: { $param: 'x' } } }, { $gt: 0 }),
    list: page({ filters: { id: { $in: { $param: 'x' } } } }, [{ $now: true }]),
    lonely,
    unheard: { ...own, table: 'hidden' },
    member: { ...turned, ...asFront }
  }
  const fixed = { ...find, as: 'wide', parameters: {}, body: { verb: 'insert', data: { name: 'a', tenant: 2 } } }
  const bad = await run({ fixed, ...wrong })
  t.equal(bad.code, 1)
  t.same(Array.from(bad.stdout.matchAll(/error: request "(\w+)": does not fit/g), ([, name]) => name),
    Object.keys(wrong), 'defaults that their places do not take, a table that is not there, a member')
  t.match(bad.stdout, /request "text": does not fit its tables: INVALID_VALUE at \/parameters\/x\/default: Column "id"/)
  t.match(bad.stdout, /error: request "fixed": each call of token "website" is refused: /)
  t.match(bad.stdout, /error: request "lonely": does not fit its tables: TABLE_NOT_FOUND/)
  t.match(bad.stdout, /request "unheard": .*; called by nobody\n/)
  t.match(bad.stdout, /warning: request "unheard": nobody may call it/)
})
