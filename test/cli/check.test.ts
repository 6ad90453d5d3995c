// night: runs the command many times
/** `row-query check`: what it prints of databases, accounts, grants, replicas and issuers, and what it finds wrong. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { TokenOptions } from '../../schemas/options.ts'
import { describeConnectProblem } from '../../src/cli/one-database.ts'
import { createShop } from '../../src/demo/shop.ts'
import { createMysqlDialect } from '../../src/dialects/mysql/dialect.ts'
import { databaseUnavailable } from '../../src/errors.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { tokenFor, tokenOf } from '../grants/support.ts'
import { createTestDatabase, engines, type Engine, type TestDatabase } from '../servers/engines.ts'
import { runInProcess } from '../support/command.ts'
import { addressOf } from '../support/mysql.ts'
import { TOKEN } from '../support/service.ts'
import { createUser } from '../support/users.ts'

const runCheck = (t: Test, args: readonly string[] = [], env: Record<string, string> = {}) => runInProcess(t, [
  'check', ...args
], { env })

const servers = await engines()

/** The findings of a kind in what is printed. */
const found = (stdout: string, kind = 'warning'): string[] =>
  Array.from(stdout.matchAll(new RegExp(`^ {2}${kind}: (.*)$`, 'gm')), ([, line = '']) => line)

const NO_TOKEN = 'tokens and keys:\n  warning: no token is configured, so all requests are refused\n'

const SCHEMA = [
  'create table orders (id int auto_increment primary key, place point null, note text null)',
  'create table items (order_id int not null, line int not null, primary key (order_id, line))',
  'create table logs (line text null)',
  'create view order_notes as select note from orders'
]

t.test('without configuration the demo is checked', async (t) => {
  const { code, stdout, stderr } = await runCheck(t as Test)
  t.equal(code, 0)
  t.match(stderr, /^row-query: no database is configured: created the demo in \/.*\/data\/demo\.db\n$/)
  t.match(stdout, /^demo: answers, 6 tables and views\n/)
  t.match(stdout, '\n  order_items: 6 columns, key order_id, line\n')
  t.match(stdout, '\n  order_totals: view, 4 columns\n')
  t.match(stdout, '\n  account: reads and writes the file\n')
})

for (const engine of servers) {
  t.test(`the tables of a database and the privileges of its account are printed (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, SCHEMA)
    const account = `c_${database.name.slice(2)}`
    await database.query(`create user '${account}'@'%' identified by 'hunter2'`)
    await database.query(`grant select, insert on ${database.name}.* to '${account}'@'%'`)
    t.teardown(async () => {
      await database.query(`drop user '${account}'@'%'`)
      await database.drop()
    })
    const url = new URL(database.url)
    url.username = account
    url.password = 'hunter2'
    const { code, stdout, stderr } = await runCheck(t as Test, [], { DATABASE_URL: url.href })
    t.same({ code, stderr }, { code: 0, stderr: '' })
    t.match(stdout, `${database.name}: answers, 4 tables and views\n`)
    t.match(stdout, '\n  items: 2 columns, key order_id, line\n')
    t.match(stdout, '\n  logs: 1 columns, no primary key\n')
    t.match(stdout, '\n  order_notes: view, 1 columns\n')
    t.match(stdout, new RegExp(`\n  account: GRANT SELECT, INSERT ON .${database.name}.\\.\\* TO`))
    t.notMatch(stdout, /hunter2|IDENTIFIED|\*[0-9A-F]{40}/)
  })

  t.test(`an account that is locked, or whose password has expired, is named so (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine)
    const account = `c_${database.name.slice(2)}`
    t.teardown(async () => {
      for (const suffix of ['l', 'e']) await database.query(`drop user '${account}${suffix}'@'%'`)
      await database.drop()
    })
    await database.query(`create user '${account}l'@'%' identified by 'hunter2' account lock`)
    await database.query(`create user '${account}e'@'%' identified by 'hunter2' password expire`)
    for (const suffix of ['l', 'e']) {
      await database.query(`grant select on ${database.name}.* to '${account}${suffix}'@'%'`)
    }
    for (const [suffix, said] of [['l', /^shop: the account is locked \(ER_ACCOUNT_HAS_BEEN_LOCKED\)\n/], [
      'e', /^shop: the password of the account has expired \(ER_MUST_CHANGE_PASSWORD(_LOGIN)?\)\n/
    ]] as const) {
      const url = Object.assign(new URL(database.url), { username: account + suffix, password: 'hunter2' }).href
      const cwd = t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url } } }) })
      const { code, stdout } = await runInProcess(t as Test, ['check', '--config', 'row-query.json'], { cwd })
      t.equal(code, 1)
      t.match(stdout, said)
    }
  })

  t.test(`a wrong password is distinguished from an unreachable server (${engine.name})`, async (t) => {
    const cwd = t.testdir()
    const config = {
      databases: {
        wrong: { url: engine.url.replace('root@', 'nobody:hunter2@') + '/shop' },
        gone: { url: 'mysql://root:hunter2@127.0.0.1:1/shop' },
        file: { url: 'sqlite:nowhere.db' },
        missing: { url: `${engine.url}/no_such_database` }
      }
    }
    writeFileSync(join(cwd, 'row-query.json'), JSON.stringify(config))
    const { code, stdout, stderr } = await runInProcess(t as Test, ['check', '--config', 'row-query.json'], { cwd })
    t.same({ code, stderr }, { code: 1, stderr: '' })
    t.same(stdout.trimEnd().split('\n'), [
      'wrong: the server refuses the user name or the password (ER_ACCESS_DENIED_ERROR)',
      'gone: does not answer (ECONNREFUSED)',
      'file: databases.file.url: nowhere.db does not exist',
      'missing: the server does not have the database (ER_BAD_DB_ERROR)',
      'tokens and keys:',
      '  warning: no token is configured, so all requests are refused'
    ])
  })
}

t.test('columns of unknown types are reported as not writable', async (t) => {
  const cwd = t.testdir()
  const database = new DatabaseSync(join(cwd, 'shop.db'))
  database.exec('create table odd (id integer primary key, what money, untyped)')
  database.close()
  const { code, stdout } = await runInProcess(t as Test, ['check'], { cwd, env: { DATABASE_URL: 'sqlite:shop.db' } })
  t.equal(code, 0)
  t.match(stdout, '\n  odd: 3 columns, key id; not writable: what money, untyped\n')
})

t.test('a damaged SQLite file is reported', async (t) => {
  const cwd = t.testdir()
  const path = join(cwd, 'shop.db')
  createShop(path)
  writeSync(openSync(path, 'r+'), Buffer.alloc(3000, 0xff), 0, 3000, 100)
  const { code, stdout } = await runInProcess(t as Test, ['check'], { cwd, env: { DATABASE_URL: 'sqlite:shop.db' } })
  t.same({ code, stdout }, {
    code: 1, stdout: 'shop: databases.shop.url: shop.db cannot be opened: database disk image is malformed\n' + NO_TOKEN
  })
})

t.test('an error without a reason is reported by its code, and an unexpected error is thrown', async (t) => {
  t.equal(describeConnectProblem(databaseUnavailable()), 'does not answer (DATABASE_UNAVAILABLE)')
  t.throws(() => describeConnectProblem(new TypeError('a mistake')), { message: 'a mistake' })
})

t.test('an invalid configuration is refused', async (t) => {
  const { code, stdout, stderr } = await runCheck(t as Test, [], {
    DATABASE_URL: 'mysql://root:hunter2@host', PORT: 'x'
  })
  t.same({ code, stdout }, { code: 2, stdout: '' })
  t.match(stderr, /^row-query: DATABASE_URL: [^\n]*\nrow-query: PORT: [^\n]*\n$/)
})

// grants

const ORDERS = 'create table orders (id integer primary key, tenant_id int not null, status TEXT not null, total ' +
  'int, place JSON, code char(5) not null default \'x\')'

async function checkTokens (t: Test, tokens: TokenOptions[], roles = {}, ...args: string[]) {
  const folder = t.testdir({
    'row-query.json': JSON.stringify({
      databases: { shop: { url: `sqlite:${t.testdirName}/shop.db` } },
      tokens,
      roles,
      ...(Object.keys(roles).length > 0 && {
        jwt: [{
          issuer: 'https://login.example.com',
          audience: 'rows',
          secret: 'x'.repeat(32),
          algorithms: ['HS256'],
          role: '/role'
        }]
      })
    })
  })
  const database = new DatabaseSync(`${folder}/shop.db`)
  database.exec(
    `${ORDERS}; create view totals as select id, total from orders; create virtual table words using fts5(status, ` +
      'code, content=orders, content_rowid=id)'
  )
  database.close()
  return await runCheck(t, ['--config', `${folder}/row-query.json`, ...args])
}

t.test('what a token or a role may do is printed', async (t) => {
  const tables = {
    orders: {
      columns: { select: ['id', 'status', 'total'], insert: ['status', 'total'], update: ['status'] },
      rows: { tenant_id: { $claim: '/tenant' }, status: ['new', 'paid', null], total: { $gte: 0, $null: false } }
    }
  }
  const { code, stdout } = await checkTokens(t as Test, [
    tokenOf('all', {}), tokenOf('whole', { permissions: ['select'], databases: { shop: '*' } }),
    tokenOf('list', { permissions: ['select', 'delete'], databases: { shop: ['orders'] } }),
    tokenFor('narrow', tables, { tenant: 1 }),
    tokenFor('form', { orders: { permissions: ['insert'], columns: { insert: ['status'] }, rows: { tenant_id: 1 } } }),
    tokenFor('nothing', { orders: { permissions: [] } })
  ], { clerk: { permissions: ['select'], databases: { shop: tables } } })
  t.equal(code, 0)
  const rows = 'tenant_id = claim /tenant and status in ("new", "paid", null) and total >= 0 and total not null'
  t.match(stdout, `
  token "all": select, insert, update, delete on all tables
  token "whole": select on all tables
  token "list": select, delete on orders
  token "narrow": select id, status, total; insert status, total; update status; delete on orders, rows with ${rows}
  token "form": insert status on orders, rows with tenant_id = 1
  token "nothing": nothing on orders
  role "clerk": select id, status, total on orders, rows with ${rows}
`)
})

const errors: Array<[error: string, table: Parameters<typeof tokenFor>[1][string]]> = [
  ['insert into "orders" always fails: column "tenant_id" has no default, cannot be written and gets ' +
    'no value by a rule', { columns: { select: ['id', 'status'] } }],
  ['insert into "orders" always fails: column "code" has a rule that gives it no value, and cannot be written', {
    columns: { select: ['id', 'status', 'tenant_id'] }, rows: { code: ['a', 'b'] }
  }],
  ['"orders" does not exist for it: a rule does not apply: column "nope" does not exist', { rows: { nope: 1 } }],
  ['"orders" does not exist for it: a rule does not apply: column "place": the type JSON cannot have rules', {
    rows: { place: 1 }
  }],
  ['"orders" does not exist for it: a rule does not apply: column "status": the type TEXT cannot be compared with >', {
    rows: { status: { $gt: { $claim: '/a' } } }
  }],
  ['"orders" does not exist for it: a rule does not apply: column "total": expected an integer or a string of digits', {
    rows: { total: 'many' }
  }]
]

t.test('a grant that cannot work is an error', async (t) => {
  const { code, stdout } = await checkTokens(
    t as Test, errors.map(([, table], index) => tokenFor(`bad${index}`, { orders: table }))
  )
  t.equal(code, 1)
  for (const [index, [error]] of errors.entries()) t.match(stdout, `\n  error: token "bad${index}": ${error}\n`)
})

/** What is wrong with each token, by the name of the token. */
const neverWorking: Array<[token: TokenOptions, finding: string]> = [
  [
    tokenFor('claimless', { orders: { rows: { tenant_id: { $claim: '/tenant' } } } }, { team: 1 }),
    'error: token "claimless": each request to "orders" is refused: The claim "/tenant" is missing or cannot be used'
  ],
  [
    tokenFor('unfit', { orders: { rows: { tenant_id: { $claim: '/tenant' } } } }, { tenant: 'acme' }),
    'error: token "unfit": each request to "orders" is refused: A claim does not fit the column that ' +
      'it is compared with'
  ],
  [
    tokenFor('ruled', { invoices: { rows: { tenant_id: 1 } } }),
    'error: token "ruled": the database has no table "invoices", for which there are rules'
  ],
  [
    { ...tokenFor('lacking', { orders: { permissions: ['select', 'delete'] } }), permissions: ['select'] },
    'error: token "lacking": "orders" names the permission delete, which "permissions" of the entry lacks'
  ],
  [
    tokenFor('view', { totals: { permissions: ['select', 'insert'] } }),
    'error: token "view": "totals" is a view, which can only be selected from: insert always fails'
  ],
  [
    tokenOf('list', { databases: { shop: ['orders', 'totals'] } }),
    'warning: token "list": "totals" is a view, which can only be selected from: insert, update, delete always fails'
  ],
  [tokenOf('old', { expires: '2020-01-01' }), 'warning: token "old": has expired at 2020-01-01T00:00:00.000Z']
]

t.test('grants that can never work, and tokens that are not valid any more, are found all at once', async (t) => {
  const fine = tokenFor(
    'fine', { orders: { rows: { tenant_id: { $claim: '/tenant' } } }, totals: { permissions: ['select'] } },
    { tenant: 7 }
  )
  const { code, stdout } = await checkTokens(t as Test, [...neverWorking.map(([token]) => token), fine])
  t.equal(code, 1)
  const found = Array.from(stdout.matchAll(/^ {2}((?:error|warning): .*)$/gm), ([, line]) => line)
  t.same(found.toSorted(), neverWorking.map(([, finding]) => finding).toSorted())
})

t.test('without a token, and with roles that nobody can have, there is a warning', async (t) => {
  t.match(await checkTokens(t as Test, []), {
    code: 0, stdout: /\ntokens and keys:\n {2}warning: no token is configured, so all requests are refused\n$/
  })
  t.equal((await checkTokens(t as Test, [], {}, '--strict')).code, 1)
})

t.test('a full-text index is warned of where an entry sees only some of its columns', async (t) => {
  const entry = (name: string, select: string[]) => tokenFor(name, {
    orders: { columns: { select }, permissions: ['select'] }
  })
  const { code, stdout } = await checkTokens(t as Test, [
    entry('part', ['id', 'code']), entry('all', ['status', 'code']), entry('none', ['id'])
  ])
  t.equal(code, 0)
  t.same(stdout.match(/warning: .*/g), ['warning: token "part": "$match" cannot use the full-text index "words" of ' +
    '"orders", because these columns are hidden: status'])
})

t.test('a name that the database does not have is a warning', async (t) => {
  const tokens = [
    tokenFor('old', { orders: { columns: { select: ['id', 'gone'] }, permissions: ['select'] }, invoices: {} })
  ]
  const { code, stdout } = await checkTokens(t as Test, tokens)
  t.equal(code, 0)
  t.match(stdout, '\n  warning: token "old": "orders" has no column "gone"\n  warning: token "old": the database has ' +
    'no table "invoices"\n')
  t.equal((await checkTokens(t as Test, tokens, {}, '--strict')).code, 1)
})

// what grants allow, and what the account of the database may do

const VIEWED = [
  'create table orders (id int primary key, status varchar(10), secret varchar(10), twice int as (id * 2))',
  'create table customers (id int primary key, `na\'me``\\` varchar(10))',
  'create view totals as select id from orders'
]

for (const engine of servers) {
  t.test('privileges that grants need and the account lacks are warnings, by verb, ' +
    `table and column (${engine.name})`, async (
    t
  ) => {
    const database = await createTestDatabase(engine, VIEWED)
    t.teardown(() => database.drop())
    const url = await createUser(t, database, {
      grants: [
        'select on totals', 'select, insert, update, delete on customers',
        'select (id, status), insert (id, status), update (status) on orders'
      ]
    })
    const tokens = [
      tokenOf('all', {}), tokenOf('reads', { permissions: ['select'], databases: { shop: ['customers', 'totals'] } }),
      tokenFor('narrow', {
        orders: {
          permissions: ['select', 'insert', 'update'],
          columns: { select: ['id', 'status'], insert: ['id', 'status'], update: ['status'] }
        }
      }),
      tokenFor('writes', {
        orders: { permissions: ['update'], columns: { select: ['id'], update: ['id', 'status'] } }
      }),
      tokenFor('deletes', { customers: { permissions: ['delete'] } })
    ]
    const cwd = t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url } }, tokens }) })
    const check = async (...more: string[]) => await runCheck(t as Test, ['--config', `${cwd}/row-query.json`, ...more])
    const { code, stdout } = await check()
    t.equal(code, 0)
    t.same(found(stdout), [
      'token "all": the database account lacks DELETE on "orders"',
      'token "all": the database account lacks UPDATE on "id" of "orders"',
      'token "writes": the database account lacks UPDATE on "id" of "orders"'
    ], 'the account does not see the other columns of orders')
    t.equal(found(stdout, 'enough').length, 1)
    t.equal((await check('--strict')).code, 1)
    const id = { $param: 'id' }
    const on = (table: string, body: object, parameter: object = {}): object =>
      ({ database: 'shop', table, as: 'front', parameters: { id: parameter }, body })
    writeFileSync(`${cwd}/row-query.json`, JSON.stringify({
      databases: { shop: { url } },
      tokens: [{ name: 'page', sha256: 'a'.repeat(64), requests: '*' }],
      roles: {
        front: { for: 'requests', permissions: ['select', 'insert', 'update', 'delete'], databases: { shop: '*' } }
      },
      requests: {
        add: on('orders', { verb: 'insert', data: { id } }),
        change: on('orders', { verb: 'update', filters: { id }, data: { status: 'a' } }),
        renumber: on('orders', { verb: 'update', filters: { id: 1 }, data: { id } }),
        perhaps: on('orders', { verb: 'update', filters: { id: 1 }, data: { id, status: 'a' } }, { optional: true }),
        remove: on('orders', { verb: 'delete', filters: { id } })
      }
    }))
    const ofRequests = await check()
    t.equal(ofRequests.code, 1)
    t.same(found(ofRequests.stdout, 'error'), [
      'request "renumber": the database account lacks UPDATE on "id" of "orders"',
      'request "remove": the database account lacks DELETE on "orders"'
    ], 'what each call of a request needs')
  })

  t.test(`an account that may only select, and privileges of a role (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, VIEWED)
    t.teardown(() => database.drop())
    const url = await createUser(t, database, { grants: ['select on *'] })
    const env = { DATABASE_URL: url, API_TOKEN: 'x'.repeat(32) }
    t.same(found((await runCheck(t as Test, [], env)).stdout), [
      'token "API_TOKEN": the database account lacks INSERT, UPDATE, DELETE on "customers", "orders"'
    ])
    const { username: user } = new URL(url)
    await database.query(`create role r_${user}`)
    t.teardown(() => database.query(`drop role r_${user}`))
    await database.query(`grant insert, update, delete on ${database.name}.* to r_${user}`)
    await database.query(`grant r_${user} to '${user}'@'%'`)
    await database.query(`set default role r_${user} ${engine.name === 'mysql' ? 'to' : 'for'} '${user}'@'%'`)
    t.match(await runCheck(t as Test, ['--strict'], env), { code: 0 }, 'an active role has them')
    const definer = new URL(await createUser(t, database, { grants: ['select on customers'] })).username
    await database.query(
      `create or replace definer = ${definer} sql security definer view totals as select id from orders`
    )
    await database.query('create table gone (id int)')
    await database.query('create view broken as select id from gone')
    await database.query('drop table gone')
    const { stdout } = await runCheck(t as Test, [], env)
    t.match(found(stdout).toSorted(), [
      /^left out, because the database cannot open them: .*"broken"/,
      ...stdout.includes('totals: view') ? [/^token "API_TOKEN": "totals" cannot be read \(ER_\w+\)$/] : []
    ])
  })
}

t.test('a SQLite file that may not be written lacks the writes', {
  skip: process.getuid?.() === 0 && 'root may write every file'
}, async (t) => {
  const cwd = t.testdir()
  createShop(join(cwd, 'shop.db'))
  chmodSync(join(cwd, 'shop.db'), 0o444)
  const { code, stdout } = await runCheck(t as Test, [], {
    DATABASE_URL: `sqlite:${cwd}/shop.db`, API_TOKEN: 'x'.repeat(32)
  })
  t.equal(code, 0)
  t.match(found(stdout), [/^token "API_TOKEN": the database account lacks INSERT, UPDATE, DELETE on "customers"/])
  writeFileSync(join(cwd, 'row-query.json'), JSON.stringify({
    databases: { shop: { url: `sqlite:${cwd}/shop.db` } }, tokens: [tokenOf('reader', { permissions: ['select'] })]
  }))
  t.same(found((await runCheck(t as Test, ['--config', `${cwd}/row-query.json`, '--strict'])).stdout), [])
})

// what is dangerous about the account

async function createDatabase (t: Test, engine: Engine): Promise<TestDatabase> {
  const database = await createTestDatabase(engine, ['create table orders (id int not null primary key)'])
  t.teardown(() => database.drop())
  return database
}

const userOf = (url: string): string => new URL(url).username

for (const engine of servers) {
  t.test(`an account with only the needed privileges has no warnings (${engine.name})`, async (t) => {
    const database = await createDatabase(t, engine)
    const url = await createUser(t, database, { grants: ['select, insert, update, delete on *'] })
    const { code, stdout } = await runCheck(t as Test, ['--strict'], { DATABASE_URL: url, API_TOKEN: TOKEN })
    t.equal(code, 0)
    t.same(found(stdout), [])
    t.same(found(stdout, 'enough'), [])
  })

  t.test(`further privileges are warnings, and the sufficient statement is printed (${engine.name})`, async (t) => {
    const database = await createDatabase(t, engine)
    const other = await createDatabase(t, engine)
    const url = await createUser(t, database)
    const user = userOf(url)
    await database.query(`grant file, process on *.* to '${user}'@'%'`)
    await database.query(`grant select on ${other.name}.* to '${user}'@'%' with grant option`)
    const expected = [
      'PROCESS: sees the statements of everybody',
      'FILE: reads and writes files of the machine that the server runs on',
      `ALL PRIVILEGES on ${database.name}: more than is needed`,
      `SELECT on ${other.name}: a database that is not configured`,
      `GRANT OPTION on ${other.name}: may give its privileges to other accounts`
    ]
    const { code, stdout } = await runCheck(t as Test, [], { DATABASE_URL: url, API_TOKEN: TOKEN })
    t.equal(code, 0, 'warnings are no error')
    t.same(found(stdout).toSorted(), expected.toSorted())
    const [enough = '', ...more] = found(stdout, 'enough')
    t.equal(
      enough, `GRANT SELECT, INSERT, UPDATE, DELETE ON \`${database.name.replaceAll('_', '\\_')}\`.* TO '${user}'@'%';`
    )
    t.same(more, [])
    await database.query(`revoke all privileges, grant option from '${user}'@'%'`)
    await database.query(enough)
    t.match(
      await runCheck(t as Test, ['--strict'], { DATABASE_URL: url, API_TOKEN: TOKEN }), { code: 0 }, 'which it is'
    )
  })

  t.test(`the privileges of roles count, active or not (${engine.name})`, async (t) => {
    const database = await createDatabase(t, engine)
    const url = await createUser(t, database, { grants: ['select on *'] })
    const user = userOf(url)
    const [used, unused] = ['used', 'unused'].map((kind) => `${kind}_${user}`)
    for (const [role, privilege] of [[used, 'process'], [unused, 'file']]) {
      await database.query(`create role ${role}`)
      await database.query(`grant ${privilege} on *.* to ${role}`)
      await database.query(`grant ${role} to '${user}'@'%'`)
      t.teardown(() => database.query(`drop role ${role}`))
    }
    await database.query(`set default role ${used} ${engine.name === 'mysql' ? 'to' : 'for'} '${user}'@'%'`)
    const { code, stdout } = await runCheck(t as Test, ['--strict'], {
      DATABASE_URL: url, API_TOKEN: TOKEN, API_TOKEN_PERMISSIONS: 'select'
    })
    t.equal(code, 1, '--strict makes an error of it')
    t.same(found(stdout).toSorted(), [
      'FILE: reads and writes files of the machine that the server runs on', 'PROCESS: sees the statements of everybody'
    ])

    await database.query(`set default role none ${engine.name === 'mysql' ? 'to' : 'for'} '${user}'@'%'`)
    t.equal(found(
      (await runCheck(t as Test, [], { DATABASE_URL: url, API_TOKEN: TOKEN, API_TOKEN_PERMISSIONS: 'select' })).stdout
    ).length, 2)
  })

  t.test('an account without a password, and a connection without TLS to another machine, ' +
    `are warnings (${engine.name})`, async (
    t
  ) => {
    const database = await createDatabase(t, engine)
    const url = new URL(await createUser(t, database, { grants: ['select on *'], password: '' }))
    const { stdout } = await runCheck(t as Test, [], {
      DATABASE_URL: url.href, API_TOKEN: TOKEN, API_TOKEN_PERMISSIONS: 'select'
    })
    t.same(found(stdout), [`the account ${url.username} is used without a password`])

    const address = addressOf(url.href)
    const [here] = address.hosts
    const hosts = [
      here, ...['::1', 'localhost', 'db.example.com', '192.0.2.1'].map((host) => ({ host, port: 1 }))
    ] as typeof address.hosts
    const dialect = createMysqlDialect({
      address: { ...address, password: 'x', hosts }, pool: { size: 1, queue: 1, wait: 5000 }, statementTimeout: 5000
    })
    t.teardown(() => dialect.close())
    await database.query(`alter user '${url.username}'@'%' identified by 'x'`)
    t.match(await dialect.findRisks([database.name]), {
      excess: [], risks: ['without TLS to db.example.com, 192.0.2.1: add ?ssl=true']
    })
  })
}

t.test('a SQLite file that every account may write or replace is a warning', async (t) => {
  const cwd = t.testdir()
  createShop(join(cwd, 'shop.db'))
  chmodSync(cwd, 0o755)
  const check = async (...more: string[]) => {
    const { code, stdout } = await runInProcess(t as Test, ['check', ...more], {
      cwd, env: { DATABASE_URL: 'sqlite:shop.db', API_TOKEN: TOKEN }
    })
    return { code, warnings: found(stdout) }
  }
  t.same(await check('--strict'), { code: 0, warnings: [] })
  chmodSync(join(cwd, 'shop.db'), 0o666)
  t.same(await check('--strict'), {
    code: 1, warnings: ['every account of this machine may write the file: chmod o-w']
  })
  chmodSync(cwd, 0o777)
  t.equal((await check()).warnings.length, 2)
  chmodSync(cwd, 0o1777)
  t.equal((await check()).warnings.length, 1, 'of a folder like /tmp nobody can take the files of others')
  chmodSync(cwd, 0o755)
})

// tables, replicas and the keys of issuers

const tokens = [tokenOf('all', {})]

async function checkConfig (t: Test, config: object, ...more: string[]) {
  const cwd = t.testdir({ 'row-query.json': JSON.stringify({ tokens, ...config }) })
  return await runCheck(t, ['--config', `${cwd}/row-query.json`, ...more])
}

for (const engine of ['sqlite' as const, ...servers]) {
  const name = typeof engine === 'string' ? engine : engine.name
  t.test(`keys that cannot be named, indexes that relations want, and the table for keys are found (${name})`, async (
    t
  ) => {
    const schema = [
      `create table customers (id int primary key,
        ${name === 'sqlite' ? 'name varchar(20)' : 'name varchar(20), unique name_key (name(5))'})`,
      ...name === 'sqlite'
        ? [
            'create unique index name_key on customers (name collate nocase)',
            'create unique index lower_key on customers (lower(name))'
          ]
        : [],
      'create table orders (id int primary key, customer_id int, foreign key (customer_id) references customers (id))',
      'create table notes (id int primary key, order_id int, at int, foreign key (order_id) references orders (id))',
      'create index notes_order on notes (order_id, at)'
    ]
    const create = CREATE[name === 'sqlite' ? 'sqlite' : 'mysql']
    const old = create.replace(/ {2}answer [^\n]*\n/, '  status int not null,\n')
    let run: (sql: string) => Promise<unknown>
    let url: string
    if (typeof engine === 'string') {
      const database = new DatabaseSync(`${t.testdir()}/shop.db`)
      t.teardown(() => database.close())
      run = async (sql) => database.exec(sql)
      url = `sqlite:${t.testdirName}/shop.db`
    } else {
      const database = await createTestDatabase(engine)
      t.teardown(() => database.drop())
      run = database.query
      url = await createUser(t, database, { grants: ['select, insert, update, delete on *'] })
    }
    for (const statement of schema) await run(statement)
    const dialect = typeof engine === 'string' ? 'sqlite' : 'mysql'
    const checkNow = async (...more: string[]) => {
      const { code, stdout } = await runCheck(t as Test, more, { DATABASE_URL: url, API_TOKEN: 'x'.repeat(32) })
      return { code, notes: found(stdout, 'note'), warnings: found(stdout, 'warning') }
    }
    const isNoKey = (key: string, what: string) =>
      `unique key "${key}" of "customers" cannot be named in "onConflict", because it compares ${what}`
    const another = 'an expression, or a column by another collation than its own'
    const notes = dialect === 'mysql'
      ? [isNoKey('name_key', 'only the beginnings of values')]
      : [isNoKey('name_key', another), isNoKey('lower_key', another), '"orders" has no index that begins with ' +
        '"customer_id": each "include" of its rows in those of "customers" reads the whole table']
    t.same(await checkNow('--strict').then(({ notes, ...rest }) => ({ ...rest, notes: notes.toSorted() })), {
      code: 0,
      warnings: [],
      notes: [...notes, 'there is no table "row_query_keys", so requests with an ' +
        'Idempotency-Key are refused; "row-query keys" prints its statement'].toSorted()
    })
    await run(old.split(';')[0] as string)
    const { code, warnings } = await checkNow('--strict')
    t.equal(code, 1)
    const isNot = 'the table "row_query_keys" is not as "row-query keys" prints it: '
    t.same(warnings, [
      'it has no column "answer"', 'column "status" is not one of its columns and has no default',
      ...dialect === 'sqlite' ? ['it has no index on "created", by which old keys are deleted'] : []
    ].map((line) => isNot + line))
    await run('drop table row_query_keys')
    for (const statement of create.split(';').filter((each) => each.trim() !== '')) await run(statement)
    t.same((await checkNow('--strict')).warnings, [])
  })
}

for (const engine of servers) {
  t.test(`each replica is checked (${engine.name})`, async (t) => {
    const schema = [
      'create table orders (id int primary key, total int)', 'create table customers (id int primary key)'
    ]
    const [primary, behind] = [
      await createTestDatabase(engine, schema),
      await createTestDatabase(engine, ['create table orders (id int primary key)'])
    ]
    t.teardown(async () => {
      await primary.drop()
      await behind.drop()
    })
    const [url, replica] = [
      await createUser(t, primary, { grants: ['select, insert, update, delete on *'] }),
      await createUser(t, behind, { grants: ['insert on orders'] })
    ]
    const wrong = Object.assign(new URL(replica), { password: 'hunter2' }).href
    const { code, stdout } = await checkConfig(t as Test, {
      databases: { shop: { url, replicas: [wrong, replica, Object.assign(new URL(replica), { port: '1' }).href] } }
    })
    t.equal(code, 1)
    t.same(found(stdout, 'error'), [
      'replicas.0 (127.0.0.1): the server refuses the user name or the password (ER_ACCESS_DENIED_ERROR)',
      'replicas.2 (127.0.0.1): does not answer (ECONNREFUSED)'
    ])
    t.same(found(stdout, 'warning').filter((line) => line.startsWith('replicas')), [
      'replicas.1 (127.0.0.1): does not have "customers"', 'replicas.1 (127.0.0.1): "orders" does not have "total"',
      'replicas.1 (127.0.0.1): token "all": the database account lacks SELECT on "orders"'
    ])
    t.match(stdout, '\n  replicas.1 (127.0.0.1): answers, 1 tables and views\n')
    t.notMatch(stdout, 'hunter2')
  })
}

t.test('the keys of issuers are downloaded', async (t) => {
  const { publicKey } = generateKeyPairSync('ed25519')
  const sets: Record<string, unknown> = {
    '/good': { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }] }, '/empty': { keys: [] }
  }
  const server = createServer(
    ({ url = '' }, response) => { response.writeHead(url in sets ? 200 : 404).end(JSON.stringify(sets[url])) }
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  const { port } = server.address() as AddressInfo
  const issuer = (path: string, at = port) => ({
    issuer: 'https://login.example.com',
    audience: 'rows',
    jwks: `http://127.0.0.1:${at}${path}`,
    algorithms: ['EdDSA'],
    role: '/role'
  })
  const { code, stdout } = await checkConfig(t as Test, {
    databases: { shop: { url: 'sqlite::memory:' } },
    jwt: [issuer('/good'), issuer('/empty'), issuer('/gone'), issuer('/', 3)],
    roles: { clerk: { permissions: ['select'], databases: '*' } }
  })
  t.equal(code, 1)
  t.match(stdout, '\ntokens and keys:\n  jwt.0.jwks: answers, 1 keys\n')
  t.same(found(stdout, 'error'), [
    'jwt.1.jwks: has no public key with a "kid" that verifies signatures',
    'jwt.2.jwks: the keys cannot be downloaded (status 404)', 'jwt.3.jwks: the keys cannot be downloaded (ECONNREFUSED)'
  ])
})
