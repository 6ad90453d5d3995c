/** Runs the program `row-query` in its own process, without the settings of this process. */
import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Test } from 'tap'
import { COMPILED } from '../servers/folders.ts'
import { MAIN } from './place.ts'
import type { Answer } from './service.ts'

export { MAIN }

/** Maximum time of a start, in milliseconds. */
const PATIENCE = 30_000

export interface Start {
  args?: string[]
  env?: Record<string, string>
  /** What the program reads from standard input; nothing if omitted. */
  input?: string
  /** Working directory; a folder of the test if omitted. */
  cwd?: string
  /** The program to start; the source if omitted. */
  command?: string[]
}

export interface Ended { code: number | null, stdout: string, stderr: string }

export interface Running {
  /** `http://127.0.0.1:12345` */
  readonly address: string
  readonly child: ChildProcess
  /** Waits until the standard output matches. */
  printed (pattern: RegExp): Promise<string>
  /** POST {address}{path} */
  post (path: string, body: unknown, token?: string, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** Resolves when the process has ended. */
  readonly end: Promise<Ended>
  /** Sends a signal and waits for the end. */
  stop (signal?: NodeJS.Signals): Promise<Ended>
}

/**
 * What a program has of this process's environment: with Node's compile cache it starts in less than half the CPU time.
 */
export const INHERITED: Readonly<Record<string, string>> = {
  PATH: process.env['PATH'] ?? '',
  NODE_COMPILE_CACHE: COMPILED,
  ...process.env['NODE_V8_COVERAGE'] !== undefined && { NODE_V8_COVERAGE: process.env['NODE_V8_COVERAGE'] }
}

/** Runs a command until it ends. */
export async function runRowQuery (t: Test, args: string[], start: Start = {}): Promise<Ended> {
  return await launch(t, { ...start, args }).end
}

/** Starts `serve` on a free port and waits until it listens. It is terminated at the end of the test. */
export async function serveRowQuery (t: Test, { args = [], env = {}, ...start }: Start = {}): Promise<Running> {
  const serve = start.command === undefined ? ['serve'] : []
  const { child, end, printed } = launch(t, { ...start, args: [...serve, ...args], env: { PORT: '0', ...env } })
  const [, address = ''] = /(https?:\/\/[^"/\s]+)/.exec(await printed(/https?:\/\/[^"/\s]+:\d+["/]/)) as RegExpExecArray
  return {
    address,
    child,
    end,
    printed,
    post: (path, body, token, headers) => post(address + path, body, token, headers),
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal)
      return await end
    }
  }
}

export async function post (
  url: string, body: unknown, token?: string, more: Readonly<Record<string, string>> = {}
): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }), ...more
    },
    body: JSON.stringify(body)
  })
  const text = await response.text()
  return {
    status: response.status, headers: Object.fromEntries(response.headers), text, json: JSON.parse(text || 'null')
  }
}

function launch (t: Test, start: Start) {
  const { args = [], env = {}, input, cwd = temporaryFolder(t), command = [process.execPath, MAIN] } = start
  const [program, ...words] = [...command, ...args] as [string, ...string[]]
  const child = spawn(program, words, {
    cwd, env: { ...INHERITED, ...env }, stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe']
  }) as ChildProcessByStdio<Writable | null, Readable, Readable>
  child.stdin?.end(input)
  const out = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => { out.stdout += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { out.stderr += text })
  const end = once(child, 'close').then(([code]): Ended => ({ code, ...out }))
  t.teardown(() => { child.kill('SIGKILL') })

  const printed = async (pattern: RegExp): Promise<string> => {
    const signal = AbortSignal.timeout(PATIENCE)
    let ended = false
    while (!pattern.test(out.stdout)) {
      if (ended) throw new Error(`ended without ${pattern}: ${out.stdout}${out.stderr}`)
      ended = await Promise.race([once(child.stdout, 'data', { signal }).then(() => false), end.then(() => true)])
    }
    return out.stdout
  }
  return { child, end, printed }
}

export function temporaryFolder (t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'row-query-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}
