/** The requests whose costs are counted, and their tables. */

const DIGITS = '(select 0 n union select 1 union select 2 union select 3 union select 4 union select 5 union select 6 union select 7 union select 8 union select 9)'

/** A hundred customers, of which each has three orders, and a table of a thousand rows. */
export const TABLES = [
  'create table customers (id bigint auto_increment primary key, email varchar(100) not null unique, name varchar(100) null, created_at datetime not null default current_timestamp)',
  `create table orders (id bigint auto_increment primary key, customer_id bigint not null, total decimal(10,2) not null, status varchar(20) not null, note varchar(100) null,
    foreign key (customer_id) references customers(id))`,
  'create table plain (id bigint auto_increment primary key, customer_id int not null, total decimal(10,2) not null, status varchar(20) not null, note varchar(100) null)',
  `insert into customers (email, name) select concat('c', n, '@x'), concat('C', n) from (select a.n + 10 * b.n + 1 n from ${DIGITS} a, ${DIGITS} b) numbers`,
  'insert into orders (customer_id, total, status) select c.id, 10 * c.id, \'new\' from customers c, customers d where d.id <= 3',
  `insert into plain (customer_id, total, status) select n, 10 * n, 'new' from (select a.n + 10 * b.n + 100 * c.n + 1 n from ${DIGITS} a, ${DIGITS} b, ${DIGITS} c) numbers`
]

/** Sent by HTTP. `number`: another one for each request. */
export interface HttpRequest {
  /** Below the path of the database; '' for operations. Of a named request below `requests`. */
  readonly table: string
  readonly isNamed?: true
  readonly body: (number: number) => object | string
  /** Default: JSON. */
  readonly type?: string
  readonly accept?: string
  readonly status?: number
  /** A request of many rows is sent less often. */
  readonly isLarge?: boolean
}

const row = (number: number) => ({ customer_id: 1 + number % 100, total: '12.50', status: 'new', note: `note ${number}` })
const rowsOf = (number: number, count: number) => Array.from({ length: count }, (_, index) => row(100_000 + number + index))

export const REQUESTS: Readonly<Record<string, HttpRequest>> = {
  'select by key': { table: 'customers', body: (number) => ({ verb: 'select', filters: { id: 1 + number % 100 } }) },
  'named select by key': { table: 'customer', isNamed: true, body: (number) => ({ id: 1 + number % 100 }) },
  'select of 100 rows': { table: 'customers', body: () => ({ verb: 'select', filters: { id: { $gt: 0 } }, orderBy: 'id', limit: 100 }) },
  insert: { table: 'plain', body: (number) => ({ verb: 'insert', data: row(number) }) },
  'insert of 100 rows': { table: 'plain', isLarge: true, body: (number) => ({ verb: 'insert', data: rowsOf(number, 100) }) },
  'update by key': { table: 'orders', body: (number) => ({ verb: 'update', data: { note: `note ${number}` }, filters: { id: 1 + number % 100 } }) },
  'upsert of two, returning': {
    table: 'customers',
    body: (number) => ({
      verb: 'insert',
      data: [{ email: 'c1@x', name: `A${number}` }, { email: `n${number}@x`, name: 'N' }],
      onConflict: { key: ['email'], set: ['name'] },
      returning: ['id', 'email', 'name']
    })
  },
  'select with one': { table: 'orders', body: () => ({ verb: 'select', limit: 20, include: { customer: { table: 'customers' } } }) },
  'select with lists': {
    table: 'customers',
    isLarge: true,
    body: () => ({ verb: 'select', filters: { id: { $lte: 20 } }, include: { orders: { orderBy: 'id DESC', limit: 5 } } })
  },
  'page of 20 rows': { table: 'plain', body: (number) => ({ verb: 'select', orderBy: 'id', limit: 20, after: { id: 500 + number % 100 } }) },
  groups: {
    table: 'orders',
    body: () => ({ verb: 'select', filters: { customer_id: 7 }, groupBy: ['status'], aggregates: { orders: { $count: '*' }, sum: { $sum: 'total' } } })
  },
  'operations of three': {
    table: '',
    body: (number) => ({
      operations: [
        { table: 'plain', verb: 'insert', data: row(number) },
        { table: 'plain', verb: 'update', data: { note: 'changed' }, filters: { id: { $ref: '/0/id' } } },
        { table: 'customers', verb: 'select', filters: { id: 1 } }
      ]
    })
  },
  'stream of 200 rows': {
    table: 'plain',
    isLarge: true,
    accept: 'application/x-ndjson',
    body: () => ({ verb: 'select', orderBy: 'id', limit: 200 })
  },
  'import of 1,000 rows': {
    table: 'plain',
    isLarge: true,
    type: 'text/csv',
    body: (number) => `customer_id,total,status,note\r\n${rowsOf(number, 1000).map((each) => Object.values(each).join(',')).join('\r\n')}`
  },
  'refused request': { table: 'customers', status: 400, body: () => ({ verb: 'select', filters: { emial: 'c1@x' } }) }
}

/** Its request by HTTP is `select by key`. */
export const IN_PROCESS = {
  'row in process': (database: string) => ({
    grant: { name: 'cost', permissions: ['select'], databases: '*' }, database, table: 'customers', body: { verb: 'select', filters: { id: 1 } }
  })
}

/** The named requests: `select by key`. */
export const NAMED = (database: string) => ({
  customer: { database, table: 'customers', parameters: { id: {} }, body: { verb: 'select', filters: { id: { $param: 'id' } } } }
})
