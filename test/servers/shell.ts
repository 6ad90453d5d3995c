import { execFile, execFileSync, type ExecFileException } from 'node:child_process'
import { atExit } from './at-exit.ts'

export interface RunOptions {
  /** What the program reads on its standard input. */
  input?: string
  env?: Record<string, string>
  cwd?: string
  /** How long it may take before it is killed. */
  seconds?: number
}

/**
 * Runs a program to its end and gives what it printed. A failure is an Error of one line, the cause
 * as the program told it, because it becomes part of the one line that a developer reads.
 * The program dies with this process, so that an interrupted run leaves no download behind.
 */
export async function run (words: string[], options: RunOptions = {}): Promise<string> {
  const [file = '', ...args] = words
  return await new Promise((resolve, reject) => {
    const child = execFile(file, args, {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: { ...process.env, ...options.env, LC_ALL: 'C' },
      timeout: (options.seconds ?? 300) * 1000,
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 1024 * 1024
    }, (error, stdout, stderr) => {
      kill()
      if (error === null) resolve(stdout)
      else reject(new Error(`${file.split('/').at(-1)}: ${complaint(stderr) ?? complaint(stdout) ?? briefly(error)}`))
    })
    const kill = atExit(() => { child.kill('SIGKILL') }) // nothing to kill once it has ended
    child.stdin?.on('error', () => {}) // a program that ended early: its exit code says so
    child.stdin?.end(options.input ?? '')
  })
}

/** Whether a program can be run at all and ends well. */
export function works (words: string[]): boolean {
  const [file = '', ...args] = words
  try {
    execFileSync(file, args, { stdio: 'ignore', timeout: 20_000 })
    return true
  } catch {
    return false
  }
}

/**
 * The line of an output that says what went wrong: the first one marked as an error (others follow from it), else the
 * last one.
 */
export function complaint (output: string): string | undefined {
  const lines = output.split('\n').map((line) => line.trim()).filter((line) => line !== '')
  return lines.find((line) => /^E:|\berror\b/i.test(line)) ?? lines.at(-1)
}

function briefly (error: ExecFileException): string {
  if (error.code === 'ENOENT') return 'not found'
  return error.killed === true ? 'took too long' : error.message.split('\n')[0] ?? 'failed'
}
