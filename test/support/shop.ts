/** The schema of a small shop for each engine, which most tests over HTTP use. */
import type { Schema } from './service.ts'

const customers = [
  "(1, 'ada@example.com', 'Ada', 'new', '12.50', NULL, '2026-01-02 03:04:05')",
  "(2, 'grace@example.com', 'Grace', 'new', '0.99', 'likes % and _', '2026-02-02 03:04:05')",
  "(3, 'linus@example.com', 'Linus', 'old', '-3.00', NULL, '2026-03-02 03:04:05')",
  "(4, 'zoë@example.com', 'Zoë', 'old', '1000000.01', 'rush it', '2026-04-02 03:04:05')"
].join(', ')

const rows = [
  `insert into customers (id, email, name, status, credit, note, created_at) values ${customers}`,
  "insert into products (sku, name, price) values ('MUG-1', 'Mug', '7.50'), ('CUP-1', 'Cup', '5.00')",
  "insert into orders (id, customer_id, note) values (1, 1, 'first'), (2, 2, NULL)",
  "insert into order_items (order_id, line, product_sku, quantity, price) values (1, 1, 'MUG-1', 2, '7.50'), (1, 2, " +
    "'CUP-1', 1, '5.00')"
]

const view = 'create view order_lines as select o.id as order_id, i.line, i.product_sku from orders o join ' +
  'order_items i on i.order_id = o.id'

export const shop = {
  mysql: [
    `create table customers (
      id bigint unsigned not null auto_increment primary key, email varchar(100) not null, name varchar(20) not null,
      status enum('new', 'old') not null default 'new', credit decimal(10,2) not null default 0, note text null,
      created_at datetime(3) null, login varchar(200) generated always as (upper(email)) virtual,
      unique key customers_email (email), constraint credit_floor check (credit > -100))`,
    'create table products (sku varchar(20) not null primary key, name varchar(50) not null, price decimal(10,2) not ' +
      'null, tags json null)',
    `create table orders (id bigint not null auto_increment primary key, customer_id bigint unsigned not null,
      note varchar(50) null,
      constraint orders_customer foreign key (customer_id) references customers (id))`,
    `create table order_items (order_id bigint not null, line int not null, product_sku varchar(20) not null,
      quantity int not null default 1,
      price decimal(10,2) not null, primary key (order_id, line), constraint items_order foreign key (order_id)
      references orders (id),
      constraint items_product foreign key (product_sku) references products (sku))`,
    'create table settings (id int not null auto_increment primary key, level int not null default 3, note ' +
      'varchar(10) null)',
    ...rows,
    view
  ],
  sqlite: [
    `create table customers (
      id integer primary key autoincrement, email varchar(100) not null, name varchar(20) not null,
      status varchar(3) not null default 'new', credit decimal(10,2) not null default 0, note text null,
      created_at datetime null, login varchar(200) generated always as (upper(email)) virtual,
      constraint customers_email unique (email), constraint credit_floor check (credit > -100))`,
    'create table products (sku varchar(20) not null primary key, name varchar(50) not null, price decimal(10,2) not ' +
      'null, tags json null)',
    'create table orders (id integer primary key autoincrement, customer_id integer not null references customers ' +
      '(id), note varchar(50) null)',
    `create table order_items (order_id integer not null references orders (id), line int not null,
      product_sku varchar(20) not null references products (sku),
      quantity int not null default 1, price decimal(10,2) not null, primary key (order_id, line))`,
    'create table settings (id integer primary key autoincrement, level int not null default 3, note varchar(10) null)',
    ...rows,
    view
  ]
} satisfies Schema
