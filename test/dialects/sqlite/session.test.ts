import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { Session } from '../../../src/dialects/sqlite/session.ts'
import { createSessions } from '../../../src/dialects/sqlite/sessions.ts'
import { WITHOUT_TAP } from '../../support/package.ts'
import { until } from '../../support/until.ts'

const ENDLESS = 'with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n'
const one = { kind: 'read', sql: 'select 1 as one', parameters: [], limit: 100 } as const

function createFile (t: Test): string {
  const path = join(t.testdir(), 'test.db')
  new DatabaseSync(path).close()
  return path
}

t.test('killing the process ends its statement, and the session is lost', async (t) => {
  const session = await Session.open(createFile(t))
  const answer = session.ask({ ...one, sql: ENDLESS })
  await sleep(50)
  session.kill()
  await t.rejects(answer, { code: 'DATABASE_UNAVAILABLE', reason: 'SQLITE_PROCESS_ENDED' })
  t.ok(session.isLost)
  await session.ended()
  await t.rejects(session.ask(one), { code: 'DATABASE_UNAVAILABLE' })
  await session.close()
})

t.test('a session keeps nothing of the work that it has watched', async (t) => {
  const session = await Session.open(createFile(t))
  t.teardown(() => session.close())
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const answers = await Promise.all(Array.from({ length: 10 }, async () => new WeakRef(await session.unlessLost(sleep(1, { answer: 'x'.repeat(1000) })))))
  await until('they are collected', () => {
    collect()
    return answers.every((answer) => answer.deref() === undefined)
  })
  await t.rejects(session.unlessLost(Promise.reject(new RangeError('own'))), { message: 'own' })
  const watched = session.unlessLost(sleep(10_000, undefined, { ref: false }))
  session.kill()
  await t.rejects(watched, { code: 'DATABASE_UNAVAILABLE', reason: 'SQLITE_PROCESS_ENDED' })
  await t.rejects(session.unlessLost(sleep(10_000, undefined, { ref: false })), { code: 'DATABASE_UNAVAILABLE' })
})

t.test('no process remains if the file cannot be opened', async (t) => {
  await t.rejects(Session.open(join(t.testdir(), 'none.db')), { message: /unable to open/ })
})

t.test('a process that cannot be started is an error', async (t) => {
  const { execPath } = process
  t.teardown(() => { process.execPath = execPath })
  process.execPath = join(t.testdir(), 'no-node')
  await t.rejects(Session.open('any.db'), { code: 'DATABASE_UNAVAILABLE', reason: 'SQLITE_PROCESS_ENDED' })
})

t.test('one request at a time uses the session; the number of waiting requests and their time are limited', async (t) => {
  const sessions = createSessions(createFile(t), { queue: 2, wait: 100 })
  t.teardown(sessions.close)
  const running = sessions.use(() => sleep(150, 'first'))
  const waiting = [sessions.use(async () => 'second'), sessions.use(async () => 'third')]
  await t.rejects(sessions.use(async () => 'fourth'), { code: 'OVERLOADED' }, 'too many wait')
  for (const each of waiting) await t.rejects(each, { code: 'OVERLOADED' }, 'it waited too long')
  t.equal(await running, 'first')
  t.equal(await sessions.use(async () => 'next'), 'next')
  t.same(await Promise.all(['a', 'b', 'c'].map((name) => sessions.use(async () => name))), ['a', 'b', 'c'])
})

t.test('a lost session is replaced for the next request', async (t) => {
  const sessions = createSessions(createFile(t), { queue: 2, wait: 5000 })
  t.teardown(sessions.close)
  await sessions.use(async (session) => { session.kill() })
  t.match(await sessions.use((session) => session.ask(one)), { rows: [[1n]] })
})

t.test('closing kills the running statement and refuses new ones', async (t) => {
  const sessions = createSessions(createFile(t), { queue: 2, wait: 5000 })
  let sent = 0
  const running = sessions.use((session) => {
    sent++
    return session.ask({ ...one, sql: ENDLESS })
  })
  const waiting = sessions.use((session) => session.ask(one))
  const refused = Promise.all([running, waiting].map((each) => t.rejects(each, { code: 'DATABASE_UNAVAILABLE' })))
  await until('the statement runs', () => sent > 0)
  await sessions.close()
  await refused
  await t.rejects(sessions.use((session) => session.ask(one)), { code: 'DATABASE_UNAVAILABLE' })
})

t.test('closing waits for a session that is being opened, and closes it', async (t) => {
  for (const first of [false, true]) {
    const sessions = createSessions(createFile(t), { queue: 2, wait: 5000 })
    if (first) await sessions.use(async (session) => { session.kill() })
    const refused = t.rejects(sessions.use((session) => session.ask({ ...one, sql: ENDLESS })), { code: 'DATABASE_UNAVAILABLE' })
    if (first) await sleep(10)
    await sessions.close()
    await refused
  }
})

/** Runs a program and gives the process id that it prints. */
async function runProgram (t: Test, program: string): Promise<number> {
  const module = JSON.stringify(new URL('../../../src/dialects/sqlite/session.ts', import.meta.url).href)
  const text = `import { Session } from ${module}; const session = await Session.open(${JSON.stringify(createFile(t))}); ${program}`
  const [command, ...words] = [...WITHOUT_TAP, process.execPath, '--input-type=module', '--eval', text]
  const { stdout } = await promisify(execFile)(command as string, words, { timeout: 20_000 })
  return Number(stdout)
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
const FIND_CHILD = `const { readFileSync } = await import('node:fs')
  console.log(readFileSync(\`/proc/\${process.pid}/task/\${process.pid}/children\`, 'utf8'))`

t.test('no process remains if a program exits without closing, even if a statement is running', async (t) => {
  const idle = await runProgram(t, FIND_CHILD)
  await until('the idle process has ended', () => !isAlive(idle))
  const busy = await runProgram(t, `${FIND_CHILD}; session.ask({ kind: 'read', sql: ${JSON.stringify(ENDLESS)}, parameters: [], limit: 1 }); setTimeout(() => process.exit(), 200)`)
  await until('the busy process has ended', () => !isAlive(busy))
})

t.test('a select whose rows could not be taken was once left open, and with it its lock', async (t) => {
  const path = createFile(t)
  const other = new DatabaseSync(path)
  t.teardown(() => other.close())
  other.exec(`create table n (i integer primary key, text text); insert into n with recursive c (i) as (select 1 union all select i + 1 from c where i < 5000) select i, '${'x'.repeat(100)}' from c`)
  const session = await Session.open(path)
  t.teardown(() => session.close())
  await t.rejects(session.read({ sql: 'select * from n', parameters: [], limit: Infinity }, () => { throw new RangeError('own') }), { message: 'own' })
  other.exec('delete from n where i > 1')
  let rows = 0
  t.ok(await session.read({ sql: 'select * from n order by i', parameters: [], limit: Infinity }, () => { rows++; return true }))
  t.equal(rows, 1)
})
