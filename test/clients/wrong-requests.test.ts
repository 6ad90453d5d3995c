// night: runs tools and clients of other projects
/**
 * Wrong requests, each sent by a call in process, a call in a transaction, the client and a generated client: either the call does not compile, or
 * the table says why it cannot be so. The service refuses all of them.
 */
import t from 'tap'
import { get } from '../support/documents.ts'
import { createWorkshop } from '../support/programs.ts'
import { runRowQuery } from '../support/row-query.ts'
import { onEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

/** Why a call compiles, for one of the ways or for all. */
const REASONS = {
  atRunTime: 'TypeScript does not know the value: a text of digits, or how large a number is',
  numbers: 'numbers of the database are numbers or bigints in TypeScript, whether they are whole or not',
  noBounds: 'TypeScript has no types for lengths, bounds and empty lists',
  texts: 'times, decimals and texts are all strings in TypeScript',
  always: 'whether filters are always true depends on their values',
  together: 'the schema says which fields go together by keywords that generators do not read',
  orderText: 'the schema has a pattern for the text, which generators do not read',
  names: 'the names that the columns of a list refer to are free in the schema',
  free: 'the schema of positions has no order: its columns depend on the request',
  bodyWins: 'a column has one value, and TypeScript does not compare those of a list',
  related: 'the columns that relate two tables are free in the schema'
} as const

type Reason = keyof typeof REASONS
type Way = 'execute' | 'tx' | 'client' | 'generated'
/** `true`: does not compile; otherwise the reason, or one for each way in which it compiles. */
type Compiles = true | Reason | Partial<Record<Way, Reason>>

const cases: ReadonlyArray<readonly [what: string, table: string, body: string, Compiles]> = [
  // names
  ['a misspelt table', 'order', "{ verb: 'select' }", true],
  ['a misspelt verb', 'orders', "{ verb: 'selekt' }", true],
  ['a misspelt field', 'orders', "{ verb: 'select', limt: 5 }", true],
  ['a field of another verb', 'orders', "{ verb: 'delete', filters: { id: 1 }, limit: 1 }", true],
  ['a misspelt column to select', 'orders', "{ verb: 'select', columns: ['id', 'nota'] }", true],
  ['a misspelt column to filter by', 'orders', "{ verb: 'select', filters: { id: 1, nota: 'x' } }", true],
  ['a misspelt column in $or', 'orders', "{ verb: 'select', filters: { $or: [{ id: 1 }, { id: 2, nota: 'x' }] } }", true],
  ['a misspelt operator', 'orders', "{ verb: 'select', filters: { id: { $gtt: 1 } } }", true],
  ['a misspelt column to insert', 'orders', "{ verb: 'insert', data: { customer_id: 1, nota: 'x' } }", true],
  ['a misspelt column to change', 'orders', "{ verb: 'update', data: { nota: 'x' }, filters: { id: 1 } }", true],
  ['a misspelt column to return', 'orders', "{ verb: 'delete', filters: { id: 99 }, returning: ['idd'] }", true],
  ['a misspelt order', 'orders', "{ verb: 'select', orderBy: 'nota DESC' }", { generated: 'orderText' }],
  ['a misspelt second term of an order', 'orders', "{ verb: 'select', orderBy: 'id, nota' }", { generated: 'orderText' }],
  ['a misspelt order in a list', 'orders', "{ verb: 'select', orderBy: [{ nota: 'DESC' }] }", { generated: 'orderText' }],
  ['a misspelt direction', 'orders', "{ verb: 'select', orderBy: 'id DOWN' }", { generated: 'orderText' }],
  // types of values
  ['a text as a number to filter by', 'orders', "{ verb: 'select', filters: { id: 'one' } }", true],
  ['a number as a text to filter by', 'orders', "{ verb: 'select', filters: { note: 5 } }", true],
  ['an object as a value to filter by', 'orders', "{ verb: 'select', filters: { note: { is: 'x' } } }", true],
  ['an operator of texts for a number', 'orders', "{ verb: 'select', filters: { id: { $like: '1%' } } }", { execute: 'numbers', tx: 'numbers', client: 'numbers' }],
  ['a text as a number to insert', 'orders', "{ verb: 'insert', data: { customer_id: 'one' } }", true],
  ['null for a column that is NOT NULL', 'orders', "{ verb: 'insert', data: { customer_id: null } }", true],
  ['a fraction for a whole number', 'orders', "{ verb: 'insert', data: { customer_id: 1.5 } }", 'numbers'],
  ['a text that is no time', 'customers', "{ verb: 'select', filters: { created_at: 'yesterday' } }", 'texts'],
  ['a text that is too long', 'customers', `{ verb: 'insert', data: { email: '${'x'.repeat(300)}', name: 'x' } }`, 'noBounds'],
  ['too many rows', 'orders', "{ verb: 'select', limit: 5000 }", 'noBounds'],
  ['an increment of a text', 'customers', "{ verb: 'update', data: { name: { $inc: 1 } }, filters: { id: 1 } }", true],
  ['a sum of texts', 'customers', "{ verb: 'select', aggregates: { n: { $sum: 'name' } } }", true],
  // what belongs to a request
  ['an insert without a required column', 'orders', "{ verb: 'insert', data: { note: 'x' } }", true],
  ['an update without filters', 'orders', "{ verb: 'update', data: { note: 'x' } }", true],
  ['an update of every row', 'orders', "{ verb: 'update', data: { note: 'x' }, filters: {} }", 'always'],
  ['a generated column', 'customers', "{ verb: 'update', data: { login: 'x' }, filters: { id: 1 } }", true],
  ['an insert into a view', 'order_lines', "{ verb: 'insert', data: {} }", true],
  ['a delete from a view', 'order_lines', "{ verb: 'delete', filters: { line: 1 } }", true],
  ['a conflict in no unique key', 'orders', "{ verb: 'insert', data: { customer_id: 1 }, onConflict: { key: ['note'] } }", true],
  ['a conflict in a part of a key', 'order_items', "{ verb: 'insert', data: { order_id: 1, line: 9, product_sku: 'MUG-1', price: '1.00' }, onConflict: { key: ['line'] } }", { generated: 'noBounds' }],
  ['columns of groups', 'customers', "{ verb: 'select', groupBy: ['status'], columns: ['status'] }", { generated: 'together' }],
  ['an order of groups by another column', 'customers', "{ verb: 'select', groupBy: ['status'], orderBy: 'name' }", { generated: 'names' }],
  ['a position and an offset', 'orders', "{ verb: 'select', after: null, offset: 1 }", { generated: 'together' }],
  ['a position in another order', 'orders', "{ verb: 'select', orderBy: 'note', after: { id: 1 } }", 'free'],
  ['a column twice in an order', 'orders', "{ verb: 'select', orderBy: 'id, id DESC' }", 'bodyWins'],
  // members
  ['a misspelt column of a member', 'orders', "{ verb: 'select', include: { customer: { table: 'customers', columns: ['nam'] } } }", true],
  ['a member without a table', 'orders', "{ verb: 'select', include: { customer: {} } }", true],
  ['a member without a relation', 'orders', "{ verb: 'select', include: { other: { table: 'settings' } } }", { generated: 'together' }],
  ['a relation of a text with a number', 'orders', "{ verb: 'select', include: { other: { table: 'settings', on: { note: 'id' } } } }", { generated: 'related' }],
  ['a limit of one row', 'orders', "{ verb: 'select', include: { customer: { table: 'customers', limit: 5 } } }", { generated: 'together' }],
  ['a misspelt column of related rows', 'orders', "{ verb: 'select', filters: { $some: { order_items: { filters: { skoo: 'A' } } } } }", true],
  ['a misspelt column of related rows by their table', 'orders', "{ verb: 'select', filters: { $some: { lines: { table: 'order_items', on: { id: 'order_id' }, filters: { skoo: 'A' } } } } }", true],
  ['a misspelt table of related rows', 'orders', "{ verb: 'select', filters: { $or: [{ id: 1 }, { $none: { order_itemz: {} } }] } }", true],
  ['a misspelt column of related rows in a write', 'orders', "{ verb: 'delete', filters: { id: 99, $not: { $some: { order_items: { filters: { skoo: 'A' } } } } } }", true],
  ['rows that no foreign key relates', 'orders', "{ verb: 'select', filters: { $some: { settings: {} } } }", true],
  ['a view as a member', 'orders', "{ verb: 'select', include: { lines: { table: 'order_lines', on: { id: 'order_id' } } } }", true]
]

const CALLS: Readonly<Record<Way, (table: string, body: string) => string>> = {
  execute: (table, body) => `await rows.execute({ database: 'shop', table: '${table}', grant, body: ${body} })`,
  tx: (table, body) => `await tx.execute({ table: '${table}', grant, body: ${body} })`,
  client: (table, body) => {
    const [, verb = '', fields = ''] = /^\{ verb: '(\w+)'(?:, )?(.*)\}$/s.exec(body) ?? []
    return `await db.${verb}('${table}', { ${fields}})`
  },
  generated: (table, body) => {
    const [, verb = '', fields = ''] = /^\{ verb: '(\w+)'(?:, )?(.*)\}$/s.exec(body) ?? []
    const name = table.replace(/(^|_)(\w)/g, (_, before, letter: string) => letter.toUpperCase())
    const request = `${verb.replace(/^\w/, (letter) => letter.toUpperCase())}Request`
    return `send<Schemas['${name}${request}']>({ verb: '${verb}', ${fields}})`
  }
}

const HEADS: Readonly<Record<Way, string>> = {
  execute: `import { createRowQuery, type GrantOptions } from 'fastify-row-query'
import type { DB } from './shop.ts'
declare const grant: GrantOptions
const rows = createRowQuery<{ shop: DB }>({ databases: { shop: { url: 'sqlite:shop.db' } } })
export async function wrong (): Promise<void> {`,
  tx: `import type { GrantOptions, InProcessTransaction } from 'fastify-row-query'
import type { DB } from './shop.ts'
declare const grant: GrantOptions
export async function wrong (tx: InProcessTransaction<DB>): Promise<void> {`,
  client: `import { createClient } from 'fastify-row-query/client'
import type { DB } from './shop.ts'
const db = createClient<{ shop: DB }>({ url: 'http://127.0.0.1:3000/api' }).database('shop')
export async function wrong (): Promise<void> {`,
  generated: `import type { components } from './schema.ts'
type Schemas = components['schemas']
declare function send<Body> (body: Body): void
export function wrong (): void {`
}

const reasonOf = (way: Way, compiles: Compiles): Reason | undefined => compiles === true ? undefined : typeof compiles === 'string' ? compiles : compiles[way]

/** A program with all cases: of each that does not compile, TypeScript must say so. */
function programOf (way: Way): string {
  const lines = cases.flatMap(([what, table, body, compiles]) => {
    const reason = reasonOf(way, compiles)
    const call = `  ${CALLS[way](table, body)}`
    return reason === undefined ? [`  // @ts-expect-error: ${what}`, call] : [`  // ${what}: ${REASONS[reason]}`, call]
  })
  return [HEADS[way], ...lines, '}', ''].join('\n')
}

await onEachEngine(t, 'wrong requests do not compile, or there is a reason', { schema: shop, only: ['mariadb', 'sqlite'] }, async (t, { server, url, engine, post }) => {
  t.ok(cases.length >= 40)
  for (const [what, table, body] of cases) {
    // SQLite stores texts of any length
    if (engine === 'sqlite' && what === 'a text that is too long') continue
    const { status, text } = await post(table, new Function(`return ${body}`)()) // eslint-disable-line no-new-func
    t.ok(status >= 400 && status < 500, `${what}: ${status} ${text}`)
  }
  const config = `${t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url } } }) })}/row-query.json`
  const workshop = createWorkshop(t)
  workshop.write('shop.ts', (await runRowQuery(t, ['types', 'shop', '--config', config])).stdout)
  workshop.write('shop.json', (await get(server, '/shop/openapi.json')).text)
  await workshop.run('openapi-typescript', 'openapi-typescript', 'shop.json', '-o', 'schema.ts')
  for (const way of Object.keys(CALLS) as Way[]) workshop.write(`${way}.ts`, programOf(way))
  t.equal(await workshop.compile({ emit: false }), '')
})
