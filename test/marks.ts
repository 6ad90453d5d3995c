/** Marks of test files: comments at their beginning, one on a line. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** `// slow: starts programs`. Says why a file takes long: many random cases, waits for real time limits, started programs, large documents. */
const SLOW = /^\/\/ slow: ./m

/** The comments before the first line that is none. */
const headOf = (text: string): string => /^(?:\/\/.*\n)*/.exec(text)?.[0] as string

/** The test files that are marked as slow, by their paths in the project. Quick runs leave them out. */
export function findSlowFiles (): string[] {
  return globSync('test/**/*.test.ts', { cwd: ROOT }).filter((file) => SLOW.test(headOf(readFileSync(`${ROOT}${file}`, 'utf8'))))
}
