// night: starts programs
/** SQLite files of programs that exit, that run as another user, or that need no file. */
import { execFile } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { WITHOUT_TAP } from '../../support/package.ts'
import { runRowQuery } from '../../support/row-query.ts'
import { TOKEN } from '../../support/service.ts'
import { createFile, ENDLESS } from '../../support/sqlite-files.ts'
import { until } from '../../support/until.ts'

/** Runs a program and gives the process id that it prints. */
async function runProgram (t: Test, program: string): Promise<number> {
  const module = JSON.stringify(new URL('../../../src/dialects/sqlite/session.ts', import.meta.url).href)
  const text =
    `import { Session } from ${module}; const session = await Session.open(${JSON.stringify(createFile(t))})
      ${program}`
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
  const busy = await runProgram(
    t,
    `${FIND_CHILD}; session.ask({ kind: 'read', sql: ${JSON.stringify(ENDLESS)}, parameters: [], ` +
      'limit: 1 }); setTimeout(() => process.exit(), 200)'
  )
  await until('the busy process has ended', () => !isAlive(busy))
})

const runFile = promisify(execFile)
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const INDEX = JSON.stringify(new URL('../../../src/index.ts', import.meta.url).href)
const FASTIFY = JSON.stringify(import.meta.resolve('fastify'))

interface FileOptions {
  readonly journal: 'delete' | 'wal', readonly file: number, readonly folder: number, readonly hasRest?: boolean
}

/**
 * A file with one row, and the permissions of it and of its folder. `hasRest`: a program that was killed has left its
 * journal.
 */
function createReadOnlyFile (t: Test, { journal, file, folder, hasRest = false }: FileOptions): string {
  const parent = mkdtempSync(join(tmpdir(), 'row-query-read-only-'))
  const inside = join(parent, 'a #%20?b')
  mkdirSync(inside)
  const path = join(inside, 'shop.db')
  const source = join(parent, 'source.db')
  const database = new DatabaseSync(source)
  database.exec(
    `pragma journal_mode = ${journal}; create table items (id integer primary key, ` +
      'n int); insert into items values (1, 5)'
  )
  if (!hasRest) database.close()
  copyFileSync(source, path)
  if (hasRest) {
    copyFileSync(`${source}-wal`, `${path}-wal`)
    database.close()
  }
  if (isRoot) for (const each of [parent, inside, path]) chownSync(each, NOBODY, NOBODY)
  chmodSync(path, file)
  chmodSync(inside, folder)
  t.teardown(() => {
    chmodSync(inside, 0o755)
    rmSync(parent, { recursive: true })
  })
  return path
}

/** Starts an app on the file, sends requests to it and gives the answers; the error if it does not start. */
async function serve (path: string): Promise<any> {
  const program = `
    import { createRowQuery } from ${INDEX}
    import Fastify from ${FASTIFY}
    const rows = createRowQuery({ databases: { shop: { url: ${JSON.stringify(`sqlite:${path}`)} } } })
    const app = Fastify()
    app.register(rows.plugin)
    const grant = { permissions: ['select', 'insert', 'update', 'delete'] }
    const run = (body) => rows.execute({ database: 'shop', table: 'items', grant, body })
      .catch(({ code, details }) => ({ code, details }))
    const select = { verb: 'select', filters: { n: 5 } }
    try {
      await app.ready()
      const answers = [
        await run(select), await run({ verb: 'update', filters: { id: 1 }, data: { n: 6 } }),
        await run({ verb: 'delete', filters: { id: 1 }, dryRun: true })
      ]
      const [first, ...others] = await Promise.all([select, select, { ...select, total: true }].map(run))
      const same = others.map(({ rows }) => JSON.stringify(rows) === JSON.stringify(first.rows))
      console.log(JSON.stringify({ answers, isReady: await rows.isReady(), same }))
    } catch (error) {
      console.log(JSON.stringify({ error: error.message }))
    }
    await app.close()`
  const [command, ...words] = [...WITHOUT_TAP, process.execPath, '--input-type=module', '--eval', program]
  const { stdout } = await runFile(command as string, words, {
    timeout: 30_000, ...isRoot && { uid: NOBODY, gid: NOBODY }
  })
  return JSON.parse(stdout)
}

const row = { id: 1, n: 5 }
const refused = {
  code: 'NOT_SUPPORTED', details: [{ path: '', message: 'the file of the database may not be written' }]
}

const readOnly: ReadonlyArray<readonly [name: string, options: FileOptions]> = [
  ['a file', { journal: 'delete', file: 0o444, folder: 0o755 }],
  ['a file in WAL mode', { journal: 'wal', file: 0o444, folder: 0o755 }],
  ['a folder', { journal: 'delete', file: 0o644, folder: 0o555 }],
  ['a folder, and the file is in WAL mode', { journal: 'wal', file: 0o644, folder: 0o555 }],
  ['a folder and a file', { journal: 'delete', file: 0o444, folder: 0o555 }]
]

/** A checkout in the home folder of root cannot be read by another account. */
const skip = isRoot && await runFile(process.execPath, ['--eval', `require('node:fs').accessSync(new URL(${INDEX}))`], {
  uid: NOBODY, gid: NOBODY
}).then(() => false, () => 'another account cannot read the checkout')

for (const [name, options] of readOnly) {
  t.test(`what may not be written is served to be read: ${name}`, { skip }, async (t) => {
    t.match(await serve(createReadOnlyFile(t, options)), {
      answers: [{ rows: [row] }, refused, refused], isReady: true, same: [true, true]
    })
  })
}

t.test('a file is not served without the changes in a journal that cannot be read', { skip }, async (t) => {
  t.match(await serve(createReadOnlyFile(t, { journal: 'wal', file: 0o444, folder: 0o555, hasRest: true })), {
    error: /shop\.db cannot be opened: unable to open database file/
  })
})

t.test('a program that exits without closing the database removes the file and prints nothing', async (t) => {
  const index = JSON.stringify(new URL('../../../src/index.ts', import.meta.url).href)
  const fastify = JSON.stringify(import.meta.resolve('fastify'))
  const text = `import { createRowQuery } from ${index}; import Fastify from ${fastify}
    const app = Fastify()
    app.register(createRowQuery({ databases: { m: { url: 'sqlite::memory:' } } }).plugin)
    await app.ready()
    console.log((await import('node:fs')).readdirSync(process.env.TMPDIR).length); process.exit()`
  const folder = t.testdir()
  const [command, ...words] = [...WITHOUT_TAP, process.execPath, '--input-type=module', '--eval', text]
  const { stdout, stderr } = await promisify(execFile)(command as string, words, {
    env: { ...process.env, TMPDIR: folder }
  })
  t.equal(stdout.trim(), '1')
  t.equal(stderr, '')
  t.same(readdirSync(folder), [])
})

t.test('DATABASE_URL may be sqlite::memory:, and "check" finds no risks', async (t) => {
  const { code, stdout, stderr } = await runRowQuery(t, ['check', '--strict'], {
    env: { DATABASE_URL: 'sqlite::memory:', API_TOKEN: TOKEN }
  })
  t.equal(code, 0, stderr)
  t.match(stdout, 'memory')
  t.notOk(existsSync(':memory:'))
})
