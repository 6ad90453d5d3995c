// night: starts servers
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createTestDatabase, engines } from './servers/engines.ts'
import { dataFolder, makeOnce } from './servers/folders.ts'
import { obtain, WAYS, type Way } from './servers/obtain.ts'
import { isAtLeast, programOnPath } from './servers/program.ts'
import { works } from './servers/shell.ts'

const RUN = fileURLToPath(new URL('run.ts', import.meta.url))
/** Somebody else's server has its own settings and its own idea of who may reach it. */
const skip = (process.env.TEST_MYSQL_URL ?? '') === '' ? {} : { skip: 'TEST_MYSQL_URL is not our server' }

/** Runs a script in a process with only this environment. */
async function node (args: string[], env: Record<string, string>) {
  return await new Promise<{ code: unknown, stdout: string, stderr: string }>((resolve) => {
    execFile(
      process.execPath, args, { env }, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr })
    )
  })
}

/** Whether anything listens there. */
async function listens (host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port, timeout: 2000 })
  return await Promise.race([once(socket, 'connect').then(() => true), once(socket, 'timeout').then(() => false)])
    .catch(() => false).finally(() => socket.destroy())
}

for (const engine of await engines()) {
  t.test(`${engine.name}: a test database is usable's own, and goes`, async (t) => {
    const one = await createTestDatabase(engine, [
      'CREATE TABLE a (id BIGINT, at DATE)', "INSERT INTO a VALUES (9007199254740993, '2024-02-29')"
    ])
    const two = await createTestDatabase(engine)
    t.not(one.name, two.name)
    t.equal(one.url, `${engine.url}/${one.name}`)
    t.same(
      await one.query('SELECT * FROM a WHERE id > ?', [1]), [{ id: '9007199254740993', at: '2024-02-29' }],
      'values come back as stored'
    )
    t.same(await two.query('SHOW TABLES'), [])
    t.match(await one.query('SELECT @@character_set_database AS c'), [{ c: 'utf8mb4' }])
    await one.drop()
    t.same(await two.query('SHOW DATABASES LIKE ?', [one.name]), [])
    await two.drop()
    await t.rejects(createTestDatabase(engine, ['CREATE NONSENSE']), { code: 'ER_PARSE_ERROR' })
  })

  t.test(`${engine.name}: the server's defaults are not those that the service needs`, skip, async (t) => {
    const database = await createTestDatabase(engine)
    const [row] = await database.query('SELECT @@global.time_zone AS zone, @@global.sql_mode AS mode, ' +
      '@@global.max_connections AS connections, version() AS version')
    t.match(row, { zone: '+03:00', mode: '', connections: 300, version: engine.version })
    await database.drop()
  })

  t.test(`${engine.name}: statements can be logged to a table`, skip, async (t) => {
    const database = await createTestDatabase(engine)
    const [before] = await database.query('SELECT @@global.general_log AS log, @@global.log_output AS output')
    await database.query("SET GLOBAL log_output = 'TABLE'")
    await database.query('SET GLOBAL general_log = 1')
    await database.query(`SELECT '${database.name}' AS seen`)
    await database.query('SET GLOBAL general_log = ?', [before.log])
    await database.query('SET GLOBAL log_output = ?', [before.output])
    const [logged] = await database.query('SELECT count(*) AS count FROM mysql.general_log WHERE argument LIKE ?', [
      `SELECT '${database.name}'%`
    ])
    t.match(logged, { count: 1 })
    await database.drop()
  })

  t.test(`${engine.name}: it listens on the loopback interface only`, skip, async (t) => {
    const { hostname, port } = new URL(engine.url)
    t.equal(hostname, '127.0.0.1')
    t.ok(await listens(hostname, Number(port)))
    for (const { address, internal } of Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])) {
      if (!internal) t.notOk(await listens(address, Number(port)), `nothing at ${address}`)
    }
  })
}

t.test('the first source with a server is used', async (t) => {
  const server = {
    engine: { name: 'mysql' as const, version: '9.7.4', url: 'mysql://root@127.0.0.1:1' },
    from: 'a fake',
    stop: () => {}
  }
  const tried: string[] = []
  const way = (name: string, get: Way['get']): Way => ({
    name, get: async (wish) => { tried.push(`${name} ${wish.kind}`); return await get(wish) }
  })
  const fails = way('fails', async () => { throw new Error('no such luck') })
  const empty = way('empty', async () => undefined)
  const mysql = way('mysql', async ({ kind }) => kind === 'mysql' ? server : undefined)
  const wishes = [{ kind: 'mariadb' as const }, { kind: 'mysql' as const, atLeast: '9.7' }]
  t.equal(await obtain(wishes, [empty, fails, mysql, fails]), server)
  t.same(tried, ['empty mariadb', 'empty mysql', 'fails mariadb', 'fails mysql', 'mysql mariadb', 'mysql mysql'])
  const error = await obtain(wishes, [fails]).catch((reason: Error) => reason) as Error
  t.match(error.message, /^no mariadb or mysql 9.7 server .* set TEST_MYSQL_URL=.*fails, mariadb: no such luck/)
  t.same(WAYS.map(({ name }) => name), ['TEST_MYSQL_URL', 'PATH', 'packages', 'Docker'])
})

t.test('a server program on the PATH is identified by its version', async (t) => {
  const folder = t.testdir({ old: {}, new: {}, odd: {} })
  const program = (file: string, said: string) => {
    writeFileSync(join(folder, file), `#!/bin/sh\necho "${said}"\n`, { mode: 0o755 })
  }
  program('old/mysqld', '/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64')
  program('new/mysqld', '/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))')
  program('new/mariadbd', 'mariadbd  Ver 11.8.3-MariaDB for Linux on x86_64')
  program('odd/mysqld', 'mysqld  Ver 10.11.18-MariaDB for debian-linux-gnu')
  const path = (...names: string[]) => names.map((name) => join(folder, name)).join(delimiter)
  t.match(await programOnPath({ kind: 'mariadb' }, path('odd', 'new')), {
    version: '11.8.3-MariaDB', words: [join(folder, 'new/mariadbd')]
  })
  t.match(
    await programOnPath({ kind: 'mariadb' }, path('old', 'odd').split(delimiter)[1]),
    { words: [join(folder, 'odd/mysqld')] }, "MariaDB's mysqld"
  )
  t.match(await programOnPath({ kind: 'mysql', atLeast: '9.7' }, path('new', 'old')), {
    kind: 'mysql', version: '9.7.4-2'
  })
  await t.rejects(programOnPath({ kind: 'mysql', atLeast: '9.7' }, path('old')), {
    message: `${join(folder, 'old/mysqld')} is mysql 8.0.36`
  })
  await t.rejects(programOnPath({ kind: 'mysql' }, path('nowhere')), { message: 'no server program on the PATH' })
  t.same(['9.7', '9.7.0', '9.10.1', '10.0', '9.6.9', '8.0.36'].map((version) => isAtLeast(version, '9.7')), [
    true, true, true, true, false, false
  ])
})

t.test('an interrupted download leaves nothing in the cache', async (t) => {
  const folder = join(t.testdir(), 'a/root')
  await t.rejects(makeOnce(folder, async () => { throw new Error('interrupted') }), { message: 'interrupted' })
  t.same(readdirSync(join(folder, '..')), [])
  await Promise.all([makeOnce(folder, () => {}), makeOnce(folder, () => {})])
  t.same(readdirSync(join(folder, '..')), ['root'])
})

t.test('without a server npm test prints in one line what to do, and fails', async (t) => {
  const TEST_CACHE = t.testdir()
  const none = await node([RUN], { PATH: '/nowhere', TEST_CACHE })
  t.match(none, {
    code: 1, stdout: '', stderr: /^npm test: no mariadb or mysql server for the tests: set TEST_MYSQL_URL=[^\n]*\n$/
  })
  const wrong = await node([RUN, '--all'], { PATH: '/nowhere', TEST_CACHE, TEST_MYSQL_URL: 'mysql://root@127.0.0.1:1' })
  t.match(wrong, {
    code: 1, stdout: '', stderr: /^npm test: TEST_MYSQL_URL is set, but that server does not answer: [^\n]*\n$/
  })
  const sqlite = await node([RUN, '--sqlite-only', 'test/json-pointer.test.ts'], { PATH: '/nowhere', TEST_CACHE })
  t.match(sqlite, { code: 0, stdout: /^pass test\/json-pointer\.test\.ts/m, stderr: '' })
})

t.test('a server ends with the process that started it, even if that was killed', skip, async (t) => {
  if (!works(['setpriv', '--pdeathsig', 'KILL', 'true'])) return t.pass('this system has no such means')
  const script = (end: string) => `
    import { obtain, WAYS } from ${JSON.stringify(new URL('servers/obtain.ts', import.meta.url).href)}
    const { engine } = await obtain([{ kind: 'mariadb' }, { kind: 'mysql' }], WAYS.slice(1, 3))
    console.log(engine.url, process.pid)
    ${end}`
  for (const end of ['', 'process.exit(3)', "process.kill(process.pid, 'SIGKILL')"]) {
    const { stdout } = await node(['--input-type=module', '-e', script(end)], {
      ...process.env as Record<string, string>
    })
    const [url = '', pid = ''] = stdout.trim().split(' ')
    if (url === '') return t.pass('neither a program on the PATH nor packages here')
    let listening = true
    for (let tries = 0; listening && tries < 50; tries++) {
      listening = await listens('127.0.0.1', Number(new URL(url).port))
      if (listening) await sleep(20) // the death of a process takes a moment
    }
    t.notOk(listening, `after ${end || 'the end'}`)
    const left = readdirSync(dataFolder()).filter((name) => name.startsWith(`row-query.${pid}-`)).map(
      (name) => join(dataFolder(), name)
    )
    if (!end.includes('SIGKILL')) t.same(left, [], 'its folder is gone')
    for (const folder of left) rmSync(folder, { recursive: true })
  }
})
