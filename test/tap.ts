/** Running tap as a child process that ends with this one, whichever way it does. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

let child: ChildProcess | undefined
let interrupted = false

/** Prints a line for each file and the failures. `--reporter=tap` prints everything. */
const REPORTER = fileURLToPath(new URL('reporter.ts', import.meta.url))
const WITHOUT_ASYNC_HOOKS = new URL('without-async-hooks.ts', import.meta.url).href

/**
 * Runs tap to its end and gives its exit code. It has a process group of its own, so that its tests can be ended with it. Call
 * `endWithTap` before.
 */
export async function runTap (args: string[], env: Record<string, string>): Promise<number> {
  const program = fileURLToPath(new URL('../node_modules/tap/dist/esm/run.mjs', import.meta.url))
  child = spawn(process.execPath, [program, `--reporter=${REPORTER}`, `--node-arg=--import=${WITHOUT_ASYNC_HOOKS}`, ...args], { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...env }, detached: true })
  const [code, signal] = await once(child, 'exit') as [number | null, NodeJS.Signals | null]
  return code ?? exitCodeOf(signal ?? 'SIGTERM')
}

/** Has a signal that ends this process end tap as well, if it runs already. */
export function endWithTap (): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
}

/** tap may take its time after a signal (it waits for the tests that run): after two seconds, or a second signal, it is ended. */
function interrupt (signal: NodeJS.Signals): void {
  const end = () => {
    signalTap('SIGKILL')
    process.exit(exitCodeOf(signal))
  }
  if (child === undefined || interrupted) return end()
  interrupted = true
  signalTap(signal)
  setTimeout(end, 2000)
}

function signalTap (signal: NodeJS.Signals): void {
  try {
    if (child?.pid !== undefined) process.kill(-child.pid, signal)
  } catch {} // it has ended
}

function exitCodeOf (signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}
