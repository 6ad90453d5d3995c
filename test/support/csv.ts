/** Reads CSV with two parsers of others: `csv-parse` of npm, and `csv` of Python. */
import { spawnSync } from 'node:child_process'
import { parse } from 'csv-parse/sync'

/** A cell: null where nothing stands, which is not the same as an empty text. */
export type Csv = Array<Array<string | null>>

export const readWithNode = (text: string): Csv =>
  parse(text, { cast: (value, { quoting }) => value === '' && !quoting ? null : value }) as unknown as Csv

const PROGRAM = `
import csv, io, json, sys
csv.field_size_limit(2 ** 31 - 1)
texts = json.loads(sys.stdin.buffer.read().decode('utf-8'))
print(json.dumps([list(csv.reader(io.StringIO(text, newline=''), strict=True)) for text in texts]))
`

/** Python does not tell nothing from an empty text. Undefined where there is no Python. */
export function readWithPython (texts: readonly string[]): string[][][] | undefined {
  const { status, stdout, error, stderr } = spawnSync('python3', ['-c', PROGRAM], {
    input: JSON.stringify(texts), encoding: 'utf8', maxBuffer: 2 ** 28
  })
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return undefined
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as string[][][]
}

/**
 * The cell of a value that was parsed with its numbers as text; lists and objects are compared as JSON. `isJson`:
 * whether its column is JSON.
 */
export function cellOf (value: unknown, isJson = false): string | null {
  if (value === null || (typeof value === 'string' && !isJson)) return value
  return JSON.isRawJSON(value) ? value.rawJSON : JSON.stringify(value)
}
