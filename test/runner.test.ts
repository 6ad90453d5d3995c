// night: starts programs
/**
 * What fails a run of the tests: a failed assertion, a process that ends in the middle of a file, one that does not
 * end, and a file that is not there.
 */
import { execFile } from 'node:child_process'
import { relative } from 'node:path'
import t, { type Test } from 'tap'
import { ROOT } from './support/markdown.ts'

const TAP = "import t from 'tap'\n"

/** Runs files with these texts, and returns the exit code and what is printed. */
async function run (t: Test, files: Record<string, string>): Promise<{ code: unknown, stdout: string }> {
  const folder = relative(ROOT, t.testdir(files))
  const paths = Object.keys(files).map((file) => `${folder}/${file}`)
  const { promise, resolve } = Promise.withResolvers<{ code: unknown, stdout: string }>()
  execFile(process.execPath, ['test/run.ts', '--sqlite-only', '--jobs=1', ...paths], { cwd: ROOT }, (error, stdout) => {
    resolve({ code: error?.code ?? 0, stdout })
  })
  return await promise
}

t.test('files that pass, each with what it tears down before the next one begins', async (t) => {
  const text =
    `${TAP}if (globalThis.open) throw new Error('open')\nglobalThis.open = true\nt.teardown(() => { globalThis.open ` +
      "= false })\nt.test('one', async (t) => { t.ok(true) })"
  t.match(await run(t, { 'a.ts': text, 'b.ts': text }), {
    code: 0, stdout: /pass \S+a\.ts[^]*pass \S+b\.ts[^]*4 passed, 0 failed/
  })
})

t.test('a failed file is printed again at the end, with the command that runs it alone', async (t) => {
  const { code, stdout } = await run(t, {
    'a.ts': `${TAP}t.test('one', async (t) => { t.equal(1, 2, 'a sentence') })`, 'b.ts': `${TAP}t.ok(true)`
  })
  t.equal(code, 1)
  t.match(
    stdout, /pass \S+b\.ts[^]*FAIL (\S+a\.ts): run it alone by {2}npm test -- \1[^]*a sentence[^]*# 2 files, 1 failed/
  )
})

t.test('assertions that pass are counted, and one that fails after them is printed with its place', async (t) => {
  const text = `${TAP}t.test('one', async (t) => { t.ok(true); t.same(1, 1); t.ok(1)\nt.equal(1, 2)\nt.ok(1) })`
  const { stdout } = await run(t, { 'a.ts': text })
  t.match(stdout, /not ok 2 - [^]*a\.ts\n +lineNumber: 3\n[^]*\n4 passed, 2 failed, 0 skipped/)
  const late =
    `${TAP}let ended\nt.test('one', async (t) => { t.ok(true); ended = t })\nt.test('two', ` +
      'async (t) => { ended.ok(true) })'
  t.match(await run(t, { 'a.ts': late }), { code: 1, stdout: /assertion after/ }, 'one after the end of its test fails')
})

t.test('a file fails that throws, ends its process, or is rejected where nobody waits', async (t) => {
  const files = {
    'a.ts': "throw new Error('thrown')",
    'b.ts': `${TAP}t.test('one', async () => { process.exit(0) })`,
    'c.ts': `${TAP}t.test('one', async () => { Promise.reject(new Error('rejected')); await new Promise((resolve) ` +
      '=> setTimeout(resolve, 50)) })',
    'd.ts': `${TAP}t.ok(true)`
  }
  const { code, stdout } = await run(t, files)
  t.equal(code, 1)
  for (const file of ['a', 'b', 'c']) t.match(stdout, new RegExp(`FAIL \\S+${file}\\.ts: run it alone`), file)
  t.match(stdout, /pass \S+d\.ts/, 'the files after them run')
})

t.test('a process that something left open keeps alive fails the run', async (t) => {
  t.match(await run(t, { 'a.ts': `${TAP}t.test('one', async (t) => { t.ok(true); setInterval(() => {}, 1000) })` }), {
    code: 1, stdout: /it did not end within 20 s/
  })
})
