/** Two tenants in one database, and tokens with grants for them. */
import { hashToken } from '../../src/access/tokens.ts'
import type { Static } from '@sinclair/typebox'
import { VERBS, type TableGrantSchema } from '../../schemas/grants.ts'
import type { TokenOptions } from '../../schemas/options.ts'
import { numberedId } from '../support/definitions.ts'
import type { Answer, EngineName } from '../support/service.ts'

/** A token that is called by its name. */
export function tokenOf (name: string, rest: Partial<TokenOptions>): TokenOptions {
  return { name, sha256: hashToken(name), permissions: [...VERBS], ...rest }
}

/** The data of an answer, or its status, its code and the paths of its details. */
export function outcomeOf ({ status, json }: Pick<Answer, 'status' | 'json'>): any {
  return status === 200
    ? json.data
    : [status, json.error.code, ...json.error.details.map(({ path }: { path: string }) => path)]
}

/** The body of an upsert by the primary key `id`. */
export const upsertById = (data: object, set?: unknown) => ({
  verb: 'insert', data, onConflict: { key: ['id'], ...set !== undefined && { set } }
})

/** A token with a grant for tables of the database `shop`. */
export function tokenFor (
  name: string, tables: Record<string, Static<typeof TableGrantSchema>>, claims?: Record<string, unknown>
): TokenOptions {
  return tokenOf(name, { databases: { shop: tables }, ...(claims !== undefined && { claims }) })
}

const orderId = (engine: EngineName): string =>
  engine === 'sqlite' ? 'id integer primary key autoincrement' : numberedId(engine, 'bigint')
const end = (engine: EngineName): string => engine === 'sqlite' ? '' : ' collate utf8mb4_general_ci'
const text = (engine: EngineName, length: number): string =>
  engine === 'sqlite' ? `varchar(${length}) collate nocase` : `varchar(${length})`

/** `acme` has the orders 1 to 3, `zeta` 4 to 6; `ACME` has 7: it equals `acme` in the collation of the column. */
export const tenants = (engine: EngineName): string[] => [
  `create table customers (${orderId(engine)}, tenant ${text(engine, 20)} not null,
    name varchar(50) not null)${end(engine)}`,
  `create table orders (${orderId(engine)}, tenant ${text(engine, 20)} not null,
    status ${text(engine, 10)} not null default 'new', total int, secret varchar(50) default 's3cret', sku varchar(20),
    customer_id bigint, unique (tenant, sku), unique (secret),
    foreign key (customer_id) references customers (id))${end(engine)}`,
  "insert into customers values (1, 'acme', 'Ann'), (2, 'acme', 'Art'), (3, 'zeta', 'Zoe'), (4, 'ACME', 'Abe')",
  `insert into orders values
    (1, 'acme', 'new', 10, 'a1', 'A', 1), (2, 'acme', 'paid', 20, 'a2', 'B', 2),
    (3, 'acme', 'done', 30, 'a3', 'C', null), (4, 'zeta', 'new', 40, 'z4', 'A', 3),
    (5, 'zeta', 'paid', 50, 'z5', 'B', 3), (6, 'zeta', 'done', null, 'z6', 'C', null),
    (7, 'ACME', 'new', 70, 'u7', 'X', 4)`
]

const ofTenant = { tenant: { $claim: '/tenant' } }
const documented = {
  select: ['id', 'status', 'total'], insert: ['status', 'total', 'secret'], update: ['status']
}

/** Tokens that see different parts of the tables: what documents show of them. */
export const DOCUMENTED = [
  tokenFor('clerk', {
    orders: { columns: documented, rows: { ...ofTenant, total: { $gte: 0 } } },
    customers: { permissions: ['select'], columns: { select: ['id'] } }
  }, { tenant: 'acme' }),
  tokenFor('twin', {
    customers: { permissions: ['select'], columns: { select: ['id', 'nope'] } },
    orders: { columns: documented, rows: { tenant: 'zeta', total: { $gt: 5 } } }
  }),
  tokenFor('form', { orders: { columns: { insert: ['status'] }, rows: ofTenant }, customers: { rows: { nope: 1 } } }),
  tokenFor('keys', {
    orders: { columns: { select: ['id', 'customer_id', 'tenant', 'sku'] } },
    customers: { columns: { select: ['name'] } }
  })
]

/** All rows of a table, to compare before and after. */
export const ORDERS = 'select * from orders order by id'
