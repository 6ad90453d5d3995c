// night: runs tools and clients of other projects
/** docs/client.md as a reader follows it: its snippets are compiled as one program and run. */
import { DatabaseSync } from 'node:sqlite'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { createShop } from '../../src/demo/shop.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { codeBlocks, readDocument, ROOT } from '../support/markdown.ts'
import { call } from '../support/package.ts'
import { createWorkshop } from '../support/programs.ts'
import { runRowQuery } from '../support/row-query.ts'
import { startService, TOKEN } from '../support/service.ts'

const blocks = codeBlocks(readDocument('docs/client.md'))
const commands = blocks.filter(({ kind }) => kind === 'sh').map(({ text }) => text.trim())
const [first = '', ...others] = blocks.filter(({ kind }) => kind === 'ts').map(({ text }) => text)

t.test('the snippets of docs/client.md compile and run', async (t) => {
  const folder = t.testdir()
  const path = `${folder}/shop.db`
  createShop(path)
  const database = new DatabaseSync(path)
  database.exec(CREATE.sqlite)
  const { server } = await startService(t as Test, `sqlite:${path}`)
  const address = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const workshop = createWorkshop(t as Test)
  t.same(commands, ['npx row-query types shop > shop.ts'])
  workshop.write('shop.ts', (await runRowQuery(t as Test, ['types', 'shop'], { env: { DATABASE_URL: `sqlite:${path}` } })).stdout)
  // what a block imports stands before all of them
  const imports = others.flatMap((text) => text.match(/^import .*\n/gm) ?? [])
  const program = [...imports, first, ...others.map((text) => `{\n${text.replaceAll(/^import .*\n/gm, '')}}\n`)].join('').replaceAll('http://127.0.0.1:3000', address)
  workshop.write('program.ts', program)
  const [inReadme] = codeBlocks(readDocument('README.md')).filter(({ kind }) => kind === 'ts client').map(({ text }) => text)
  workshop.write('readme.ts', inReadme as string)
  t.equal(await workshop.compile({ emit: false }), '')
  await build({ stdin: { contents: program, loader: 'ts', resolveDir: ROOT }, alias: { 'fastify-row-query/client': `${ROOT}src/client/index.ts` }, bundle: true, format: 'esm', outfile: `${folder}/program.mjs` })
  const stdout = await call(folder, `TOKEN=${TOKEN}`, process.execPath, 'program.mjs')
  for (const pattern of [/^\d+ \d+\.\d\d$/m, /^1 paid$/m, /^delivered in all: \d+\.\d\d$/m, /delivered: \d+ orders, \d+\.\d\d/, /@example/, /^order \d+ of .+: \d+ items$/m, /^2 results$/m, /^somebody else was faster$/m, /^\{"rows":\[\{"id":1\}\],"count":1\}$/m]) t.match(stdout, pattern)
  t.same(database.prepare('select count(*) as keys from row_query_keys').all().map((row) => ({ ...row })), [{ keys: 2 }])
  database.close()
})
