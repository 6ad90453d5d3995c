/**
 * Tasks that people give to a model, as sequences of calls. A call that fails is one that a model makes at first; its answer must contain what the next,
 * right call needs (`tells`).
 */
import t from 'tap'
import { VERBS } from '../../schemas/grant.ts'
import { connectTo } from '../support/mcp.ts'
import { onEachEngine, type EngineName } from '../support/service.ts'

const id = (engine: EngineName): string => engine === 'sqlite' ? 'id integer primary key autoincrement' : 'id bigint not null auto_increment primary key'
const status = (engine: EngineName): string => engine === 'sqlite' ? "varchar(10) not null default 'new' check (status in ('new', 'paid', 'sent'))" : "enum('new', 'paid', 'sent') not null default 'new'"

const schema = (engine: EngineName): string[] => [
  `create table customers (${id(engine)}, email varchar(100) not null, name varchar(50) not null, street varchar(100) null, constraint customers_email unique (email))`,
  'create table products (sku varchar(20) not null primary key, name varchar(50) not null, price decimal(10,2) not null, stock int not null default 0)',
  `create table orders (${id(engine)}, customer_id bigint not null, delivered_to bigint null, status ${status(engine)}, total decimal(10,2) not null default 0, ordered_at datetime not null,
    constraint orders_customer foreign key (customer_id) references customers (id), constraint orders_delivered foreign key (delivered_to) references customers (id))`,
  `create table order_items (order_id bigint not null, line int not null, product_sku varchar(20) not null, quantity int not null,
    primary key (order_id, line), foreign key (order_id) references orders (id), foreign key (product_sku) references products (sku))`,
  "insert into customers (id, email, name, street) values (1, 'ada@example.com', 'Ada Byron', '1 Main Sreet'), (2, 'grace@example.com', 'Grace Hopper', null), (3, 'linus@example.com', 'Linus Pauling', 'Side Road 2')",
  "insert into products values ('MUG', 'Mug', '7.50', 10), ('CUP', 'Cup', '5.00', 3), ('POT', 'Tea Pot', '30.00', 0)",
  `insert into orders (id, customer_id, delivered_to, status, total, ordered_at) values (1, 1, null, 'paid', '15.00', '2026-01-10 10:00:00'), (2, 2, 1, 'sent', '20.00', '2026-02-10 10:00:00'),
    (3, 1, null, 'new', '7.50', '2026-02-20 10:00:00'), (4, 3, null, 'new', '5.00', '2026-03-01 10:00:00')`,
  "insert into order_items values (1, 1, 'MUG', 2), (2, 1, 'CUP', 4), (3, 1, 'MUG', 1), (4, 1, 'CUP', 1)"
]

interface Step {
  readonly tool: string
  readonly args: Record<string, unknown>
  /** What the result has. */
  readonly gives?: unknown
  /** The code of a refusal, and what its text has for the next call. */
  readonly refused?: string
  readonly tells?: RegExp
}

const of = (table: string, rest: object = {}) => ({ database: 'shop', table, ...rest })

const tasks: ReadonlyArray<[task: string, steps: readonly Step[]]> = [
  ['Find the customer whose e-mail begins with grace.', [
    { tool: 'list_tables', args: { contains: 'customer' }, gives: { tables: [{ database: 'shop', table: 'customers' }] } },
    { tool: 'describe_table', args: of('customers'), gives: { columns: [{ name: 'id' }, { name: 'email' }, { name: 'name' }, { name: 'street' }] } },
    { tool: 'select', args: of('customers', { filters: { email: { $startsWith: 'grace' } } }), gives: { rows: [{ id: 2, name: 'Grace Hopper' }], count: 1, next: null } }
  ]],
  ['In which month did we sell most?', [
    { tool: 'select', args: of('sales'), refused: 'TABLE_NOT_FOUND', tells: /"sales" does not exist in database "shop"/ },
    { tool: 'list_tables', args: {}, gives: { count: 4 } },
    { tool: 'describe_table', args: of('orders'), gives: { table: 'orders' } },
    { tool: 'select', args: of('orders', { groupBy: ['month'], aggregates: { sum: { $sum: 'total' } } }), refused: 'COLUMN_NOT_FOUND', tells: /"month" does not exist in table "orders"/ },
    { tool: 'select', args: of('orders', { groupBy: [{ month: { $month: 'ordered_at' } }], aggregates: { sum: { $sum: 'total' } }, orderBy: 'sum DESC', limit: 1 }), gives: { rows: [{ month: '2026-02', sum: '27.50' }], count: 1 } }
  ]],
  ['Correct the misspelt address of Ada, but show me first.', [
    { tool: 'select', args: of('customers', { filters: { name: { $contains: 'Ada' } } }), gives: { rows: [{ id: 1, street: '1 Main Sreet' }], count: 1 } },
    { tool: 'update', args: of('customers', { data: { street: '1 Main Street' }, filters: { id: 1, street: '1 Main Sreet' }, expect: 1, returning: ['street'], dryRun: true }), gives: { rows: [{ street: '1 Main Street' }], updated: 1, dryRun: true } },
    { tool: 'select', args: of('customers', { filters: { id: 1 }, columns: ['street'] }), gives: { rows: [{ street: '1 Main Sreet' }] } },
    { tool: 'update', args: of('customers', { data: { street: '1 Main Street' }, filters: { id: 1, street: '1 Main Sreet' }, expect: 1 }), gives: { updated: 1 } }
  ]],
  ['Why does my insert of an order for customer 99 fail?', [
    { tool: 'insert', args: of('orders', { data: { customer_id: 99, total: '5.00' } }), refused: 'MISSING_COLUMN', tells: /ordered_at/ },
    { tool: 'insert', args: of('orders', { data: { customer_id: 99, total: '5.00', ordered_at: '20 November' } }), refused: 'INVALID_VALUE', tells: /"ordered_at": expected a date and time without an offset, such as 2026-11-20T10:15:00/ },
    { tool: 'insert', args: of('orders', { data: { customer_id: 99, total: '5.00', ordered_at: { $now: true } } }), refused: 'FOREIGN_KEY_VIOLATION', tells: /foreign key ".*" on "customer_id"/ },
    { tool: 'describe_table', args: of('orders'), tells: /\{"table":"customers","on":\{"customer_id":"id"\},"rows":"one"\}/ },
    { tool: 'select', args: of('customers', { filters: { id: 99 } }), gives: { count: 0 } }
  ]],
  ['Show me the last two orders of Ada with what was in them.', [
    { tool: 'select', args: of('orders', { filters: { customer_id: 1 }, orderBy: 'ordered_at desc', limit: 2, include: { customer: { table: 'customers' } } }), refused: 'INVALID_BODY', tells: /say "on", one of .*\{"customer_id":"id"\}/ },
    {
      tool: 'select',
      args: of('orders', { filters: { customer_id: 1 }, orderBy: 'ordered_at desc', limit: 2, columns: ['id'], include: { customer: { table: 'customers', on: { customer_id: 'id' }, columns: ['name'] }, order_items: { columns: ['quantity'], include: { product: { table: 'products', columns: ['name'] } } } } }),
      gives: { rows: [{ id: 3, customer: { name: 'Ada Byron' }, order_items: [{ quantity: 1, product: { name: 'Mug' } }] }, { id: 1, order_items: [{ quantity: 2 }] }], count: 2, next: null }
    }
  ]],
  ['Which products has nobody ordered?', [
    { tool: 'select', args: of('products', { columns: ['sku'], include: { sold: { table: 'order_items', aggregates: { n: { $sum: 'quantity' } } } } }), gives: { rows: [{ sku: 'CUP', sold: { n: '5' } }, { sku: 'MUG', sold: { n: '3' } }, { sku: 'POT', sold: { n: null } }] } },
    { tool: 'select', args: of('products', { columns: ['sku'], filters: { $none: { order_items: {} } } }), gives: { rows: [{ sku: 'POT' }], count: 1, next: null } }
  ]],
  ['Mark the new orders of February as paid.', [
    { tool: 'update', args: of('orders', { data: { status: 'payed' }, filters: { status: 'new', ordered_at: { $gte: '2026-02-01', $lt: '2026-03-01' } } }), refused: 'INVALID_VALUE', tells: /filters\/ordered_at.*such as 2026-11-20T10:15:00/ },
    { tool: 'update', args: of('orders', { data: { status: 'paid' }, filters: { status: 'new', ordered_at: { $gte: '2026-02-01T00:00:00', $lt: '2026-03-01T00:00:00' } }, expect: 2 }), refused: 'EXPECTATION_FAILED', tells: /there is 1 row/ },
    { tool: 'update', args: of('orders', { data: { status: 'paid' }, filters: { status: 'new', ordered_at: { $gte: '2026-02-01T00:00:00', $lt: '2026-03-01T00:00:00' } }, expect: 1, returning: ['id'] }), gives: { rows: [{ id: 3 }], updated: 1 } }
  ]],
  ['Update our price list: the mug costs 8 now, and there is a new plate for 12.', [
    { tool: 'insert', args: of('products', { data: [{ sku: 'MUG', price: '8.00' }, { sku: 'PLATE', price: '12.00' }] }), refused: 'MISSING_COLUMN', tells: /no default: "name"/ },
    { tool: 'insert', args: of('products', { data: [{ sku: 'MUG', name: 'Mug', price: '8.00' }, { sku: 'PLATE', name: 'Plate', price: 12 }] }), refused: 'UNIQUE_VIOLATION', tells: /unique key ".*" on "sku"/ },
    { tool: 'insert', args: of('products', { data: [{ sku: 'MUG', name: 'Mug', price: '8.00' }, { sku: 'PLATE', name: 'Plate', price: 12 }], onConflict: { key: ['sku'], set: ['price'] }, returning: ['sku', 'price', 'stock'] }), gives: { inserted: 1, updated: 1, rows: [{ sku: 'MUG', price: '8.00', stock: 10 }, { sku: 'PLATE', price: '12.00', stock: 0 }] } }
  ]],
  ['Delete the test orders of Linus, all of them.', [
    { tool: 'delete', args: of('orders'), refused: 'FILTERS_REQUIRED', tells: /delete requires "filters" that restrict the affected rows/ },
    { tool: 'select', args: of('orders', { filters: { customer_id: 3 }, columns: ['id'], total: true }), gives: { rows: [{ id: 4 }], total: 1 } },
    { tool: 'delete', args: of('orders', { filters: { id: 4 }, expect: 1 }), refused: 'FOREIGN_KEY_VIOLATION', tells: /other rows refer to this one/ },
    { tool: 'describe_table', args: of('orders'), tells: /\{"table":"order_items","on":\{"id":"order_id"\},"rows":"many"\}/ },
    { tool: 'delete', args: of('order_items', { filters: { order_id: 4 }, expect: { $lte: 5 } }), gives: { deleted: 1 } },
    { tool: 'delete', args: of('orders', { filters: { id: 4 }, expect: 1 }), gives: { deleted: 1 } }
  ]],
  ['Give me all e-mail addresses, however many there are.', [
    { tool: 'select', args: of('customers', { columns: ['mail'] }), refused: 'COLUMN_NOT_FOUND', tells: /"mail" does not exist in table "customers"/ },
    { tool: 'select', args: of('customers', { columns: ['email'], limit: 2 }), gives: { count: 2, next: { id: 2 } } },
    { tool: 'select', args: of('customers', { columns: ['email'], limit: 2, after: { id: 2 } }), gives: { rows: [{ email: 'linus@example.com' }], count: 1, next: null } }
  ]]
]

await onEachEngine(t, 'tasks', { schema, options: { mcp: { verbs: [...VERBS] } } }, async (t, service) => {
  const { call } = await connectTo(t as never, service)
  for (const [task, steps] of tasks) {
    await t.test(task, async (t) => {
      for (const { tool, args, gives = {}, refused, tells = /./ } of steps) {
        const { isError, result, text } = await call(tool, args)
        const shown = `${tool} ${JSON.stringify(args)}`
        t.same([isError, result.code], [refused !== undefined, refused], `${shown}: ${text}`)
        t.match(result, gives, shown)
        t.match(text.replaceAll('\\"', '"'), tells, shown)
      }
    })
  }
})
