/** Lists that are scanned: the statement is, byte for byte, that of the parsed and planned list. Whatever a scan does not take is left to that. */
import fc, { type Arbitrary } from 'fast-check'
import t from 'tap'
import { isUtf8 } from 'node:buffer'
import { BodySchema, type InsertBody } from '../../schemas/body.ts'
import type { Access } from '../../src/access/authorize.ts'
import type { Column, Table } from '../../src/catalog/catalog.ts'
import { writeStatement } from '../../src/dialects/mysql/literal.ts'
import { scanRows } from '../../src/dialects/mysql/scan/rows.ts'
import { createPlan } from '../../src/plan/create-plan.ts'
import type { InsertPlan, RowsPlan } from '../../src/plan/plan.ts'
import { compileBodySchema, parseBody } from '../../src/request/check-body.ts'
import { endOfObject } from '../../src/scan/end-of-object.ts'
import { scanInsert } from '../../src/scan/scan-insert.ts'
import type { ScannedBody } from '../../src/scan/scanned-body.ts'
import { compileRows } from '../../src/sql/insert-rows.ts'
import { toBatches } from '../../src/sql/row-batches.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const limits = { depth: 32, conditions: 256, values: 10_000, pattern: 1000, offset: 100_000 }
const findBodyError = compileBodySchema(BodySchema)
/** Shorter bodies are not scanned. */
const LONG = ' '.repeat(1024)

const text = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'Z', '0', ' ', "'", 'é', '€', '😀', '$', '`', '?', '%', '\x7f', '\u2028'), maxLength })
const digits = (length: number) => fc.integer({ min: 0, max: 10 ** length - 1 }).map(String)
const part = (max: number, length = 2) => fc.integer({ min: 0, max }).map((number) => String(number).padStart(length, '0'))
const day = fc.tuple(part(2200, 4), part(12), part(28)).map((parts) => parts.join('-'))
const clock = fc.tuple(part(23), part(59), part(59)).map((parts) => parts.join(':'))
const recent = fc.tuple(fc.integer({ min: 1971, max: 2037 }).map(String), fc.integer({ min: 1, max: 12 }).map((month) => String(month).padStart(2, '0')), fc.integer({ min: 1, max: 28 }).map((each) => String(each).padStart(2, '0'))).map((parts) => parts.join('-'))
const { document } = fc.letrec<{ document: unknown }>((tie) => ({
  document: fc.oneof({ maxDepth: 4 }, fc.constantFrom<unknown>(null, true, false, 0, -7, 1.5, 0.000001, 123456789012345, '', 'x "'.slice(0, 2), 'ä€😀'), fc.array(tie('document'), { maxLength: 3 }), fc.dictionary(fc.constantFrom('a', 'b', 'aa', 'ä', '', '__proto__x', 'toString'), tie('document'), { maxKeys: 3 }))
}))

/** A declaration with values that a scan takes. */
const types: Readonly<Record<string, Arbitrary<unknown>>> = {
  int: fc.integer(),
  'tinyint unsigned': fc.integer({ min: 0, max: 255 }),
  bigint: fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 }),
  'varchar(20)': text(5),
  longtext: text(9),
  "enum('new','paid','in-3 days','?','it''s')": fc.constantFrom('new', 'paid', 'in-3 days'),
  'decimal(10,2)': fc.tuple(digits(8), part(99)).map((parts) => parts.join('.')),
  'decimal(5)': digits(5),
  'decimal(2,2)': part(99).map((fraction) => `0.${fraction}`),
  date: day,
  datetime: fc.tuple(day, fc.constantFrom('T', ' '), clock).map((parts) => parts.join('')),
  timestamp: fc.tuple(recent, fc.constantFrom('T', ' '), clock, fc.constant('Z')).map((parts) => parts.join('')),
  double: fc.constantFrom(0, -1, 1.5, -0.25, 123456789.123),
  json: document.filter((value) => value !== null)
}
const declarations = Object.keys(types)

interface Case { readonly declarations: readonly string[], readonly rows: readonly object[], readonly onConflict: object | undefined, readonly gap: string }

const cases: Arbitrary<Case> = fc.record({
  declarations: fc.array(fc.constantFrom(...declarations), { minLength: 1, maxLength: 6 }),
  onConflict: fc.constantFrom(undefined, undefined, { key: ['id'], set: ['c0'] }, { key: ['id'] }, { key: ['c0'], set: [] }, { key: ['id'], set: { c0: null } }),
  gap: fc.constantFrom('', '', ' '),
  numbered: fc.constantFrom('none', 'all', 'some')
}).chain((rest) => fc.record({
  ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, fc.constant(value)])),
  rows: fc.array(fc.record({
    ...rest.numbered !== 'none' && { id: fc.integer({ min: 1, max: 9 }) },
    ...Object.fromEntries(rest.declarations.map((declaration, place) => [`c${place}`, fc.option(types[declaration] as Arbitrary<unknown>, { freq: 6 })]))
  }, { requiredKeys: [...rest.numbered === 'all' ? ['id'] : [], ...rest.declarations.map((_, place) => `c${place}`)] as never, noNullPrototype: true }), { minLength: 1, maxLength: 6 })
}) as unknown as Arbitrary<Case>)

/** A new table for each list: after one that cannot be scanned, a table is left alone for a while. */
function tableFor (list: readonly string[]): Table {
  const id = mysqlColumn('id', 'bigint', { nullable: false, optional: true, autoIncrement: true })
  const uniqueKeys = [{ name: 'PRIMARY', columns: ['id'] }, { name: 'c0', columns: ['c0'] }]
  return tableOf({ name: 'items', columns: [id, ...list.map((declaration, place) => mysqlColumn(`c${place}`, declaration))], primaryKey: ['id'], uniqueKeys })
}

function accessTo (table: Table, rest: object = {}): Access {
  const permissions = new Set(['insert', 'update'])
  const catalog = { tables: new Map([[table.name, table]]) }
  const database = { name: 'shop', dialect: { engine: 'mysql', scanRows }, getCatalog: () => catalog, latestCatalog: () => catalog, ...rest }
  return { grant: { name: 'test', permissions, databases: 'all', claims: {} }, database, tableName: table.name, permissions } as unknown as Access
}

const counts = { kept: 0, built: 0 }

/** The statements that a plan needs, without what divides them among transactions. */
function statementsOf ({ table, rows }: InsertPlan): unknown[] {
  return toBatches(rows as RowsPlan, table, 'mysql').map((batch) => [writeStatement(compileRows(batch, 'mysql', counts)), batch.scanned?.count ?? batch.rows.length, batch.isSeparate ?? false])
}

/** What the usual way does with a body; undefined if it refuses it. */
function usual (bytes: Buffer, table: Table): { body: InsertBody, plan: InsertPlan } | undefined {
  const body = parseBody(bytes.toString())
  if (body instanceof Error || findBodyError(body) !== undefined) return undefined
  try {
    return { body: body as InsertBody, plan: createPlan(body as InsertBody, table, limits) as InsertPlan }
  } catch {
    return undefined
  }
}

/** @returns whether the body was scanned */
function compare (bytes: Buffer, table: Table): boolean {
  const scanned = isUtf8(bytes) ? scanInsert(bytes, accessTo(table), limits) : undefined
  if (scanned === undefined) return false
  const expected = usual(bytes, table)
  const plan = scanned.planFor(table) as InsertPlan
  const rest = JSON.stringify(bytes.toString())
  if (expected === undefined) throw new Error(`the usual way refuses ${rest}`)
  const [one, other] = [statementsOf(plan), statementsOf(expected.plan)].map((statements) => JSON.stringify(statements))
  if (one !== other) throw new Error(`${one} instead of ${other} for ${rest}`)
  const { data, ...fields } = scanned as unknown as InsertBody
  if (JSON.stringify({ ...fields, data }) !== JSON.stringify({ ...fields, data: expected.body.data })) throw new Error(`the body of ${rest} is ${JSON.stringify(scanned)}`)
  const withIndexes = ({ rows }: InsertPlan) => rows?.rows.map(({ index, columns, parameters }) => [index, columns.map(({ name }) => name), parameters.map(String)])
  if (JSON.stringify(withIndexes(plan)) !== JSON.stringify(withIndexes(expected.plan))) throw new Error(`the rows of ${rest} differ`)
  return true
}

const write = ({ rows, onConflict, gap }: Case): string => JSON.stringify({ verb: 'insert', data: rows, ...onConflict && { onConflict } }, null, 0).replace(/^.*$/s, (json) => gap === '' ? json : json.replace(/":/g, '": ').replace(/},{"id/g, '}, {"id')) + LONG

t.test('a list in its plainest form is scanned, and has the statement of the parsed list', async (t) => {
  let scanned = 0
  fc.assert(fc.property(cases, (given) => {
    const isScanned = compare(Buffer.from(write({ ...given, gap: '' })), tableFor(given.declarations))
    if (isScanned) scanned++
    const isRegular = given.rows.every((row) => 'id' in row) || 'id' in (given.rows[0] as object) || given.rows.every((row) => !('id' in row))
    if (isRegular && given.onConflict === undefined && !isScanned) throw new Error(`not scanned: ${JSON.stringify(given)}`)
  }), { numRuns: 1000 })
  t.ok(scanned > 200, `${scanned}`)
})

/** Few edits before the list: the body must begin in its form. */
const START = 20

const TOKENS = [...'0123456789abcdef', '"', '\\', "'", '0', '-', '.', 'e', '1', ',', ':', '{', '}', '[', ']', ' ', '\n', '\t', '\0', 'é', 'null', 'true', '"a":1,', '\\ud800', '\\n', '\\u0061', '.0', '00', '"c0":1,', '31', '2026', '99', '\x1f', '\u2028', '😀', 'x'.repeat(20), '$', '"$eq"', '"$inc":', '{"$eq":1}', ']}', '}]', ',"data":[{}]', '"id":', 'Z', 'T', '+00:00', '\ufeff', '*/', '), (']

t.test('a list that was changed in some bytes is refused, or not scanned, or has the statement of the parsed list', async (t) => {
  let scanned = 0
  const edit = fc.record({ at: fc.noBias(fc.nat()), remove: fc.constantFrom(0, 1, 1, 2, 5), token: fc.oneof(fc.constantFrom('', ...TOKENS), fc.nat()), byte: fc.oneof({ weight: 20, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(255) }) })
  fc.assert(fc.property(cases, fc.array(edit, { minLength: 1, maxLength: 3 }), (given, edits) => {
    let body = write(given)
    for (const { at, remove, token } of edits) {
      const place = START + at % (body.length - LONG.length - START)
      body = body.slice(0, place) + (typeof token === 'string' ? token : body.slice(token % body.length, token % body.length + 5)) + body.slice(place + remove)
    }
    const bytes = Buffer.from(body)
    const [{ at, byte }] = edits as [typeof edits[number]]
    if (byte !== null) bytes[START + at % (bytes.length - LONG.length - START)] = byte
    if (compare(bytes, tableFor(given.declarations))) scanned++
  }), { numRuns: 5000 })
  t.ok(scanned > 20, `${scanned}`)
})

const table = (): Table => tableFor(['int', 'varchar(20)', 'json'])
const scanOf = (body: unknown, on = table(), rest?: object): ScannedBody | undefined => scanInsert(Buffer.from((typeof body === 'string' ? body : JSON.stringify(body)) + LONG), accessTo(on, rest), limits)
const rows = Array.from({ length: 3 }, (_, index) => ({ c0: index, c1: "it's", c2: { a: [index] } }))

t.test('what is unusual is not scanned', async (t) => {
  t.ok(scanOf({ verb: 'insert', data: rows }))
  t.ok(scanOf({ data: rows, verb: 'insert' }), 'the list may come first')
  t.ok(scanOf({ verb: 'insert', data: rows, dryRun: true }))
  t.notOk(scanInsert(Buffer.from(JSON.stringify({ verb: 'insert', data: rows })), accessTo(table()), limits), 'a short body')
  t.notOk(scanOf({ verb: 'insert', data: rows }, table(), { onWrite: () => {} }), 'a hook gets the rows')
  t.notOk(scanOf({ verb: 'insert', data: rows }, table(), { dialect: { engine: 'sqlite' } }))
  t.notOk(scanOf({ verb: 'insert', data: rows }, table(), { latestCatalog: () => undefined, getCatalog: async () => ({}) }), 'no catalog yet')
  t.notOk(scanOf({ verb: 'insert', data: rows, returning: '*' }))
  t.notOk(scanOf({ verb: 'insert', data: rows[0] }), 'one row')
  t.notOk(scanOf({ verb: 'update', data: rows }))
  t.notOk(scanOf({ verb: 'insert', data: [{}, {}] }), 'rows of defaults alone')
  t.notOk(scanOf({ verb: 'insert', data: rows, unknown: 1 }))
  t.notOk(scanOf({ verb: 'insert', data: [...rows, { c0: 1, c1: 'x' }] }), 'other columns')
  t.notOk(scanOf({ verb: 'insert', data: [{ c9: 1 }] }), 'an unknown column')
  t.notOk(scanOf({ verb: 'insert', data: [{ c2: { $eq: 1 } }] }), 'a form')
  t.notOk(scanOf({ verb: 'insert', data: Array.from({ length: 1001 }, () => ({ c0: 1 })) }), 'too many rows')
  t.ok(scanOf({ verb: 'insert', data: Array.from({ length: 1000 }, () => ({ c0: 1 })) }))
  const wide = tableFor(Array.from({ length: 101 }, () => 'int'))
  const row = Object.fromEntries(Array.from({ length: 101 }, (_, place) => [`c${place}`, place]))
  t.notOk(scanOf({ verb: 'insert', data: Array.from({ length: 991 }, () => row) }, wide), 'too many values')
  const trigger = tableOf({ columns: [mysqlColumn('c0', 'int')], triggers: { known: true, list: [{ timing: 'before', event: 'insert' }] } })
  t.notOk(scanOf({ verb: 'insert', data: [{ c0: 1 }] }, trigger), 'a trigger may fill in columns')
  const column: Column = mysqlColumn('c0', 'int', { nullable: false })
  t.notOk(scanOf({ verb: 'insert', data: [{ c0: 1 }, { c0: null }] }, tableOf({ columns: [column] })), 'null in a NOT NULL column')
})

t.test('an upsert is scanned if its order is known', async (t) => {
  const on = table()
  const data = [{ id: 3, c0: 1 }, { c0: 5 }, { id: 1, c0: 2 }, { id: 3, c0: 4 }]
  const scanned = scanOf({ verb: 'insert', data, onConflict: { key: ['id'], set: ['c1'] } }, on)
  t.notOk(scanned, 'no value for a column that is written')
  const sorted = scanOf({ verb: 'insert', data, onConflict: { key: ['id'], set: [] } }, on)?.planFor(on)?.rows?.scanned
  t.equal(sorted?.literals, '1, 2), (3, 1), (3, 4), (null, 5', 'by the key, equal ones in their order, those without it at the end')
  t.equal(sorted?.count, 4)
  t.notOk(scanOf({ verb: 'insert', data, onConflict: { key: ['id'] } }), 'what is written differs by row')
  t.ok(scanOf({ verb: 'insert', data: data.filter(({ id }) => id !== undefined), onConflict: { key: ['id'], set: [] } }))
  t.notOk(scanOf({ verb: 'insert', data, onConflict: { key: ['id'], set: { c0: 1 } } }))
})

t.test('after a list that could not be scanned, the next 15 for the table are not', async (t) => {
  const on = table()
  t.notOk(scanOf({ verb: 'insert', data: [{ c1: 'a\n' }] }, on))
  for (let index = 0; index < 15; index++) t.notOk(scanOf({ verb: 'insert', data: rows }, on))
  t.ok(scanOf({ verb: 'insert', data: rows }, on))
  t.ok(scanOf({ verb: 'insert', data: rows }, on))
})

t.test('a scanned body is parsed for another table than it was scanned for', async (t) => {
  const on = table()
  const body = scanOf({ verb: 'insert', data: rows }, on) as ScannedBody
  t.equal(body.planFor(table()), undefined)
  t.same((body as unknown as InsertBody).data, rows)
})

t.test('a scanned body that a hook has read or changed is planned as any other', async (t) => {
  const on = table()
  const data = rows.map((row, index) => ({ id: index, ...row }))
  const scan = () => scanOf({ verb: 'insert', data, onConflict: { key: ['id'], set: [] } }, on) as ScannedBody & { data: object, dryRun?: boolean, onConflict: { set: string[] } }
  t.ok(scan().planFor(on))
  t.ok(scan().isUntouched)
  const changes: Array<(body: ReturnType<typeof scan>) => void> = [
    (body) => { t.same(body.data, data) },
    (body) => { body.data = [] },
    (body) => { body.dryRun = true },
    (body) => { body.onConflict.set.push('c1') }
  ]
  for (const change of changes) {
    const body = scan()
    change(body)
    t.notOk(body.isUntouched)
    t.equal(body.planFor(on), undefined)
  }
  const changed = scan()
  changed.data = []
  t.same(changed.data, [])
})

t.test('the end of an object is found', async (t) => {
  const end = (json: string): number => endOfObject(Buffer.from(json), 0)
  t.equal(end('{"a":{"}\\"}":[]},"b":"\\\\"}]'), 26)
  t.equal(end('{"a'), 3)
})
