// night: starts programs as another user
/** SQLite files that the service may not write. They are served by a process whose account has no privileges: root may write everything. */
import { execFile } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { WITHOUT_TAP } from '../support/package.ts'

const run = promisify(execFile)
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const INDEX = JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)
const FASTIFY = JSON.stringify(import.meta.resolve('fastify'))

interface FileOptions { readonly journal: 'delete' | 'wal', readonly file: number, readonly folder: number, readonly hasRest?: boolean }

/** A file with one row, and the permissions of it and of its folder. `hasRest`: a program that was killed has left its journal. */
function createFile (t: Test, { journal, file, folder, hasRest = false }: FileOptions): string {
  const parent = mkdtempSync(join(tmpdir(), 'row-query-read-only-'))
  const inside = join(parent, 'a #%20?b')
  mkdirSync(inside)
  const path = join(inside, 'shop.db')
  const source = join(parent, 'source.db')
  const database = new DatabaseSync(source)
  database.exec(`pragma journal_mode = ${journal}; create table items (id integer primary key, n int); insert into items values (1, 5)`)
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
    const run = (body) => rows.execute({ database: 'shop', table: 'items', grant, body }).catch(({ code, details }) => ({ code, details }))
    const select = { verb: 'select', filters: { n: 5 } }
    try {
      await app.ready()
      const answers = [await run(select), await run({ verb: 'update', filters: { id: 1 }, data: { n: 6 } }), await run({ verb: 'delete', filters: { id: 1 }, dryRun: true })]
      const [first, ...others] = await Promise.all([select, select, { ...select, total: true }].map(run))
      console.log(JSON.stringify({ answers, isReady: await rows.isReady(), same: others.map(({ rows }) => JSON.stringify(rows) === JSON.stringify(first.rows)) }))
    } catch (error) {
      console.log(JSON.stringify({ error: error.message }))
    }
    await app.close()`
  const [command, ...words] = [...WITHOUT_TAP, process.execPath, '--input-type=module', '--eval', program]
  const { stdout } = await run(command as string, words, { timeout: 30_000, ...isRoot && { uid: NOBODY, gid: NOBODY } })
  return JSON.parse(stdout)
}

const row = { id: 1, n: 5 }
const refused = { code: 'NOT_SUPPORTED', details: [{ path: '', message: 'the file of the database may not be written' }] }

const cases: ReadonlyArray<readonly [name: string, options: FileOptions]> = [
  ['a file', { journal: 'delete', file: 0o444, folder: 0o755 }],
  ['a file in WAL mode', { journal: 'wal', file: 0o444, folder: 0o755 }],
  ['a folder', { journal: 'delete', file: 0o644, folder: 0o555 }],
  ['a folder, and the file is in WAL mode', { journal: 'wal', file: 0o644, folder: 0o555 }],
  ['a folder and a file', { journal: 'delete', file: 0o444, folder: 0o555 }]
]

/** A checkout in the home folder of root cannot be read by another account. */
const skip = isRoot && await run(process.execPath, ['--eval', `require('node:fs').accessSync(new URL(${INDEX}))`], { uid: NOBODY, gid: NOBODY }).then(() => false, () => 'another account cannot read the checkout')

for (const [name, options] of cases) {
  t.test(`what may not be written could not be served: ${name}`, { skip }, async (t) => {
    t.match(await serve(createFile(t, options)), { answers: [{ rows: [row] }, refused, refused], isReady: true, same: [true, true] })
  })
}

t.test('a file is not served without the changes in a journal that cannot be read', { skip }, async (t) => {
  t.match(await serve(createFile(t, { journal: 'wal', file: 0o444, folder: 0o555, hasRest: true })), { error: /shop\.db cannot be opened: unable to open database file/ })
})
