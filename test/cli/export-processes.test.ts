// night: starts programs
/** `row-query export` as a process: signals, pipes and a full disk. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { numbers } from '../support/numbers.ts'
import { INHERITED, MAIN, runRowQuery, type Ended, type Start } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'

const ROWS = 20_000
/** The export of the table `few`. */
const FEW = ['id', ...Array.from({ length: ROWS }, (_, id) => id), ''].join('\r\n')

/** A view with more rows than any test writes, and a table with few. */
const folder = t.testdir()
const file = join(folder, 'shop.db')
const database = new DatabaseSync(file)
database.exec(
  `create table few (id integer primary key); insert into few ${numbers(ROWS)}; create view many as select a.id,
    'a text that is the same in each row' as name from few a join few b join few c; create view endless as select
    count(*) as n from many`
)
database.close()
const env = { DATABASE_URL: `sqlite:${file}`, API_TOKEN: TOKEN }

const argsOf = (table: 'few' | 'many' | 'endless', output?: string): string[] => [
  'export', 'shop', table, '--format', 'csv', ...output === undefined ? [] : ['--output', output]
]
const exportFew = async (t: Test, cwd: string, output?: string, start: Start = {}): Promise<Ended> =>
  await runRowQuery(t, argsOf('few', output), { cwd, env, ...start })

/** Runs the program by a line of a shell, in which it is `"$@"`. */
const byShell = (line: string, shell = 'sh'): string[] => [shell, '-c', line, shell, process.execPath, MAIN]

/** The processes that a process has started, and the ticks of CPU time that they have taken. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
const ticksOf = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[13]), 0)

/** Starts an export of `many`, or of a view whose only row is never computed. Nobody reads its standard output. */
function startMany (t: Test, cwd: string, output?: string, table: 'many' | 'endless' = 'many') {
  const [program, ...words] = [process.execPath, MAIN, ...argsOf(table, output)] as [string, ...string[]]
  const child = spawn(program, words, { cwd, env: { ...INHERITED, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => { child.kill('SIGKILL') })
  const end = Promise.all([once(child, 'exit'), text(child.stderr)]).then(
    ([[code, signal], stderr]) => ({ code, signal, stderr })
  )
  return { child, end }
}

type Running = ReturnType<typeof startMany>

/** Waits until an export has written something to its part file. */
const writes = (cwd: string): Promise<void> => until(
  'it writes', () => readdirSync(cwd).some((name) => name.endsWith('.part') && statSync(join(cwd, name)).size > 0)
)

/** Waits until what nobody reads has filled the pipe. */
async function stalls ({ child: { stdout } }: Running): Promise<void> {
  await until('it writes', () => stdout.readableLength > 0)
  await sleep(500)
}

/** The second signal comes before the export can have ended by the first. */
function stopTwice ({ child }: Running): void {
  for (const signal of ['SIGSTOP', 'SIGINT', 'SIGTERM', 'SIGCONT'] as const) child.kill(signal)
}

t.test('the part file of a killed export whose process had the same id is not in the way', async (t) => {
  const cwd = t.testdir()
  t.match(await exportFew(t as Test, cwd, 'few.csv', { command: byShell('touch "few.csv.$$.part"; exec "$@"') }), {
    code: 0, stdout: '', stderr: ''
  })
  t.equal(readFileSync(join(cwd, 'few.csv'), 'utf8'), FEW)
  t.equal(readdirSync(cwd).length, 2, 'and it is not touched')
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  t.test(`${signal} ends an export, which leaves no part file`, async (t) => {
    const cwd = t.testdir()
    const { child, end } = startMany(t as Test, cwd, 'many.csv')
    await writes(cwd)
    child.kill(signal)
    t.same(await end, { code: 1, signal: null, stderr: `row-query: ended by ${signal}\n` })
    t.same(readdirSync(cwd), [])
  })
}

/** Sends the program SIGTERM when it loads its file of this name. */
const atLoading = (name: string): string => `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({ load: (url, context, next) => {
    if (url.endsWith('/cli/${name}')) process.kill(process.pid, 'SIGTERM')
    return next(url, context)
  } })`)}`

t.test('a signal ends an export before its first row, with a word and 1', async (t) => {
  const ended = { code: 1, stderr: 'row-query: ended by SIGTERM\n' }
  for (const name of ['run.ts', 'export.ts']) {
    await t.test(`while it loads ${name}`, async (t) => {
      const cwd = t.testdir()
      const { stdout, ...end } = await exportFew(t, cwd, 'few.csv', {
        command: [process.execPath, atLoading(name), MAIN]
      })
      t.same([end, stdout, readdirSync(cwd)], [ended, '', []])
    })
  }
  await t.test('while it waits for a database that does not answer', async (t) => {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const connected = once(server, 'connection') as Promise<[Socket]>
    const end = exportFew(t, t.testdir(), 'few.csv', {
      env: { ...env, DATABASE_URL: `mysql://a@127.0.0.1:${port}/shop` },
      command: ['sh', '-c', 'echo $$ > pid; exec "$@"', 'sh', process.execPath, MAIN]
    })
    const [socket] = await connected
    t.teardown(() => {
      socket.destroy()
      server.close()
    })
    process.kill(Number(readFileSync(join(t.testdirName, 'pid'), 'utf8')), 'SIGTERM')
    t.match(await end, ended)
  })
  await t.test('while its statement runs', async (t) => {
    const { child, end } = startMany(t as Test, t.testdir(), undefined, 'endless')
    await until('SQLite computes', () => ticksOf(childrenOf(child.pid as number)) > 20)
    child.kill('SIGTERM')
    t.match(await end, ended)
  })
})

t.test('a signal ends an export to a pipe that nobody reads', async (t) => {
  const running = startMany(t as Test, t.testdir())
  await stalls(running)
  running.child.kill('SIGTERM')
  t.same(await running.end, { code: 1, signal: null, stderr: 'row-query: ended by SIGTERM\n' })
})

t.test('a second signal ends an export at once', async (t) => {
  const ended = { code: null, signal: /^SIG(INT|TERM)$/, stderr: '' }
  await t.test('to a file, which is not left', async (t) => {
    const cwd = t.testdir()
    const running = startMany(t as Test, cwd, 'many.csv')
    await writes(cwd)
    stopTwice(running)
    t.match(await running.end, ended)
    t.same(readdirSync(cwd), [])
  })
  await t.test('to standard output', async (t) => {
    const running = startMany(t as Test, t.testdir())
    await stalls(running)
    stopTwice(running)
    t.match(await running.end, ended)
  })
  await t.test('to a named pipe that nobody reads, in which a write cannot be given up', async (t) => {
    const cwd = t.testdir()
    execFileSync('mkfifo', ['pipe'], { cwd })
    const pipe = await open(join(cwd, 'pipe'), 'r+')
    t.teardown(() => pipe.close())
    const running = startMany(t as Test, cwd, 'pipe')
    await pipe.read(Buffer.alloc(1))
    await sleep(500)
    stopTwice(running)
    t.match(await running.end, ended)
  })
})

t.test('a disk that takes only a part of the last rows is an error', async (t) => {
  const cwd = t.testdir()
  // bash counts blocks of 1024 bytes; the compile cache is not to be cut
  const blocks = Math.floor(FEW.length / 1024)
  const { code, stderr } = await exportFew(t as Test, cwd, undefined, {
    command: ['env', '-u', 'NODE_COMPILE_CACHE', ...byShell(`ulimit -f ${blocks}; "$@" > few.csv`, 'bash')]
  })
  t.equal(statSync(join(cwd, 'few.csv')).size, blocks * 1024)
  t.equal(code, 1)
  t.match(stderr, /^row-query: EFBIG/)
})

t.test('rows are appended to a file that is open as standard output', async (t) => {
  const cwd = t.testdir({ 'few.csv': 'before\n' })
  t.match(await exportFew(t as Test, cwd, undefined, { command: byShell('{ "$@"; echo after; } >> few.csv') }), {
    code: 0, stderr: ''
  })
  t.equal(readFileSync(join(cwd, 'few.csv'), 'utf8'), `before\n${FEW}after\n`)
})

t.test('a named pipe is written to and not replaced', async (t) => {
  const cwd = t.testdir()
  execFileSync('mkfifo', ['pipe'], { cwd })
  t.match(await exportFew(t as Test, cwd, 'pipe', {
    command: byShell('timeout 30 cat pipe & "$@"; code=$?; wait; exit $code')
  }), { code: 0, stdout: FEW, stderr: '' })
  t.ok(lstatSync(join(cwd, 'pipe')).isFIFO())
})

t.test('a link to standard output is written to and not replaced, also if that is a file', async (t) => {
  const cwd = t.testdir({ 'few.csv': 'before\n' })
  symlinkSync('/proc/self/fd/1', join(cwd, 'stdout'))
  t.same(await exportFew(t as Test, cwd, 'stdout'), { code: 0, stdout: FEW, stderr: '' })
  t.match(await exportFew(t as Test, cwd, 'stdout', { command: byShell('{ "$@"; echo after; } >> few.csv') }), {
    code: 0, stderr: ''
  })
  t.equal(readFileSync(join(cwd, 'few.csv'), 'utf8'), `before\n${FEW}after\n`)
  t.same(readdirSync(cwd).sort(), ['few.csv', 'stdout'])
})
