/** The privileges of an account. */
import t from 'tap'
import { escapePattern, findAccountRisks, findGrantRisks, parseGrant } from '../../../src/dialects/mysql/privileges.ts'
import { createMysqlDialect } from '../../../src/dialects/mysql/dialect.ts'
import { createTestDatabase, engines } from '../../servers/engines.ts'
import { addressOf } from '../../support/mysql.ts'
import { createUser } from '../../support/users.ts'

t.test('a line of SHOW GRANTS is parsed, whatever its names and columns', async (t) => {
  t.strictSame(parseGrant('GRANT SELECT (`a`, `b, c`), INSERT ON `my``shop`.`or.ders` TO `u`@`%` WITH GRANT OPTION'), {
    privileges: ['SELECT', 'INSERT'], database: 'my`shop', mayGrant: true
  })
  t.strictSame(parseGrant("GRANT EXECUTE ON PROCEDURE `shop`.`p` TO `u`@`%` IDENTIFIED BY PASSWORD '*0'"), {
    privileges: ['EXECUTE'], database: 'shop', mayGrant: false
  })
  t.strictSame(parseGrant('GRANT AUDIT_ADMIN,BACKUP_ADMIN ON *.* TO `u`@`%`'), {
    privileges: ['AUDIT_ADMIN', 'BACKUP_ADMIN'], database: '*', mayGrant: false
  })
  for (const other of ['GRANT `role` TO `u`@`%`', 'GRANT `role`@`%` TO `u`@`%`', 'SET DEFAULT ROLE ' +
    '`role` FOR `u`@`%`']) t.equal(parseGrant(other), undefined, other)
})

const lines: Array<[line: string, risks: string[]]> = [
  ['GRANT USAGE ON *.* TO `u`@`%`', []],
  ['GRANT SELECT, INSERT, UPDATE, DELETE ON `shop`.* TO `u`@`%`', []],
  ['GRANT SELECT, SHOW VIEW ON `my\\_crm`.* TO `u`@`%`', []],
  ['GRANT SELECT ON `my_crm`.`contacts` TO `u`@`%`', []],
  ['GRANT `role` TO `u`@`%`', []],
  ['GRANT FILE, SUPER, SHOW DATABASES ON *.* TO `u`@`%`', [
    'FILE: reads and writes files of the machine that the server runs on',
    'SUPER: changes the settings of the server and ends the sessions of others'
  ]],
  ['GRANT PROCESS, CREATE USER, SHUTDOWN, RELOAD ON *.* TO `u`@`%`', [
    'PROCESS: sees the statements of everybody', 'CREATE USER: makes accounts and changes their passwords',
    'SHUTDOWN: stops the server', 'RELOAD: reloads privileges, closes tables and rotates logs'
  ]],
  ['GRANT ALL PRIVILEGES ON *.* TO `u`@`%` WITH GRANT OPTION', [
    'ALL PRIVILEGES: everything, on the whole server', 'GRANT OPTION on *.*: may give its privileges to other accounts'
  ]],
  ['GRANT SELECT, DROP ON *.* TO `u`@`%`', [
    'SELECT on *.*: every database of the server, and those that are not configured too',
    'DROP on *.*: more than is needed'
  ]],
  ['GRANT ALL PRIVILEGES ON `shop`.* TO `u`@`%` WITH GRANT OPTION', [
    'ALL PRIVILEGES on shop: more than is needed', 'GRANT OPTION on shop: may give its privileges to other accounts'
  ]],
  ['GRANT SELECT ON `mysql`.* TO `u`@`%`', ['SELECT on mysql: a database that is not configured']],
  ['GRANT SELECT ON `sho%`.* TO `u`@`%`', ['SELECT on sho%: a database that is not configured']],
  ['GRANT PROXY ON ``@`` TO `root`@`localhost` WITH GRANT OPTION', ['PROXY: the account may act as another one']]
]

for (const [line, risks] of lines) {
  t.test(`${line} ${risks.length === 0 ? 'is nothing to warn of' : 'is warned of'}`, async (t) => {
    t.same(findGrantRisks([line, line], ['shop', 'my_crm']), risks)
  })
}

t.test('an escaped name matches only itself', async (t) => {
  t.equal(escapePattern('my_shop%'), 'my\\_shop\\%')
})

t.test('a node of Group Replication that shows old rows without a limit is a risk', async (t) => {
  const risksOf = async (name: string, timeout: string) => (await findAccountRisks(async (sql) => {
    if (/^show grants/.test(sql)) return [['GRANT USAGE ON *.* TO `u`@`%`']]
    return /^show global variables/.test(sql)
      ? [['group_replication_group_name', name], ['group_replication_unreachable_majority_timeout', timeout]]
      : [['u@%']]
  }, addressOf('mysql://u:secret@127.0.0.1/shop'), ['shop'])).risks
  t.match(await risksOf('aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', '0'), [
    /^group_replication_unreachable_majority_timeout is 0: /
  ])
  t.same(await risksOf('aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', '60'), [])
  t.same(await risksOf('', '0'), [], 'the plugin is there, and the server is of no group')
})

const pool = { size: 1, queue: 1, wait: 5000 }

for (const engine of await engines()) {
  t.test(`the privileges of the account are listed without its password (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, [
      'create table orders (id int not null primary key)', 'create table staff (id int not null primary key)'
    ])
    t.teardown(() => database.drop())
    const url = await createUser(t, database, { grants: ['select, insert on orders'], password: 'secret-password' })
    const dialect = createMysqlDialect({ address: addressOf(url), pool, statementTimeout: 1000 })
    const lines = await dialect.privileges()
    t.ok(lines.some((line) => /^GRANT SELECT, INSERT ON .*`orders`/.test(line)), lines.join('\n'))
    t.notMatch(lines.join('\n'), /identified|secret|\*[0-9A-F]{40}/i)

    const tables = await dialect.introspect()
    t.same(tables.map(({ name }) => name), ['orders'], 'what the account may not touch is not there')
    await dialect.close()
    await t.rejects(dialect.privileges(), { code: 'DATABASE_UNAVAILABLE' })
  })
}
