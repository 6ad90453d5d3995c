import type { Test } from 'tap'
import { check } from '../../src/cli/check.ts'

/** Runs `row-query check` in this process, which takes a tenth of the time of a process of its own. */
export async function runCheck (t: Test, args: string[], env: Record<string, string> = {}): Promise<{ code: number, stdout: string }> {
  Object.assign(process.env, env)
  const written = t.capture(process.stdout, 'write')
  try {
    const code = await check(args)
    return { code, stdout: written.args().flat().join('') }
  } finally {
    written.restore()
    for (const name of Object.keys(env)) Reflect.deleteProperty(process.env, name)
  }
}
