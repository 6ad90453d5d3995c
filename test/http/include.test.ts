/** Members of rows: `include`. */
import t from 'tap'
import { onEachEngine, type Schema } from '../support/service.ts'

const schema: Schema = {
  mysql: [
    'create table customers (id int not null primary key, name varchar(20) not null, city varchar(20))',
    'create table orders (id int not null primary key, customer_id int, total decimal(8,2) not null, foreign key (customer_id) references customers (id))',
    'create table products (sku varchar(10) not null primary key, title varchar(20))',
    'create table order_items (order_id int not null, line int not null, sku varchar(10) not null, quantity int not null, primary key (order_id, line), foreign key (order_id) references orders (id), foreign key (sku) references products (sku))',
    'create table payments (id int not null auto_increment primary key, order_id int not null, amount decimal(8,2) not null, key (order_id))'
  ],
  sqlite: [
    'create table customers (id integer primary key, name varchar(20) not null, city varchar(20))',
    'create table orders (id integer primary key, customer_id int, total decimal(8,2) not null, foreign key (customer_id) references customers (id))',
    'create table products (sku varchar(10) not null primary key, title varchar(20))',
    'create table order_items (order_id int not null, line int not null, sku varchar(10) not null, quantity int not null, primary key (order_id, line), foreign key (order_id) references orders (id), foreign key (sku) references products (sku))',
    'create table payments (id integer primary key, order_id int not null, amount decimal(8,2) not null)', 'create index by_order on payments (order_id)'
  ]
}

const rows = [
  "insert into customers values (1, 'Ada', 'London'), (2, 'Bob', null)",
  'insert into orders values (1, 1, 10.5), (2, 1, 20), (3, 2, 30), (4, null, 40)',
  "insert into products values ('A', 'Apple'), ('B', 'Banana')",
  "insert into order_items values (1, 1, 'A', 2), (1, 2, 'B', 1), (2, 1, 'A', 5), (3, 1, 'B', 7), (3, 2, 'B', 8), (3, 3, 'A', 9)",
  'insert into payments (id, order_id, amount) values (1, 1, 10), (2, 1, 0.5), (3, 3, 5)'
]
const filled = (tables: Schema): Schema => (engine) => [...typeof tables === 'function' ? tables(engine) : tables[engine === 'sqlite' ? 'sqlite' : 'mysql'], ...rows]

await onEachEngine(t, 'a row has members: one row or null, a list, and computed values', { schema: filled(schema) }, async (t, { post }) => {
  const { status, json } = await post('orders', {
    verb: 'select',
    columns: ['id', 'total'],
    orderBy: 'id',
    include: {
      customer: { table: 'customers', columns: ['name'] },
      order_items: { columns: ['sku', 'quantity'], orderBy: 'line', limit: 2, include: { product: { table: 'products' } } },
      payments: { on: { id: 'order_id' }, aggregates: { n: { $count: '*' }, paid: { $sum: 'amount' } } }
    }
  })
  t.equal(status, 200, JSON.stringify(json))
  const product = { A: { sku: 'A', title: 'Apple' }, B: { sku: 'B', title: 'Banana' } }
  t.strictSame(json.data, {
    rows: [
      { id: 1, total: '10.50', customer: { name: 'Ada' }, order_items: [{ sku: 'A', quantity: 2, product: product.A }, { sku: 'B', quantity: 1, product: product.B }], payments: { n: 2, paid: '10.50' } },
      { id: 2, total: '20.00', customer: { name: 'Ada' }, order_items: [{ sku: 'A', quantity: 5, product: product.A }], payments: { n: 0, paid: null } },
      { id: 3, total: '30.00', customer: { name: 'Bob' }, order_items: [{ sku: 'B', quantity: 7, product: product.B }, { sku: 'B', quantity: 8, product: product.B }], payments: { n: 1, paid: '5.00' } },
      { id: 4, total: '40.00', customer: null, order_items: [], payments: { n: 0, paid: null } }
    ],
    count: 4
  })
})
