/**
 * Runs test files in a few processes (worker.ts), and prints what they report. The processes end with this one,
 * whichever way it does.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { createReport, type Report } from './report.ts'
import { EVERY_LINE, NEXT, type NextFile } from './protocol.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))

/** `// alone: measures memory`. Says why a file needs a process of its own. */
const ALONE = /^(?:\/\/.*\n)*\/\/ alone: ./
const isAlone = (file: string): boolean => ALONE.test(readFileSync(ROOT + file, 'utf8'))

/** How long a process may take to end after its last file: what a test has left open keeps it. Milliseconds. */
const END = 20_000

export interface RunOptions {
  /** The number of processes. */
  readonly jobs: number
  /** The time limit of a file in milliseconds; 0 for none. */
  readonly timeout: number
  readonly env: Readonly<Record<string, string>>
  /** Prints every assertion, as tap does. */
  readonly isVerbose?: boolean
  /** Starts no file after the first one that fails. */
  readonly isBailing?: boolean
}

const children = new Set<ChildProcess>()

/**
 * Runs the files (relative to the project's root) in this order, but first those that need a process of their own.
 * Returns the exit code.
 */
export async function runFiles (
  files: readonly string[], { jobs, timeout, env, isVerbose = false, isBailing = false }: RunOptions
): Promise<number> {
  const waiting = [...files.filter(isAlone), ...files.filter((file) => !isAlone(file))]
  const report = createReport({ isVerbose, onFailure: () => { if (isBailing) waiting.splice(0) } })
  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      await runWorker(waiting, timeout, {
        ...process.env, ...env, ...(isVerbose && { [EVERY_LINE]: '1' })
      }, report)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  return report.end() ? 0 : 1
}

/** Runs one process until no file is left, or until it ends in the middle of one. */
async function runWorker (waiting: string[], timeout: number, env: NodeJS.ProcessEnv, report: Report): Promise<void> {
  // a process group of its own, so that the processes that tests start can be ended with it
  const child = fork(WORKER, { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  children.add(child)
  let file: string | undefined
  let isFull = false
  let ending: NodeJS.Timeout | undefined
  const source = report.source()
  child.stdout?.setEncoding('utf8').on('data', source.read)
  child.on('message', (message) => {
    if (message !== NEXT) return // tap's own
    const next = isFull ? undefined : waiting[0]
    const needsOwn = next !== undefined && isAlone(next)
    if (next === undefined || (needsOwn && file !== undefined)) {
      file = undefined
      ending = setTimeout(() => signalGroup(child, 'SIGKILL'), END)
    } else {
      file = waiting.shift()
      isFull = needsOwn
    }
    child.send({ file, timeout } satisfies NextFile, () => {}) // one that is gone is reported by its end
  })
  const { promise: closed, resolve } = Promise.withResolvers<string>()
  child.on('close', (code, signal) => { resolve(`exit code ${code ?? signal}`) })
  const how = await closed
  clearTimeout(ending)
  children.delete(child)
  if (file !== undefined) report.fail(file, `the process ended in the middle of it (${how})`)
  else if (child.signalCode !== null) {
    report.fail(
      'a process of the tests',
      `it did not end within ${END / 1000} s after its last file (${how}): something is left open`
    )
  } else if (child.exitCode !== 0 && source.failed() === 0) {
    report.fail('a process of the tests', `all its files passed, and it ended with ${how}`)
  }
}

/** Has a signal that ends this process end the tests as well. */
export function endWithTests (): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      for (const child of children) signalGroup(child, 'SIGKILL')
      process.exit(128 + constants.signals[signal])
    })
  }
}

function signalGroup ({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {} // it has ended
}
