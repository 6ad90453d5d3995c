/** Enforces the rules between the rooms (docs/architecture.md) by reading the import lines. */
import t from 'tap'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

interface Source {
  /** From the root of the project: `src/verbs/index.ts`. */
  readonly path: string
  readonly text: string
  /** What it imports: files of ours by their paths, the rest by name. */
  readonly imports: readonly string[]
  /** The same without what is imported as types only, which is gone when the program runs. */
  readonly runtimeImports: readonly string[]
}

const IMPORT = /^(?:import|export)\s+(type\s)?(?:[^'"]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm

function read (folder: string): Source[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter(
    (file) => /\.tsx?$/.test(file)
  )
  return files.map((file) => {
    const path = join(folder, file)
    const text = readFileSync(join(root, path), 'utf8')
    const found = Array.from(text.matchAll(IMPORT), ([, type, name, dynamic]) => ({
      type: type !== undefined, name: resolve(path, (name ?? dynamic) as string)
    }))
    return {
      path,
      text,
      imports: found.map(({ name }) => name),
      runtimeImports: found.filter(({ type }) => !type).map(({ name }) => name)
    }
  })
}

const resolve = (from: string, name: string): string =>
  name.startsWith('.') ? relative(root, join(root, dirname(from), name)) : name

const sources = ['src', 'plugins', 'schemas'].flatMap(read)
const inside = (...places: string[]): Source[] =>
  sources.filter(({ path }) => places.some((place) => path === place || path.startsWith(place + '/')))
const outside = (...places: string[]): Source[] => sources.filter((source) => !inside(...places).includes(source))
const isOurs = (name: string): boolean => /^(src|plugins|schemas)\//.test(name)

/** The files that import something that a rule forbids them. */
const importing = (files: Source[], forbidden: (name: string) => boolean): string[] =>
  files.flatMap(({ path, imports }) => imports.filter(forbidden).map((name) => `${path} imports ${name}`))

t.test('the imports are found', async (t) => {
  t.ok(sources.length > 40)
  const pipeline = sources.find(({ path }) => path === 'src/pipeline.ts')
  t.ok(pipeline?.imports.includes('src/verbs/index.ts'))
  t.ok(pipeline?.imports.includes('schemas/body.ts'))
  t.notOk(pipeline?.runtimeImports.includes('schemas/body.ts'), 'types are told from the rest')
  t.same(importing(sources, (name) => isOurs(name) &&
    !sources.some(({ path }) => path === name)), [], 'and they are files of ours')
})

t.test('schemas import only schemas', async (t) => {
  t.same(importing(inside('schemas'), (name) => isOurs(name) && !name.startsWith('schemas/')), [])
})

t.test('only src/sql imports Kysely, and src/plan does not import src/sql', async (t) => {
  t.same(importing(outside('src/sql'), (name) => name === 'kysely'), [])
  t.same(importing(inside('src/plan'), (name) => name.startsWith('src/sql/')), [])
})

t.test('only src/plan/writes.ts reads what triggers, history and the engine of a table ' +
  'do to written rows', async (t) => {
  const reading = inside('src/verbs', 'src/plan', 'src/sql', 'src/execute').flatMap(({ path, text }) =>
    Array.from(new Set(text.replace(/\/\*[^]*?\*\/|\/\/.*|'[^'\n]*'/g, '')
      .match(/\b(mayFire|mayFillColumns|triggers|versioned|transactional)\b/g)), (name) => `${path}: ${name}`))
  t.same(reading.filter((each) => !each.startsWith('src/plan/writes.ts')), [])
  t.same(
    reading.map((each) => each.split(' ')[1]).sort(), ['mayFillColumns', 'mayFire', 'transactional', 'versioned'],
    'which reads all of them'
  )
})

t.test('src/plan and src/sql do not import Fastify', async (t) => {
  t.same(importing(
    inside('src/plan', 'src/sql', 'src/types', 'src/catalog'), (name) => /fastify|^plugins\/|^node:http/.test(name)
  ), [])
  t.same(importing(
    inside('src/sql', 'src/types', 'src/catalog', 'src/dialects', 'src/response'), (name) => name === 'schemas/body.ts'
  ), [])
})

t.test('only src/dialects imports a driver; the demo fills its own SQLite file', async (t) => {
  t.same(importing(outside('src/dialects'), (name) => /^mysql2/.test(name)), [])
  t.same(importing(outside('src/dialects', 'src/demo'), (name) => name === 'node:sqlite'), [])
})

t.test('only what opens databases and reads their settings knows one engine', async (t) => {
  t.same(importing(
    outside('src/dialects', 'src/databases', 'src/config'), (name) => /^src\/dialects\/(mysql|sqlite)\//.test(name)
  ), [])
})

t.test('src/dialects imports neither requests, plans nor answers', async (t) => {
  t.same(importing(inside('src/dialects'), (name) => /^src\/(plan|request|response)\//.test(name)), [])
})

t.test('only the child process loads node:sqlite', async (t) => {
  const loading = inside('src').filter(({ runtimeImports }) =>
    ['node:sqlite', 'src/dialects/sqlite/open-file.ts'].some((path) => runtimeImports.includes(path)))
  t.same(loading.map(({ path }) => path).filter((path) => !path.startsWith('src/demo/')), [
    'src/dialects/sqlite/open-file.ts', 'src/dialects/sqlite/process.ts'
  ])
})

t.test('jose is loaded only if JWTs are configured', async (t) => {
  t.same(sources.filter(({ text }) => /^import (?!type )[^(\n]*'jose'/m.test(text)).map(({ path }) => path), [])
  t.same(sources.filter(({ text }) => text.includes("await import('jose')")).map(({ path }) => path), [
    'src/access/jwt.ts'
  ])
})

t.test('only src/app.ts and src/server import plugins', async (t) => {
  t.same(importing(outside('src/app.ts', 'src/server', 'plugins'), (name) => name.startsWith('plugins/')), [])
})

t.test('src/client imports only src/json and types of the rest, and nothing of Node', async (t) => {
  t.same(inside('src/client', 'src/json').flatMap(({ path, runtimeImports }) =>
    runtimeImports.filter((name) => !/^src\/(client|json)\//.test(name)).map((name) => `${path} imports ${name}`)), [])
  t.same(importing(inside('src/client', 'src/json'), (name) => name.startsWith('node:')), [])
  // what it imports types from is read by programs without the types of Node
  const read = [
    'src/in-process/field-types.ts', 'src/in-process/related.ts', 'src/in-process/requests.ts', 'schemas/filters.ts'
  ]
  t.same(read.flatMap((file) => sources.find(({ path }) => path === file)?.imports ?? ['not found']).filter(
    (name) => !read.includes(name)
  ), [])
})

t.test('page imports only src/json, and nobody imports page', async (t) => {
  t.same(read('page').flatMap(({ path, imports }) => imports.filter(
    (name) => !/^(page|src\/json)\//.test(name) && !/^preact(\/hooks)?$/.test(name)
  ).map((name) => `${path} imports ${name}`)), [])
  t.same(importing(sources, (name) => name.startsWith('page/')), [])
})

t.test('no file is called utils, helpers or common', async (t) => {
  t.same(
    sources.filter(({ path }) => /\b(utils?|helpers?|common|misc|shared)\b/i.test(path)).map(({ path }) => path), []
  )
})

/** The files that comments name, by their path or the end of it. */
const namedIn = (text: string): string[] =>
  Array.from(text.matchAll(/^ *(?:\/\/|\/\*\*|\*) .*| \/\/ .*/gm), ([comment]) => comment.replace(/https?:\S+/g, ''))
    .flatMap((comment) => comment.match(/(?<![\w./'-])[\w./-]*\w\.(?:tsx?|md)\b/g) ?? [])

t.test('a file that a comment names exists', async (t) => {
  const files = ['src', 'plugins', 'schemas', 'page', 'build', 'test', 'docs'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => `/${folder}/${file}`))
  const isThere = (name: string): boolean => files.some((file) => file.endsWith(`/${name.replace(/^\.\//, '')}`))
  const named = sources.flatMap(({ path, text }) => namedIn(text).map((name) => ({ path, name })))
  t.ok(named.length > 50)
  t.same(named.filter(({ name }) => !isThere(name)), [])
  t.same(namedIn('/** Drops it (src/gone.ts). */\nconst a = 1 // see other.ts'), ['src/gone.ts', 'other.ts'])
})

/** The first cycle of a graph, if it has one. */
function findCycle (graph: ReadonlyMap<string, Iterable<string>>): string | undefined {
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]): string | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node].join(' -> ')
    if (done.has(node)) return undefined
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...path, node])
      if (cycle !== undefined) return cycle
    }
    done.add(node)
    return undefined
  }
  for (const node of graph.keys()) {
    const cycle = visit(node, [])
    if (cycle !== undefined) return cycle
  }
  return undefined
}

t.test('there are no import cycles, also of types', async (t) => {
  t.equal(findCycle(new Map(sources.map(({ path, imports }) => [path, imports.filter(isOurs)]))), undefined)
  t.equal(findCycle(new Map([['a', ['b']], ['b', ['c']], ['c', ['b']]])), 'b -> c -> b', 'a cycle is found')
})

/** The folder in src, or the file beside the folders. */
const roomOf = (path: string): string => path.split('/').slice(0, path.startsWith('src/') ? 2 : 1).join('/')

t.test('there are no cycles of rooms: imports lead in one direction', async (t) => {
  const rooms = Map.groupBy(sources, ({ path }) => roomOf(path))
  const graph = Array.from(rooms, ([room, files]) => [
    room, new Set(files.flatMap(({ imports }) => imports.filter(isOurs).map(roomOf)).filter((other) => other !== room))
  ] as const)
  t.equal(findCycle(new Map(graph)), undefined)
})
