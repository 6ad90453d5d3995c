// night: starts programs
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createShop } from '../../src/demo/shop.ts'
import { get } from '../support/documents.ts'
import { runRowQuery } from '../support/row-query.ts'
import { onEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

await onEachEngine(t, 'row-query openapi prints the document of a token with all permissions', { schema: shop }, async (t, { server, url }) => {
  const config = `${t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url } } }) })}/row-query.json`
  for (const [args, path] of [[[], '/openapi.json'], [['shop'], '/shop/openapi.json']] as const) {
    const { code, stdout, stderr } = await runRowQuery(t, ['openapi', ...args, '--config', config])
    t.same({ code, stderr }, { code: 0, stderr: '' })
    t.same(JSON.parse(stdout), (await get(server, path)).json)
    t.match(stdout, /^\{\n {2}"openapi": "3\.1\.0",\n/, 'to be read by people too')
  }
})

t.test('numbers are printed with the digits that the service returns', async (t) => {
  const folder = t.testdir()
  const database = new DatabaseSync(`${folder}/big.db`)
  database.exec('create table big (id bigint not null default 9223372036854775807)')
  database.close()
  const { stdout } = await runRowQuery(t, ['openapi', 'big'], { env: { DATABASE_URL: `sqlite:${folder}/big.db` } })
  t.match(stdout, '"x-default": 9223372036854775807')
})

t.test('a reader that closes the output early ends the program silently', { skip: process.platform === 'win32' }, async (t) => {
  const command = ['sh', '-c', `"${process.execPath}" "${fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))}" openapi demo | head -c 1`]
  t.same(await runRowQuery(t, [], { command }), { code: 0, stdout: '{', stderr: '' })
})

t.test('without configuration the demo is used, and with one database, types needs no name', async (t) => {
  t.match(JSON.parse((await runRowQuery(t, ['openapi', 'demo'])).stdout), { paths: { '/demo/orders': {} }, servers: [{ url: '/api' }] })
  t.match(JSON.parse((await runRowQuery(t, ['openapi'], { env: { PATH_PREFIX: '' } })).stdout), { 'x-databases': ['demo'], servers: [{ url: '/' }] })
  t.match((await runRowQuery(t, ['types'])).stdout, 'export interface Orders {\n')
})

t.test('an error is printed in one line', async (t) => {
  const folder = t.testdir({ 'two.json': JSON.stringify({ databases: { shop: { url: 'sqlite:shop.db' }, gone: { url: 'mysql://root@127.0.0.1:1/gone' } } }) })
  createShop(`${folder}/shop.db`)
  const refused: Array<[args: string[], line: RegExp]> = [
    [['openapi', 'nope'], /^row-query: "nope" is not configured; the databases are shop, gone\n$/],
    [['openapi', 'shop', 'gone'], /^row-query: only one database is allowed, not shop, gone\n$/],
    [['openapi', 'gone'], /^row-query: databases\.gone: does not answer \(ECONNREFUSED\)\n$/],
    [['types'], /^row-query: a database is required; the databases are shop, gone\n$/],
    [['types', 'shop', '--host', 'x'], /^row-query: --host: is not a flag of types/]
  ]
  for (const [args, line] of refused) {
    const { code, stdout, stderr } = await runRowQuery(t, args, { cwd: folder, env: { ROW_QUERY_CONFIG: 'two.json' } })
    t.same({ code, stdout }, { code: 2, stdout: '' }, args.join(' '))
    t.match(stderr, line)
  }
})
