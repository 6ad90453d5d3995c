// night: starts programs
/** The commands and programs of docs/exports.md are run on the demo. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readWithNode } from '../support/csv.ts'
import { codeBlocks, readDocument } from '../support/markdown.ts'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { createShell } from '../support/shell.ts'

const blocksOf = (kind: string): string[] => codeBlocks(readDocument('docs/exports.md')).filter((block) => block.kind === kind).map(({ text }) => text.trim())

t.test('the commands and the program of docs/exports.md export the orders of the demo', async (t) => {
  const folder = t.testdir()
  const server = await serveRowQuery(t as Test, { env: { API_TOKEN: TOKEN }, cwd: folder })
  const [curl = '', command = '', rest = ''] = blocksOf('sh')
  const shell = createShell(t as Test, { TOKEN })
  const run = (line: string): Promise<string> => shell(`cd ${folder} && ${line.replace('http://127.0.0.1:3000', server.address)}`)
  const read = (name: string) => readWithNode(readFileSync(join(folder, name), 'utf8'))

  await run(curl)
  const all = read('orders.csv')
  t.same([all.length, all[0]], [151, ['id', 'status', 'total']])
  await run(rest)
  t.same(read('rest.csv').slice(1), all.slice(101))

  t.match(command, /^npx row-query export /)
  const { code, stdout } = await runRowQuery(t as Test, command.replace('orders.csv', 'command.csv').split(' ').slice(2), { cwd: folder })
  t.same([code, stdout], [0, ''])
  t.same(read('command.csv'), all)

  const [program = ''] = blocksOf('python export')
  if (spawnSync('python3', ['--version']).error !== undefined) return t.pass('there is no Python')
  const printed = execFileSync('python3', ['-c', `${program.replace('http://127.0.0.1:3000', server.address)}\nprint(order['id'])`], { env: { ...process.env, TOKEN }, encoding: 'utf8' })
  const lines = printed.trim().split('\n')
  t.equal(lines.pop(), '150', 'the last line of NDJSON')
  t.same(lines, all.slice(1).map(([, status, total]) => `${status} ${total}`))
})
