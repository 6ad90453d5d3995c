// night: builds and installs the package
/** The published package, installed without this repository. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import ts from 'typescript'
import type { TSchema } from '@sinclair/typebox'
import { ConfigSchema, DatabaseSchema, OptionsSchema } from '../../schemas/options.ts'
import { createShop } from '../../src/demo/shop.ts'
import { codeBlocks, readDocument, ROOT } from '../support/markdown.ts'
import { call, install, installedIn, pack } from '../support/package.ts'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'

const { version, dependencies, peerDependencies, peerDependenciesMeta, devDependencies } = JSON.parse(
  readDocument('package.json')
)
const oldest = peerDependencies.fastify.slice(1)
const { tarball, files } = await pack(t as Test)
const [folder, oldestFolder] = await Promise.all([
  install(t as Test, tarball), install(t as Test, tarball, [`fastify@${oldest}`])
])

/** What others bring with them that we use in tests as well: mysql2 the types of Node, Fastify its validator. */
const BROUGHT = ['@types/node', 'ajv']

const bin = join(folder, 'node_modules/.bin/row-query')
const select = { verb: 'select', columns: ['id'], filters: { id: 1 } }
const selected = { status: 200, json: { success: true, data: { rows: [{ id: 1 }], count: 1 } } }

createShop(join(folder, 'shop.db'))

t.test('the package contains the program, its types and its documents, and nothing else', async (t) => {
  for (const file of [
    'package.json', 'README.md', 'CHANGELOG.md', 'LICENSE', 'dist/src/index.js', 'dist/src/index.d.ts',
    'dist/src/cli/main.js', 'dist/config.schema.json', 'examples/systemd/row-query.service',
    'examples/kubernetes/row-query.yaml'
  ]) {
    t.ok(files.includes(file), file)
  }
  const published = [
    /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|docs\/.*\.(md|png|svg)|examples\/.*)$/,
    /^dist\/((src|plugins|schemas)\/.*(\.js|\.d\.ts)|src\/(client\/)?index\.(cjs|d\.cts))$/,
    /^dist\/(src\/demo\/seed\.sql|page\/main\.(js|css)|config\.schema\.json)$/
  ]
  t.same(files.filter((file) => !published.some((pattern) => pattern.test(file))), [])
  t.match(readDocument('CHANGELOG.md'), `## [${version}]`)
})

t.test('it installs its dependencies and no development tools', async (t) => {
  const installed = installedIn(folder)
  const optional = Object.keys(peerDependenciesMeta)
  t.same(Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !installed.includes(name)), optional)
  t.same(Object.keys(devDependencies).filter((name) => !BROUGHT.includes(name) && installed.includes(name)), [])
})

t.test('npm runs no script of it when it is installed, and warns of none', async (t) => {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'node_modules/fastify-row-query/package.json'), 'utf8'))
  t.same(['preinstall', 'install', 'postinstall', 'prepare'].filter((name) => Object.hasOwn(scripts, name)), [])
})

t.test('the tools for language models need a package, and the start says which one', async (t) => {
  const line = 'row-query: mcp: requires the package @modelcontextprotocol/server; install it with: npm install ' +
    '@modelcontextprotocol/server\n'
  const start = { command: [process.execPath, bin] }
  t.match(await runRowQuery(t, ['mcp'], start), { code: 2, stdout: /^$/, stderr: line })
  t.match(await runRowQuery(t, ['serve'], { ...start, env: { ROW_QUERY_MCP_VERBS: 'select' } }), {
    code: 2, stderr: line
  })
})

t.test('its program serves the demo', async (t) => {
  const { code, stdout } = await runRowQuery(t, ['--help'], { command: [process.execPath, bin] })
  t.equal(code, 0)
  t.match(stdout, 'row-query serve')
  const server = await serveRowQuery(t, { command: [process.execPath, bin, 'serve'] })
  const [, token = ''] = /token {4}(\S+)/.exec(await server.printed(/"groupBy"/)) as RegExpExecArray
  t.match(await server.post('/api/demo/orders', select, token), selected)
  for (const file of ['docs', 'docs/page.js', 'docs/page.css']) {
    t.equal(
      (await fetch(`${server.address}/api/${file}`)).status, 200, `${file}: the page is bundled`
    )
  }
  t.match(await server.stop(), { code: 0, stderr: '' })
})

/** Compiles as strictly as there is, against the types of the package alone; what the compiler says. */
async function compile (programs: string | readonly string[], place = folder): Promise<string> {
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    target: 'es2022',
    module: 'nodenext',
    types: ['node']
  }
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [programs].flat() }))
  return await call(place, join(ROOT, 'node_modules/.bin/tsc')).catch((error: { stdout: string }) => error.stdout)
}

/**
 * The examples that need no other package than this one and Fastify. test/examples.test.ts runs all of them in the
 * clone.
 */
const EXAMPLES = ['plugin.ts', 'audit.ts', 'transaction.ts', 'host-app.ts']

t.test('the examples compile against the package, and their JavaScript runs', async (t) => {
  for (const name of EXAMPLES) copyFileSync(join(ROOT, 'examples', name), join(folder, name))
  t.equal(await compile(EXAMPLES), '')
  const app = await serveRowQuery(t, {
    cwd: folder, command: [process.execPath, 'plugin.js'], env: { CLERK_TOKEN: 'clerk', AUDITOR_TOKEN: 'auditor' }
  })
  t.match(await app.post('/shop/shop/orders', select, 'clerk'), selected)
  t.match(await app.post('/archive/archive/orders', select, 'auditor'), selected)
})

t.test('the apps in docs/plugin.md compile and run', async (t) => {
  for (const kind of ['js', 'ts']) {
    const [block] = codeBlocks(readDocument('docs/plugin.md')).filter((each) => each.kind === kind)
    const text = block?.text as string
    writeFileSync(join(folder, `documented.${kind}`), text)
    if (kind === 'ts') t.equal(await compile('documented.ts'), '', 'as it stands there')
    const program = readFileSync(join(folder, 'documented.js'), 'utf8')
    // the package.json of a plain `npm init` has no type, or commonjs
    const name = kind === 'js' ? 'plain/app.mjs' : 'documented.js'
    mkdirSync(join(folder, 'plain'), { recursive: true })
    writeFileSync(join(folder, 'plain/package.json'), '{ "type": "commonjs" }')
    writeFileSync(
      join(folder, name),
      program.replace('mysql://user:password@127.0.0.1:3306/shop', 'sqlite:shop.db').replace('port: 3000', 'port: 0')
    )
    const app = await serveRowQuery(t, { cwd: folder, command: [process.execPath, name], env: { API_TOKEN: TOKEN } })
    t.match(await app.post('/api/shop/orders', select, TOKEN), selected)
    t.match(await app.post('/api/shop/orders', { verb: 'delete', filters: { id: 1 } }, TOKEN), { status: 403 })
  }
})

t.test('its client is small, and compiles and runs without the types of Node', async (t) => {
  const { outputFiles: [bundle], metafile } = await build({
    stdin: { contents: "export * from 'fastify-row-query/client'", resolveDir: folder },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    write: false,
    metafile: true,
    absWorkingDir: folder
  })
  t.ok((bundle?.contents.length ?? Infinity) < 8000)
  t.same(Object.keys(metafile.inputs).filter(
    (path) => !/^node_modules\/fastify-row-query\/dist\/src\/(client|json)\//.test(path) && path !== '<stdin>'
  ), [])
  const server = await serveRowQuery(t, { command: [process.execPath, bin, 'serve'] })
  const [, token = ''] = /token {4}(\S+)/.exec(await server.printed(/"groupBy"/)) as RegExpExecArray
  writeFileSync(join(folder, 'client.ts'), `
    import { createClient, type Column } from 'fastify-row-query/client'
    interface DB { orders: { id: Column<number, number | undefined, number> } }
    const db = createClient<{ demo: DB }>({ url: '${server.address}/api', token: '${token}' }).database('demo')
    const { rows: [row] } = await db.select('orders', { columns: ['id'], filters: { id: 1 } })
    const id: number | undefined = row?.id
    // @ts-expect-error: a misspelt column
    db.select('orders', { columns: ['idd'] }).catch(({ code }) => { console.log(id, code) })
  `)
  // every declaration is checked, as in a browser's project
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    target: 'es2024',
    lib: ['es2024', 'dom'],
    module: 'nodenext',
    types: []
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['client.ts'] }))
  t.equal(
    await call(folder, join(ROOT, 'node_modules/.bin/tsc')).catch((error: { stdout: string }) => error.stdout), ''
  )
  t.equal(await call(folder, process.execPath, 'client.js'), '1 COLUMN_NOT_FOUND\n')
})

t.test('an app with the oldest supported Fastify keeps its only copy, compiles and runs', async (t) => {
  const folder = oldestFolder
  t.equal(JSON.parse(readFileSync(join(folder, 'node_modules/fastify/package.json'), 'utf8')).version, oldest)
  t.notOk(existsSync(join(folder, 'node_modules/fastify-row-query/node_modules/fastify')))
  copyFileSync(join(ROOT, 'examples/plugin.ts'), join(folder, 'plugin.ts'))
  t.equal(await compile('plugin.ts', folder), '')
  const app = await serveRowQuery(t, {
    cwd: folder, command: [process.execPath, 'plugin.js'], env: { CLERK_TOKEN: 'clerk' }
  })
  t.match(await app.post('/shop/shop/orders', select, 'clerk'), selected)
  const server = await serveRowQuery(t, {
    command: [process.execPath, join(folder, 'node_modules/.bin/row-query'), 'serve']
  })
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

/** What an editor knows of a program in the folder. */
function createEditor (file: string): ts.LanguageService {
  const settings: ts.CompilerOptions = {
    strict: true, module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, types: ['node']
  }
  return ts.createLanguageService({
    getCompilationSettings: () => settings,
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) =>
      existsSync(path) ? ts.ScriptSnapshot.fromString(readFileSync(path, 'utf8')) : undefined,
    getCurrentDirectory: () => folder,
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories
  })
}

/** The description and the default of each setting, by its path. */
function describedBy (schema: TSchema, path = ''): Array<[path: string, text: string]> {
  const { properties = {}, patternProperties = {}, items, anyOf = [] } = schema
  const own = Object.entries<TSchema>(properties).map(([name, each]): [string, string] => {
    const { description = '', default: fallback } = each
    return [`${path}.${name}`, typeof fallback === 'object' ||
      fallback === undefined
      ? description
      : `${description} @defaultValue ${JSON.stringify(fallback)}`]
  })
  return [
    ...own,
    ...Object.entries<TSchema>(properties).flatMap(([name, each]) => describedBy(each, `${path}.${name}`)),
    ...[...Object.values<TSchema>(patternProperties), ...items === undefined ? [] : [items], ...anyOf].flatMap(
      (each) => describedBy(each, path)
    )
  ]
}

/** The same of a type, from its comments. */
function commentedIn (checker: ts.TypeChecker, type: ts.Type, path = ''): Array<[path: string, text: string]> {
  if (type.isUnion()) return type.types.flatMap((each) => commentedIn(checker, each, path))
  const inner = checker.getIndexTypeOfType(type, checker.isArrayType(type) ? ts.IndexKind.Number : ts.IndexKind.String)
  if (inner !== undefined) return commentedIn(checker, inner, path)
  const properties = (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) === 0 ? [] : type.getProperties()
  return properties.flatMap((property) => {
    const tags = property.getJsDocTags().map(({ name, text }) => `@${name} ${ts.displayPartsToString(text)}`)
    const own: [string, string] = [
      `${path}.${property.name}`,
      [ts.displayPartsToString(property.getDocumentationComment(checker)), ...tags].join(' ')
    ]
    return [own, ...commentedIn(checker, checker.getTypeOfSymbol(property), own[0])]
  })
}

t.test('an editor knows its options, with their descriptions and defaults', async (t) => {
  const file = join(folder, 'editor.ts')
  const text = `import Fastify from 'fastify'
import rowQuery, { type RowQueryConfig, type RowQueryOptions } from 'fastify-row-query'
Fastify().register(rowQuery, { databases: { shop: { url: 'x', /*database*/ } }, /*options*/ })
export type Plugin = RowQueryOptions
export type File = RowQueryConfig`
  writeFileSync(file, text)
  const editor = createEditor(file)
  const offered = (mark: string) =>
    editor.getCompletionsAtPosition(file, text.indexOf(mark), undefined)?.entries.map(({ name }) => name) ?? []
  t.same(['url', ...offered('/*database*/')].sort(), Object.keys(DatabaseSchema.properties).sort())
  t.same(['databases', ...offered('/*options*/')].sort(), [
    ...Object.keys(OptionsSchema.properties), 'authenticate', 'onWrite', 'prefix', 'logLevel', 'logSerializers'
  ].sort())

  const shown = (mark: string, name: string) => ts.displayPartsToString(editor.getCompletionEntryDetails(
    file, text.indexOf(mark), name, undefined, undefined, undefined, undefined
  )?.documentation)
  t.equal(shown('/*options*/', 'bodyLimit'), OptionsSchema.properties.bodyLimit.description)
  t.equal(shown('/*database*/', 'statementTimeout'), DatabaseSchema.properties.statementTimeout.description)
  const functions = ['.authenticate', '.onWrite']
  for (const name of functions) t.not(shown('/*options*/', name.slice(1)), '')

  const program = editor.getProgram() as ts.Program
  const checker = program.getTypeChecker()
  const [plugin, config] = checker.getExportsOfModule(
    checker.getSymbolAtLocation(program.getSourceFile(file) as ts.SourceFile) as ts.Symbol
  ).map((symbol) => checker.getDeclaredTypeOfSymbol(symbol))
  for (const [type, schema] of [[plugin, OptionsSchema], [config, ConfigSchema]] as const) {
    const commented = commentedIn(checker, type as ts.Type).filter(([path]) => !functions.includes(path))
    t.same(new Map(commented.sort()), new Map(describedBy(schema).sort()))
  }
})

t.test('the types of options are those of their schemas', async (t) => {
  writeFileSync(join(folder, 'same.ts'), `
    import type { Static } from '@sinclair/typebox'
    import type * as options from './node_modules/fastify-row-query/dist/schemas/options.js'
    import type * as role from './node_modules/fastify-row-query/dist/schemas/grants.js'
    import type * as server from './node_modules/fastify-row-query/dist/schemas/server-settings.js'
    type Same<A, B> = [A] extends [B] ? [B] extends [A] ? true : false : false
    export const same: [
      Same<options.RowQueryOptions, Static<typeof options.OptionsSchema>>,
      Same<options.Config, Static<typeof options.ConfigSchema>>,
      Same<options.DatabaseOptions, Static<typeof options.DatabaseSchema>>,
      Same<options.TokenOptions, Static<typeof options.TokenSchema>>,
      Same<options.JwtOptions, Static<typeof options.JwtSchema>>,
      Same<role.RolesOptions, Static<typeof role.RolesSchema>>,
      Same<server.ServerConfig, Static<typeof server.ServerSchema>>,
      Same<server.HttpOptions, Static<typeof server.HttpSchema>>,
      Same<server.HttpsOptions, Static<typeof server.HttpsSchema>>
    ] = [true, true, true, true, true, true, true, true, true]
    // @ts-expect-error: the test can fail
    export const other: Same<options.RowQueryOptions, options.Config> = true
  `)
  t.equal(await compile('same.ts'), '')
})

/**
 * How TypeScript programs find packages and what they emit. `file`: an ES module is .mts, CommonJS is .cts, and .ts is
 * what package.json says.
 */
const MODULES = [
  { module: 'commonjs', moduleResolution: 'node10', file: 'app.ts', type: 'commonjs', ignoreDeprecations: '6.0' },
  { module: 'node16', file: 'app.cts' },
  { module: 'node16', file: 'app.mts' },
  { module: 'nodenext', file: 'app.cts' },
  { module: 'nodenext', file: 'app.mts' },
  { module: 'esnext', moduleResolution: 'bundler', file: 'app.mts' },
  { module: 'preserve', moduleResolution: 'bundler', file: 'app.mts' }
]

t.test('programs that emit CommonJS and ES modules compile against it, and run', async (t) => {
  const text = `
    import Fastify from 'fastify'
    import plugin, {
      createRowQuery, createToken, hashToken, ServiceError, type PluginOptions, type RowQueryOptions
    } from 'fastify-row-query'
    import { createClient, RowQueryError, type Column } from 'fastify-row-query/client'
    interface DB { orders: { id: Column<number, number | undefined, number> } }
    const token: string = createToken()
    const options: RowQueryOptions = {
      databases: { shop: { url: 'sqlite:shop.db' } },
      tokens: [{ name: 'x', sha256: hashToken(token), permissions: ['select'] }]
    }
    const rows = createRowQuery<{ shop: DB }>(options)
    const given: PluginOptions = { ...options, prefix: '/other' }
    class Own extends ServiceError {}
    async function main (): Promise<void> {
      const app = Fastify()
      await app.register(plugin, given)
      await app.register(rows.plugin, { prefix: '/api' })
      const url: string = await app.listen({ port: 0 })
      const db = createClient<{ shop: DB }>({ url: url + '/api', token }).database('shop')
      const [row] = (await db.select('orders', { columns: ['id'], filters: { id: 1 } })).rows
      const id: number | undefined = row?.id
      const code = await rows.as({ permissions: [] }).select('shop', 'orders')
        .catch((error: unknown) => error instanceof ServiceError && error.code)
      // @ts-expect-error: a misspelt column
      const failed = await db.select('orders', { columns: ['idd'] })
        .catch((error: unknown) => error instanceof RowQueryError && error.code)
      console.log(id, code, failed, new Own() instanceof ServiceError)
      await app.close()
    }
    main().catch((error) => { console.error(error) })`
  for (const { file, type = 'module', ...options } of MODULES) {
    const place = join(folder, `as-${options.module}-${options.moduleResolution ?? options.module}-${file.slice(-3)}`)
    mkdirSync(place)
    writeFileSync(join(place, 'package.json'), JSON.stringify({ type }))
    writeFileSync(join(place, file), text)
    const compilerOptions = {
      strict: true,
      target: 'es2024',
      esModuleInterop: true,
      types: [
        'node'
      ],
      typeRoots: [join(folder, 'node_modules/@types')],
      ...options
    }
    writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }))
    // TypeScript 7 has no node10
    const compiler = options.moduleResolution === 'node10' ? 'typescript/bin/tsc6' : '.bin/tsc'
    t.equal(await call(place, join(ROOT, 'node_modules', compiler)).catch(
      (error: { stdout: string }) => error.stdout
    ), '', place)
    copyFileSync(join(folder, 'shop.db'), join(place, 'shop.db'))
    const output = file.replace(/ts$/, 'js')
    t.equal(
      await call(place, process.execPath, output), '1 DATABASE_NOT_FOUND COLUMN_NOT_FOUND true\n',
      `${place}: what it emits runs`
    )
  }
})

t.test('CommonJS can require it, and gets the same modules as import', async (t) => {
  writeFileSync(join(folder, 'required.cjs'), `
    const Fastify = require('fastify')
    const { createToken, default: plugin, hashToken, rowQuery } = require('fastify-row-query')
    const token = createToken()
    const app = Fastify()
    app.register(rowQuery, {
      prefix: '/api',
      databases: { shop: { url: 'sqlite:shop.db' } },
      tokens: [{ name: 'x', sha256: hashToken(token), permissions: ['select'] }]
    })
    const headers = { authorization: 'Bearer ' + token }
    app.inject({ method: 'POST', url: '/api/shop/orders', headers, payload: ${JSON.stringify(select)} })
      .then(async (answer) => {
        console.log(plugin === rowQuery, (await import('fastify-row-query')).default === plugin, answer.payload)
        await app.close()
      })
  `)
  t.equal(
    await call(folder, process.execPath, '--trace-warnings', 'required.cjs'),
    `true true ${JSON.stringify(selected.json)}\n`
  )
})
