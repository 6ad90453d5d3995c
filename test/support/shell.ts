/** Runs shell commands of the documents. */
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** Replaces curl, which not every machine has, for the options that the documents use. */
const CURL = `#!${process.execPath}
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
const { values, positionals: [url] } = parseArgs({ allowPositionals: true, options: {
  silent: { type: 'boolean', short: 's' }, 'show-error': { type: 'boolean', short: 'S' },
  'fail-with-body': { type: 'boolean' }, output: { type: 'string', short: 'o' },
  include: { type: 'boolean', short: 'i' }, header: { type: 'string', short: 'H', multiple: true },
  data: { type: 'string', short: 'd' }
} })
const headers = (values.header ?? []).map((line) => line.split(/: */, 2))
const response = await fetch(url, { method: values.data === undefined ? 'GET' : 'POST', headers, body: values.data })
if (values.output === undefined) process.stdout.write(await response.text())
else writeFileSync(values.output, await response.text())
`

/** Replaces jq, for the expressions that the documents use. */
const JQ = `#!${process.execPath}
import { text } from 'node:stream/consumers'
const names = process.argv.at(-1).match(/\\w+/g).filter((name) => name !== 'empty')
const value = names.reduce((outer, name) => outer?.[name], JSON.parse(await text(process.stdin)))
for (const each of Array.isArray(value) ? value : [value ?? []].flat()) console.log(JSON.stringify(each))
`

/** Creates a function that runs `sh -c` and returns its standard output. @throws if the exit code is not 0 */
export function createShell (t: Test, env: Record<string, string> = {}): (line: string) => Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'row-query-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const [name, program] of [['curl', CURL], ['jq', JQ]] as const) {
    writeFileSync(join(folder, name), program)
    chmodSync(join(folder, name), 0o755)
  }
  return (line) => new Promise((resolve, reject) => {
    execFile('sh', ['-c', line], { env: { PATH: `${process.env['PATH']}:${folder}`, ...env } }, (error, stdout) => {
      if (error === null) resolve(stdout)
      else reject(error)
    })
  })
}
