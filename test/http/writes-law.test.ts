// night: many random cases
/**
 * Lists and upserts of several clients at once, and merges of random documents. support/write-model.ts has the model of
 * writes one after the other.
 */
import fc from 'fast-check'
import t from 'tap'
import { numberedId } from '../support/definitions.ts'
import '../support/seed.ts'
import { type EngineName, type Service, sharedOnEachEngine } from '../support/service.ts'

interface Row { sku: string, n: number | null }
const schema = (engine: EngineName): string[] => [
  `create table items (${numberedId(engine)}, sku varchar(20) not null unique, code varchar(20) null unique,
    n int null default 3, price decimal(10,2) not null default 7, note varchar(10) null)
    ${engine === 'sqlite' ? '' : 'collate utf8mb4_bin'}`
]

const read = async ({ post }: Service): Promise<Array<Row & { id: number }>> =>
  (await post('items', { verb: 'select', limit: 1000 })).json.data.rows

const test = sharedOnEachEngine(t, { schema })

await test('plain lists from eight clients at once have consecutive ids in their order', async (t, service) => {
  const lists = Array.from({ length: 40 }, (_, list) =>
    Array.from({ length: 1 + list % 9 }, (_, row) => ({ sku: `${list}-${row}`, ...row % 2 === 0 && { n: row } })))
  const ids = new Map<number, number>()
  await atOnce(8, lists, async (data, list) => {
    ids.set(list, (await service.post('items', { verb: 'insert', data })).json.data.id)
  })
  for (const { id, sku } of await read(service)) {
    const [list, row] = sku.split('-').map(Number) as [number, number]
    t.equal(id, ids.get(list) as number + row, sku)
  }
})

await test('upserts of the same rows from eight clients at once all succeed, and their counts ' +
  'agree with the rows', async (t, service) => {
  const lists = Array.from({ length: 160 }, (_, list) =>
    Array.from({ length: 20 }, (_, row) => ({ sku: `s${(list * 7 + row * 13) % 40}`, n: list })))
  const sums = { inserted: 0, updated: 0, unchanged: 0 }
  const refused: unknown[] = []
  await atOnce(8, lists, async (data, list) => {
    const rows = list % 3 === 0 ? data.toReversed() : data
    const { status, json } = await service.post('items', {
      verb: 'insert', data: rows, onConflict: { key: ['sku'], set: list % 2 === 0 ? { n: { $inc: 1 } } : [] }
    })
    if (status !== 200) return refused.push(json)
    if (json.data.inserted + json.data.updated + json.data.unchanged !== 20) refused.push(json)
    for (const name of ['inserted', 'updated', 'unchanged'] as const) sums[name] += json.data[name]
  })
  t.same(refused, [])
  const rows = await read(service)
  t.equal(sums.inserted, rows.length)
  t.equal(sums.inserted + sums.updated + sums.unchanged, 160 * 20)
  // each update adds 1 to the number that the row was inserted with
  t.ok(rows.reduce((sum, { n }) => sum + (n as number), 0) >= sums.updated)
})

/** Runs `work` for each item, so many at a time. */
async function atOnce<T> (
  clients: number, items: readonly T[], work: (item: T, index: number) => Promise<unknown>
): Promise<void> {
  let next = 0
  await Promise.all(Array.from({ length: clients }, async () => {
    while (next < items.length) await work(items[next] as T, next++)
  }))
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** RFC 7396, section 2. */
function mergePatch (target: Json | undefined, patch: Json): Json {
  if (!isRecord(patch)) return patch
  const result = new Map(Object.entries(isRecord(target) ? target : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key)
    else result.set(key, mergePatch(result.get(key), value))
  }
  return Object.fromEntries(result)
}
const isRecord = (value: Json
  | undefined): value is { [key: string]: Json } => typeof value === 'object' && value !== null && !Array.isArray(value)

const key = fc.constantFrom('a', 'b', 'c', '1', 'A', 'é', '', '😀', '$x', '__proto__', 'a.b')
const { json } = fc.letrec<{ json: Json, object: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 }, fc.constant(null), fc.constant(null), fc.integer(), fc.boolean(),
    fc.constantFrom('', 'x', '"', 'é😀', '\n'), fc.array(tie('json'), { maxLength: 3 }), tie('object')
  ),
  object: fc.dictionary(key, tie('json'), { maxKeys: 4, noNullPrototype: true })
}))

const testDocuments = sharedOnEachEngine(t, {
  schema: (engine) => [
    `create table documents (${numberedId(engine)}, doc json null)`,
    'insert into documents values (1, null)'
  ]
})

await testDocuments('$merge follows RFC 7396 for any document and patch', async (t, { post }) => {
  await fc.assert(fc.asyncProperty(json, fc.dictionary(key, json, {
    maxKeys: 4, noNullPrototype: true
  }), async (target, patch) => {
    const sent = await post('documents', { verb: 'update', data: { doc: { $eq: target } }, filters: { id: 1 } })
    const merged = await post('documents', { verb: 'update', data: { doc: { $merge: patch } }, filters: { id: 1 } })
    if (sent.status !== 200 || merged.status !== 200) throw new Error(sent.text + merged.text)
    const { doc } =
      (await post('documents', { verb: 'select', columns: ['doc'], filters: { id: 1 } })).json.data.rows[0]
    t.strictSame(doc, mergePatch(target, patch as Json))
  }), { numRuns: 150 })
})
