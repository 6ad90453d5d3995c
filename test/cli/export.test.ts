/** `row-query export`, in this process: what it writes to, and what ends it. */
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { runInProcess } from '../support/command.ts'
import { numbers } from '../support/numbers.ts'
import { TOKEN } from '../support/service.ts'

/** The export of the table `few`. */
const FEW = 'id\r\n0\r\n1\r\n2\r\n'

const folder = t.testdir()
const file = join(folder, 'shop.db')
const database = new DatabaseSync(file)
database.exec(`create table few (id integer primary key); insert into few ${numbers(3)}; create table part (id integer
  primary key); insert into part ${numbers(1000)};
  create table broken (id integer primary key, n real); insert into broken select id,
  case when id < 900 then id else 9e999 end from part;
  create view many as select a.id, 'a text that is the same in each row' as name from part a join part b join part c`)
database.close()
const env = { DATABASE_URL: `sqlite:${file}`, API_TOKEN: TOKEN }

const exportFew = async (t: Test, cwd: string, output?: string, more = {}) =>
  await runInProcess(
    t, ['export', 'shop', 'few', '--format', 'csv', ...output === undefined ? [] : ['--output', output]],
    { cwd, env, ...more }
  )

t.test('rows are written to standard output, or to a file', async (t) => {
  const cwd = t.testdir()
  t.same(await exportFew(t as Test, cwd), { code: 0, stdout: FEW, stderr: '' })
  t.same(await exportFew(t as Test, cwd, 'few.csv'), { code: 0, stdout: '', stderr: '' })
  t.equal(readFileSync(join(cwd, 'few.csv'), 'utf8'), FEW)
  t.same(readdirSync(cwd), ['few.csv'])
})

t.test('an error names the part file if that is what cannot be created', async (t) => {
  const { code, stderr } = await exportFew(t as Test, t.testdir(), 'missing/few.csv')
  t.equal(code, 2)
  t.match(stderr, /^row-query: --output: missing\/few\.csv\.\w+\.part cannot be created \(ENOENT\)\n$/)
})

t.test('rows that cannot be read end an export, which leaves the file as it was and no part of the rows', async (t) => {
  const cwd = t.testdir({ 'broken.csv': 'old' })
  const { code, stderr } = await runInProcess(
    t as Test, ['export', 'shop', 'broken', '--format', 'csv', '--output', 'broken.csv'], { cwd, env }
  )
  t.equal(code, 1)
  t.match(stderr, /^row-query: .*UNREADABLE_VALUE/)
  t.same(readdirSync(cwd), ['broken.csv'])
  t.equal(readFileSync(join(cwd, 'broken.csv'), 'utf8'), 'old')
})

t.test('what can never be the name of a file is refused before a row is read', async (t) => {
  const cwd = t.testdir({ folder: {}, file: '' })
  const refused = {
    folder: 'folder is a directory',
    'folder/': 'folder/ is a directory',
    '': 'is empty',
    'file/': 'file/ cannot be read (ENOTDIR)'
  }
  // the database is not opened: its file does not exist
  for (const [output, line] of Object.entries(refused)) {
    t.same(await exportFew(t as Test, cwd, output, { env: { ...env, DATABASE_URL: 'sqlite:missing/shop.db' } }), {
      code: 2, stdout: '', stderr: `row-query: --output: ${line}\n`
    })
  }
})

t.test('a link to a device is written to and not replaced', async (t) => {
  const cwd = t.testdir()
  symlinkSync('/dev/null', join(cwd, 'null'))
  t.same(await exportFew(t as Test, cwd, 'null'), { code: 0, stdout: '', stderr: '' })
  t.equal(readlinkSync(join(cwd, 'null')), '/dev/null')
})

t.test('a link to a file is followed, also to one that does not exist yet', async (t) => {
  const cwd = t.testdir({ real: { 'old.csv': 'old' } })
  symlinkSync('real', join(cwd, 'folder'))
  symlinkSync('old.csv', join(cwd, 'real/latest.csv'))
  symlinkSync('folder/latest.csv', join(cwd, 'old.csv'))
  // from the folder real/deep: "..", lexically, would be another one
  mkdirSync(join(cwd, 'real/deep'))
  symlinkSync('../new.csv', join(cwd, 'real/deep/new.csv'))
  symlinkSync('real/deep', join(cwd, 'deep'))
  for (const output of ['old.csv', 'deep/new.csv']) {
    t.same(await exportFew(t as Test, cwd, output), { code: 0, stdout: '', stderr: '' })
  }
  for (const name of ['old.csv', 'new.csv']) t.equal(readFileSync(join(cwd, 'real', name), 'utf8'), FEW)
  for (const name of ['old.csv', 'real/latest.csv', 'real/deep/new.csv']) {
    t.ok(lstatSync(join(cwd, name)).isSymbolicLink(), name)
  }
  t.same(readdirSync(join(cwd, 'real')).sort(), ['deep', 'latest.csv', 'new.csv', 'old.csv'])
})

t.test('a file that only its owner may read stays so', async (t) => {
  const cwd = t.testdir({ 'few.csv': 'old' })
  const path = join(cwd, 'few.csv')
  chmodSync(path, 0o600)
  t.match(await exportFew(t as Test, cwd, 'few.csv'), { code: 0, stderr: '' })
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(readFileSync(path, 'utf8'), FEW)
  chmodSync(path, 0o666)
  t.match(await exportFew(t as Test, cwd, 'few.csv'), { code: 0 })
  t.equal(statSync(path).mode & 0o777, 0o666, 'and one that all may write as well, whatever the umask is')
  writeFileSync(join(cwd, 'new.csv'), '')
  t.match(await exportFew(t as Test, cwd, 'other.csv'), { code: 0 })
  t.equal(statSync(join(cwd, 'other.csv')).mode, statSync(join(cwd, 'new.csv')).mode, 'a new one is like others')
})

t.test('a file of another user stays theirs if root writes it', {
  skip: process.getuid?.() === 0 ? false : 'this is not root'
}, async (t) => {
  const cwd = t.testdir({ 'few.csv': 'old' })
  const path = join(cwd, 'few.csv')
  chmodSync(path, 0o640)
  chownSync(path, 1234, 4321)
  t.match(await exportFew(t as Test, cwd, 'few.csv'), { code: 0, stderr: '' })
  const { uid, gid, mode } = statSync(path)
  t.same([uid, gid, mode & 0o777], [1234, 4321, 0o640])
})
