/**
 * Runs the program `row-query` in this process, which takes a hundredth of the time of a process of its own. Of each
 * command one test starts the program.
 */
import type { Test } from 'tap'
import { INHERITED, temporaryFolder, type Ended, type Start } from './row-query.ts'

let count = 0

interface Run extends Pick<Start, 'env' | 'cwd'> {
  /** Loads the program, which runs it. */
  load?: () => Promise<unknown>
}

const runCommand = async (): Promise<unknown> => await import(`../../src/cli/run.ts?${++count}`)

/** What the program ends with. It sees only these variables, and its working directory is one of the test. */
export async function runInProcess (
  t: Test, args: readonly string[], { env = {}, cwd, load = runCommand }: Run = {}
): Promise<Ended> {
  const outer = {
    env: process.env,
    argv: process.argv,
    cwd: process.cwd(),
    exitCode: process.exitCode,
    emitWarning: process.emitWarning
  }
  const streams = [process.stdout, process.stderr].map((stream) => ({ stream, listeners: stream.listeners('error') }))
  // a file that has begun its tests may still ask for the engines
  const { TEST_ENGINES = '[]' } = outer.env
  process.env = { ...INHERITED, TEST_ENGINES, ...env }
  process.argv = [...outer.argv.slice(0, 2), ...args]
  process.chdir(cwd ?? temporaryFolder(t))
  const written = { stdout: t.capture(process.stdout, 'write'), stderr: t.capture(process.stderr, 'write') }
  const textOf = (name: keyof typeof written): string => written[name].args().map(([part]) => String(part)).join('')
  try {
    await load()
    return { code: Number(process.exitCode), stdout: textOf('stdout'), stderr: textOf('stderr') }
  } finally {
    for (const { restore } of Object.values(written)) restore()
    for (const { stream, listeners } of streams) {
      for (const listener of stream.listeners(
        'error'
      )) if (!listeners.includes(listener)) stream.off('error', listener as () => void)
    }
    process.chdir(outer.cwd)
    process.env = outer.env
    process.argv = outer.argv
    process.exitCode = outer.exitCode
    process.emitWarning = outer.emitWarning
  }
}
