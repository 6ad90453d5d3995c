/** The token of the demo, if no tokens are configured. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const TOKEN = /^rq_[\w-]{20,}$/

/** The token of the demo that an earlier start has kept; undefined if there is none. */
export function readDemoToken (path: string): string | undefined {
  const text = existsSync(path) ? readFileSync(path, 'utf8').trim() : ''
  return TOKEN.test(text) ? text : undefined
}

/** Keeps the token of the demo in a file that only this user can read, so that the next start has the same one. */
export function keepDemoToken (path: string, token: string): void {
  if (readDemoToken(path) === token) return
  mkdirSync(dirname(path), { recursive: true })
  const unfinished = `${path}.${process.pid}.tmp`
  writeFileSync(unfinished, `${token}\n`, { mode: 0o600 })
  renameSync(unfinished, path)
}
