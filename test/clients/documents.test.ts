// night: runs tools and clients of other projects
/**
 * docs/clients.md, docs/openapi.md and docs/client.md as a reader follows them: commands are run, programs compiled and
 * started, with the requests in process of docs/plugin.md.
 */
import { DatabaseSync } from 'node:sqlite'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { createShop } from '../../src/demo/shop.ts'
import { get } from '../support/documents.ts'
import { codeBlocks, readDocument, ROOT } from '../support/markdown.ts'
import { call } from '../support/package.ts'
import { createWorkshop } from '../support/programs.ts'
import { runRowQuery } from '../support/row-query.ts'
import { startService, TOKEN } from '../support/service.ts'

const blocks = ['docs/clients.md', 'docs/openapi.md'].flatMap((document) => codeBlocks(readDocument(document)))
const commands = blocks.filter(({ kind }) => kind === 'sh').flatMap(({ text }) => text.trim().split('\n'))
const programs = [
  ...blocks.filter(({ kind }) => kind === 'ts'),
  ...codeBlocks(readDocument('docs/plugin.md')).filter(({ kind }) => kind === 'ts execute')
].map(({ text }) => text)

/** What a command gives its program, of which there must be one. */
function argumentsOf (program: string): string[] {
  const [command = ''] = commands.filter((each) => each.startsWith(`npx ${program} `))
  return command.split(' ').slice(2)
}

t.test('the commands and programs of docs/clients.md and the documents beside it generate, ' +
  'compile and use clients', async (t) => {
  const path = `${t.testdir()}/shop.db`
  createShop(path)
  const url = `sqlite:${path}`
  const { server } = await startService(t, url)
  const address = await server.app.listen({ port: 0 })
  const workshop = createWorkshop(t)

  const [printed, types] = commands.filter((each) => each.startsWith('npx row-query ')).map(
    (each) => each.split(' > ')[0]?.split(' ').slice(2) as string[]
  )
  t.same([printed, types], [['openapi', 'shop'], ['types', 'shop']])
  const { stdout } = await runRowQuery(t, printed as string[], { env: { DATABASE_URL: url } })
  t.same(JSON.parse(stdout), (await get(server, '/shop/openapi.json')).json)
  workshop.write('shop.json', stdout)
  await workshop.run('openapi-typescript', 'openapi-typescript', ...argumentsOf('openapi-typescript'))
  await workshop.run('@hey-api/openapi-ts', 'openapi-ts', ...argumentsOf('openapi-ts'))
  await workshop.run('oazapfts', 'oazapfts', ...argumentsOf('oazapfts'))
  const [config] = blocks.filter(({ kind, text }) => kind === 'js' && text.includes('orval')).map(({ text }) => text)
  workshop.write('orval.config.js', (config as string).replace('http://127.0.0.1:3000', address))
  await workshop.run('orval', 'orval', ...argumentsOf('orval'))
  workshop.write('db.ts', (await runRowQuery(t, types as string[], { env: { DATABASE_URL: url } })).stdout)

  t.equal(programs.length, 7)
  const files = [
    'by-table.ts', 'openapi-fetch.ts', 'hey-api.ts', 'oazapfts.ts', 'by-orval.ts', 'host.ts', 'in-process.ts'
  ]
  const prints = [
    '[rows.length, updated, count]', 'data', 'data', 'response.data', 'response.data', 'app.swagger()', 'orders[0]'
  ]
  for (const [index, program] of programs.entries()) {
    const here = program.replace('http://127.0.0.1:3000', address).replace(
      "type { DB } from './shop.ts'", "type { DB } from './db.ts'"
    )
    workshop.write(files[index] as string, `${here}\nconsole.log(JSON.stringify(${prints[index]}))\n`)
  }
  t.equal(await workshop.compile({ emit: false }), '')

  // the package itself is used from its source elsewhere
  for (const file of files.slice(-2)) workshop.remove(file)
  t.equal(await workshop.compile(), '')
  const outputs = await Promise.all(files.slice(0, -2).map((file) => workshop.start(file, { TOKEN })))
  t.match(outputs[0], /^delivered \d+$/m)
  t.match(outputs[0], /^\S.* [1-9]\d*\n\[\d+,[01],[1-9]\d{2,}\]$/m, 'a customer with a number of items, and all pages')
  t.match(outputs[1], /"success":true,"data":\{"rows":\[\{"id":\d+/)
  t.match(outputs[2], /^\w+ \d+\n\S.*\n\{"success":true,"data":\{"updated":[01]\}\}$/m)
  for (const output of outputs.slice(3)) t.match(output, /"success":true,"data":\{"rows":\[\{"id":\d+/)
})

t.test('the commands for other languages differ only in the language', async (t) => {
  const others = commands.filter((each) => each.startsWith('openapi-generator-cli '))
  t.same(others.map((each) => / -g (\w+) /.exec(each)?.[1]), ['python', 'go', 'java'])
  for (const command of others) {
    t.match(
      command, /^openapi-generator-cli generate -i shop\.json .* --openapi-normalizer NORMALIZE_31SPEC=true$/
    )
  }
})

// docs/client.md: its snippets are compiled as one program and run

const clientBlocks = codeBlocks(readDocument('docs/client.md'))
const clientCommands = clientBlocks.filter(({ kind }) => kind === 'sh').map(({ text }) => text.trim())
const [first = '', ...others] = clientBlocks.filter(({ kind }) => kind === 'ts').map(({ text }) => text)

t.test('the snippets of docs/client.md compile and run', async (t) => {
  const folder = t.testdir()
  const path = `${folder}/shop.db`
  createShop(path)
  const database = new DatabaseSync(path)
  const { server } = await startService(t as Test, `sqlite:${path}`)
  const address = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const workshop = createWorkshop(t as Test)
  t.same(clientCommands, ['npx row-query types shop > shop.ts'])
  workshop.write(
    'shop.ts', (await runRowQuery(t as Test, ['types', 'shop'], { env: { DATABASE_URL: `sqlite:${path}` } })).stdout
  )
  // what a block imports stands before all of them
  const imports = others.flatMap((text) => text.match(/^import .*\n/gm) ?? [])
  const program = [...imports, first, ...others.map((text) => `{\n${text.replaceAll(/^import .*\n/gm, '')}}\n`)].join(
    ''
  ).replaceAll('http://127.0.0.1:3000', address)
  workshop.write('program.ts', program)
  const [inReadme] = codeBlocks(readDocument('README.md')).filter(({ kind }) => kind === 'ts client').map(
    ({ text }) => text
  )
  workshop.write('readme.ts', inReadme as string)
  t.equal(await workshop.compile({ emit: false }), '')
  await build({
    stdin: { contents: program, loader: 'ts', resolveDir: ROOT },
    alias: {
      'fastify-row-query/client': `${ROOT}src/client/index.ts`
    },
    bundle: true,
    format: 'esm',
    outfile: `${folder}/program.mjs`
  })
  const stdout = await call(folder, `TOKEN=${TOKEN}`, process.execPath, 'program.mjs')
  for (const pattern of [
    /^\d+ \d+\.\d\d$/m, /^1 paid$/m, /^delivered in all: \d+\.\d\d$/m, /delivered: \d+ orders, \d+\.\d\d/, /@example/,
    /^order \d+ of .+: \d+ items$/m, /^2 results$/m, /^somebody else was faster$/m,
    /^\{"rows":\[\{"id":1\}\],"count":1\}$/m
  ]) t.match(stdout, pattern)
  t.same(database.prepare('select count(*) as keys from row_query_keys').all().map((row) => ({ ...row })), [
    { keys: 2 }
  ])
  database.close()
})
