/** The published package, installed without this repository. */
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { DatabaseSchema, OptionsSchema } from '../../schemas/options.ts'
import { createShop } from '../../src/demo/shop.ts'
import { codeBlocks, readDocument, ROOT } from '../support/markdown.ts'
import { call, install, installedIn, pack } from '../support/package.ts'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'

const { version, dependencies, peerDependencies, devDependencies } = JSON.parse(readDocument('package.json'))
const oldest = peerDependencies.fastify.slice(1)
const { tarball, files } = await pack(t as Test)
const [folder, oldestFolder] = await Promise.all([install(t as Test, tarball), install(t as Test, tarball, [`fastify@${oldest}`])])

/** What others bring with them that we use in tests as well: mysql2 the types of Node, Fastify its validator. npm installs Fastify itself as the peer. */
const BROUGHT = ['@types/node', 'ajv', 'fastify']

const bin = join(folder, 'node_modules/.bin/row-query')
const select = { verb: 'select', columns: ['id'], filters: { id: 1 } }
const selected = { status: 200, json: { success: true, data: { rows: [{ id: 1 }], count: 1 } } }

for (const name of ['shop', 'archive']) createShop(join(folder, `${name}.db`))
for (const name of ['plugin.js', 'typed-plugin.ts']) copyFileSync(join(ROOT, 'examples', name), join(folder, name))

t.test('the package contains the program, its types and its documents, and nothing else', async (t) => {
  for (const file of ['package.json', 'README.md', 'CHANGELOG.md', 'LICENSE', 'dist/src/index.js', 'dist/src/index.d.ts', 'dist/src/cli/main.js']) {
    t.ok(files.includes(file), file)
  }
  t.same(files.filter((file) => !/^(package\.json|README\.md|CHANGELOG\.md|LICENSE|docs\/.*\.(md|png|svg)|examples\/.*|dist\/(src|plugins|schemas)\/.*(\.js|\.d\.ts)|dist\/src\/demo\/seed\.sql)$/.test(file)), [])
  t.match(readDocument('CHANGELOG.md'), `## [${version}]`)
})

t.test('it installs its dependencies and no development tools', async (t) => {
  const installed = installedIn(folder)
  t.same(Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !installed.includes(name)), [])
  t.same(Object.keys(devDependencies).filter((name) => !BROUGHT.includes(name) && installed.includes(name)), [])
})

t.test('its program serves the demo', async (t) => {
  const { code, stdout } = await runRowQuery(t, ['--help'], { command: [process.execPath, bin] })
  t.equal(code, 0)
  t.match(stdout, 'row-query serve')
  const server = await serveRowQuery(t, { command: [process.execPath, bin, 'serve'] })
  const [, token = ''] = /token {4}(\S+)/.exec(await server.printed(/"update"/)) as RegExpExecArray
  t.match(await server.post('/api/demo/orders', select, token), selected)
  t.match(await server.stop(), { code: 0, stderr: '' })
})

t.test('it is a plugin of a JavaScript app, twice', async (t) => {
  const app = await serveRowQuery(t, { cwd: folder, command: [process.execPath, 'plugin.js'], env: { PORT: '0', CLERK_TOKEN: 'clerk', AUDITOR_TOKEN: 'auditor' } })
  t.match(await app.post('/shop/shop/orders', select, 'clerk'), selected)
  t.match(await app.post('/archive/archive/orders', select, 'auditor'), selected)
  t.match(await app.post('/archive/archive/orders', select, 'clerk'), { status: 401 })
  t.match(await app.post('/archive/archive/customers', select, 'auditor'), { status: 404 })
  t.match(await app.post('/archive/archive/orders', { verb: 'delete', filters: { id: 1 } }, 'auditor'), { status: 403 })
  const own = await fetch(app.address)
  t.same(await own.json(), { hello: 'world' })
})

/** Compiles as strictly as there is, against the types of the package alone; what the compiler says. */
async function compile (program: string, place = folder): Promise<string> {
  const compilerOptions = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, target: 'es2022', module: 'nodenext', types: ['node'] }
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [program] }))
  return await call(place, join(ROOT, 'node_modules/.bin/tsc')).catch((error: { stdout: string }) => error.stdout)
}

t.test('it is a plugin of a TypeScript app, which compiles as it stands', async (t) => {
  t.equal(await compile('typed-plugin.ts'), '')
  const app = await serveRowQuery(t, { cwd: folder, command: [process.execPath, 'typed-plugin.js'], env: { PORT: '0', TOKEN: 'reports' } })
  t.match(await app.post('/api/shop/orders', select, 'reports'), selected)
})

t.test('the apps in docs/plugin.md compile and run', async (t) => {
  for (const kind of ['js', 'ts']) {
    const [block] = codeBlocks(readDocument('docs/plugin.md')).filter((each) => each.kind === kind)
    const text = block?.text as string
    writeFileSync(join(folder, `documented.${kind}`), text)
    if (kind === 'ts') t.equal(await compile('documented.ts'), '', 'as it stands there')
    const program = readFileSync(join(folder, 'documented.js'), 'utf8')
    writeFileSync(join(folder, 'documented.js'), program.replace('mysql://user:password@127.0.0.1:3306/shop', 'sqlite:shop.db').replace('port: 3000', 'port: 0'))
    const app = await serveRowQuery(t, { cwd: folder, command: [process.execPath, 'documented.js'], env: { API_TOKEN: TOKEN } })
    t.match(await app.post('/api/shop/orders', select, TOKEN), selected)
    t.match(await app.post('/api/shop/orders', { verb: 'delete', filters: { id: 1 } }, TOKEN), { status: 403 })
  }
})

t.test('an app with the oldest supported Fastify keeps its only copy, compiles and runs', async (t) => {
  const folder = oldestFolder
  t.equal(JSON.parse(readFileSync(join(folder, 'node_modules/fastify/package.json'), 'utf8')).version, oldest)
  t.notOk(existsSync(join(folder, 'node_modules/fastify-row-query/node_modules/fastify')))
  copyFileSync(join(ROOT, 'examples/typed-plugin.ts'), join(folder, 'typed-plugin.ts'))
  createShop(join(folder, 'shop.db'))
  t.equal(await compile('typed-plugin.ts', folder), '')
  const app = await serveRowQuery(t, { cwd: folder, command: [process.execPath, 'typed-plugin.js'], env: { PORT: '0', TOKEN: 'reports' } })
  t.match(await app.post('/api/shop/orders', select, 'reports'), selected)
  const server = await serveRowQuery(t, { command: [process.execPath, join(folder, 'node_modules/.bin/row-query'), 'serve'] })
  t.match(await server.stop(), { code: 0, stderr: '' })
})

t.test('invalid options do not compile', async (t) => {
  writeFileSync(join(folder, 'mistakes.ts'), `
    import Fastify from 'fastify'
    import rowQuery, { type DatabaseOptions, type RowQueryOptions, type TokenOptions } from 'fastify-row-query'
    const url = 'mysql://localhost/shop'
    const app = Fastify()
    app.register(rowQuery, { databases: { shop: { url } }, prefix: '/api', logLevel: 'warn' })
    app.register(rowQuery, () => ({ databases: { shop: { url } } }))
    // @ts-expect-error: databases is required
    app.register(rowQuery, { prefix: '/api' })
    // @ts-expect-error: tokns is no option
    app.register(rowQuery, { databases: { shop: { url } }, tokns: [] })
    // @ts-expect-error: statementTimout is no option of a database
    app.register(rowQuery, { databases: { shop: { url, statementTimout: 1 } } })
    // @ts-expect-error: a size is a number
    const database: DatabaseOptions = { url, pool: { size: '1' } }
    // @ts-expect-error: read is no permission
    const token: TokenOptions = { name: 'x', sha256: 'x', permissions: ['read'] }
    // @ts-expect-error: a port is the server's
    const options: RowQueryOptions = { databases: { shop: { url } }, port: 80 }
    export { database, token, options }
  `)
  t.equal(await compile('mistakes.ts'), '')
})

t.test('an editor knows its options', async (t) => {
  const file = join(folder, 'editor.ts')
  const text = `import Fastify from 'fastify'
import rowQuery from 'fastify-row-query'
Fastify().register(rowQuery, { databases: { shop: { url: 'x', /*database*/ } }, /*options*/ })`
  writeFileSync(file, text)
  const settings: ts.CompilerOptions = { strict: true, module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, types: ['node'] }
  const service = ts.createLanguageService({
    getCompilationSettings: () => settings,
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => existsSync(path) ? ts.ScriptSnapshot.fromString(readFileSync(path, 'utf8')) : undefined,
    getCurrentDirectory: () => folder,
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories
  })
  const offered = (mark: string) => service.getCompletionsAtPosition(file, text.indexOf(mark), undefined)?.entries.map(({ name }) => name) ?? []
  t.same(['url', ...offered('/*database*/')].sort(), Object.keys(DatabaseSchema.properties).sort())
  t.same(['databases', ...offered('/*options*/')].sort(), [...Object.keys(OptionsSchema.properties), 'authenticate', 'onWrite', 'prefix', 'logLevel', 'logSerializers'].sort())
})
