// night: makes documents of tens of megabytes
/** Documents that would be larger than they may be, and the parts in which documents are made. */
import t from 'tap'
import type { ServiceError } from '../../src/errors.ts'
import { createCatalog } from '../../src/catalog/catalog.ts'
import { allOf, inPieces } from '../../src/in-pieces.ts'
import {
  createDatabaseDocument, createDatabaseDocumentNow, type DatabaseDocument, Members, writeDocument
} from '../../src/openapi/database-document.ts'
import { EVERYTHING, visibleTables } from '../../src/openapi/visible.ts'
import { get, tokenFor } from '../support/documents.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, TOKEN } from '../support/service.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn } from '../support/tables.ts'

const tableOf = (name: string, columns: number) => ({
  name,
  kind: 'table' as const,
  comment: '',
  engine: 'innodb',
  transactional: true,
  triggers: { isComplete: true, list: [] },
  primaryKey: ['c0'],
  uniqueKeys: [],
  indexes: [],
  foreignKeys: [],
  checks: [],
  columns: Array.from({ length: columns }, (_, index) => mysqlColumn(`c${index}`, 'int'))
})
const optionsOf = (tables: number, columns: number, maxBytes = Infinity): DatabaseDocument => ({
  database: 'shop',
  tables: visibleTables(
    createCatalog(Array.from({ length: tables }, (_, index) => tableOf(`t${index}`, columns)), 0), EVERYTHING, 'shop'
  ),
  settings: { prefix: '/api', limits: { ...LIMITS, operations: 10, include: { levels: 1, members: 1 } } },
  maxBytes
})

t.test('a document that would be too large is refused, with the tables that it has room for', async (t) => {
  const { bytes: { length } } = await createDatabaseDocument(optionsOf(60, 200))
  t.equal((await createDatabaseDocument(optionsOf(60, 200, length))).bytes.length, length, 'one that just fits')
  for (const maxBytes of [length - 1, length / 2]) {
    const refused = await createDatabaseDocument(optionsOf(60, 200, maxBytes)).catch((error: Error) => error) as Error
    t.match([refused.message, (refused as ServiceError).code], [/document of 60 tables/, 'RESULT_TOO_LARGE'])
    const named = Array.from(refused.message.matchAll(/"(t\d+)"/g), ([, name]) => name)
    t.same(named, Array.from(named, (_, index) => `t${index}`))
    t.ok(named.length > 15, refused.message)
    t.ok(
      (await createDatabaseDocument(optionsOf(named.length, 200))).bytes.length < maxBytes,
      `a document of these ${named.length} is not too large`
    )
  }
  const many = createDatabaseDocumentNow(optionsOf(200, 1)).bytes.length
  t.throws(() => createDatabaseDocumentNow(optionsOf(200, 1, many - 1)), {
    code: 'RESULT_TOO_LARGE', message: /"t98", "t99" and \d\d others$/
  })
})

t.test('the bytes of a document are the same, whether it is made at once or in parts', async (t) => {
  const [first, second] = [
    createDatabaseDocumentNow(optionsOf(30, 20)), await createDatabaseDocument(optionsOf(30, 20))
  ]
  t.ok(first.bytes.equals(second.bytes))
  t.equal(first.etag, second.etag)
  t.doesNotThrow(() => JSON.parse(String(first.bytes)))
})

t.test('members are written with commas between them, also around objects', async (t) => {
  const text = (members: Members): string => String(allOf(writeDocument(members)).bytes)
  const [outer, inner, empty] = [new Members(), new Members(), new Members()]
  t.equal(text(empty), '{}\n')
  outer.addObject('empty', empty)
  inner.add({})
  inner.add({ a: 1 })
  inner.add({ b: 2, c: {} })
  outer.addObject('inner', inner)
  outer.add({ d: 'ħ' })
  t.equal(text(outer), '{"empty":{},"inner":{"a":1,"b":2,"c":{}},"d":"ħ"}\n')
  t.equal((await inPieces(writeDocument(outer))).bytes.length, Buffer.byteLength(text(outer)))
})

const wide = Array.from({ length: 200 }, (_, index) => `column_${index} decimal(10,2) not null default 1.5`).join()
const TABLES = 240
const names = Array.from({ length: TABLES }, (_, index) => `wide_${index}`)

await onEachEngine(t, 'the document of a token that sees too much is 422, and that of a narrower one is made', {
  schema: (engine) => names.map(
    (name) => `create table ${name} (id integer primary key${engine === 'sqlite' ? '' : ' auto_increment'}, ${wide})`
  ),
  tokens: [tokenFor('narrow', ['select'], { shop: names.slice(0, 3) })],
  only: ['sqlite']
}, async (t, { server }) => {
  const refused = await get(server, '/shop/openapi.json', { token: TOKEN })
  isRefusal(t, refused, { status: 422, code: 'RESULT_TOO_LARGE', why: 'a large database' })
  t.match(
    refused.json.error.message,
    /document of 240 tables .* token with permissions on fewer tables: it has room for "wide_0", /
  )
  t.equal((await get(server, '/shop/openapi.json', { token: 'narrow' })).status, 200)
})
