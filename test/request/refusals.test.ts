/**
 * The order of errors: refusals.txt has bodies with one, two and three mistakes, above their responses. A new body is
 * written into the file; `npm test -- --write test/request/refusals.test.ts` renews the responses.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import type { Body } from '../../schemas/body.ts'
import { type Access, authorize } from '../../src/access/authorize.ts'
import { createGrant } from '../../src/access/grant.ts'
import type { Catalog, TableSource } from '../../src/catalog/catalog.ts'
import { isServiceError, type ServiceError } from '../../src/errors.ts'
import { isObject, parseExactJson } from '../../src/json/exact-json.ts'
import { createBodyCheck, createOperationsCheck, type FindBodyError, parseBody } from '../../src/request/check-body.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { WRITE } from '../protocol.ts'
import { bodiesOf, joined, linesOfEntries, ShownErrors } from '../support/golden-bodies.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const FILE = new URL('refusals.txt', import.meta.url)

const { include, ...withoutInclude } = { ...LIMITS, include: { levels: 3, members: 10 } }
const limits = { ...withoutInclude, include }

/** The headings of the file. */
const WAYS: Readonly<Record<string, FindBodyError>> = {
  'To the table orders': createBodyCheck(limits),
  'To the table orders, without members': createBodyCheck(withoutInclude),
  'To the table orders in a transaction of the host app': createBodyCheck(limits, 'inTransaction'),
  'Of operations, at most 3': createOperationsCheck(limits, 3)
}

const required = { nullable: false, optional: false }
const tables = [
  tableOf({
    name: 'orders',
    columns: [
      mysqlColumn('id', 'int', { nullable: false, autoIncrement: true }), mysqlColumn('code', 'varchar(20)', required),
      mysqlColumn('customer', 'int'), mysqlColumn('total', 'decimal(10,2)')
    ],
    primaryKey: ['id'],
    uniqueKeys: [{ name: 'PRIMARY', columns: ['id'] }, { name: 'code', columns: ['code'] }],
    foreignKeys: [{ name: 'owner', columns: ['customer'], referencedTable: 'customers', referencedColumns: ['id'] }]
  }),
  tableOf({
    name: 'customers',
    columns: [mysqlColumn('id', 'int', required), mysqlColumn('name', 'varchar(20)')],
    primaryKey: ['id']
  }),
  tableOf({ name: 'letters', columns: [mysqlColumn('id', 'int', required)], primaryKey: ['id'] })
]
const catalog: Catalog = { tables: new Map(tables.map((table) => [table.name, table])), loadedAt: 0 }
const database = { name: 'shop', catalog }
const permissions = ['select', 'insert', 'update', 'delete'] as const
const grant = createGrant('test', {
  permissions, databases: { shop: { orders: {}, customers: {}, letters: { permissions: ['insert'] } } }
})
const access = { grant, database, tableName: 'orders', permissions: new Set(permissions) } as unknown as Access

/** `name×3` stands for `name1`, `name2` and `name3`, as a key or in a list, `{"×3": value}` for three such values. */
function unfold (value: unknown): unknown {
  if (Array.isArray(value)) return value.flatMap((item) => typeof item === 'string' ? namesOf(item) : repeat(item))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => namesOf(key).map((name) => [name, unfold(inner)]))
  )
}

function repeat (item: unknown): unknown[] {
  const [key = '', inner] = isObject(item) ? Object.entries(item)[0] ?? [] : []
  return key.startsWith('×') ? Array(Number(key.slice(1))).fill(unfold(inner)) : [unfold(item)]
}

function namesOf (name: string): string[] {
  const [, stem, count] = /^(.*)×(\d+)$/.exec(name) ?? []
  return count === undefined ? [name] : Array.from({ length: Number(count) }, (_, index) => `${stem}${index + 1}`)
}

/** The error of a body, from its text to its plan, not thrown. */
function findError (text: string, find: FindBodyError): ServiceError | undefined {
  const body = parseBody(text.includes('×') ? JSON.stringify(unfold(parseExactJson(text))) : text)
  if (isServiceError(body)) return body
  const error = find(body)
  if (error !== undefined || Object.hasOwn(body as object, 'operations')) return error
  try {
    createPlan(body as Body, authorize(access, body as Body, limits) as TableSource, limits)
  } catch (error) {
    if (isServiceError(error)) return error
    throw error
  }
}

t.test('each body is refused for the first of its mistakes', async (t) => {
  let find: FindBodyError = () => { throw new Error('there is no heading yet') }
  const errors = new ShownErrors()
  const before = readFileSync(FILE, 'utf8')
  const after = linesOfEntries(bodiesOf(before).map((body): [string, string[]] => {
    if (body.startsWith('# ')) find = WAYS[body.slice(2)] as FindBodyError
    if (body === '' || body.startsWith('#')) return [body, []]
    const error = findError(joined(body), find)
    return [body, [error === undefined ? 'accepted' : errors.show(errors.textOf(error))]]
  })).join('\n')
  if (process.env[WRITE] !== undefined) writeFileSync(FILE, after)
  else t.equal(after, before)
})
