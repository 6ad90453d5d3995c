/** The tables of the workloads with related rows: sales of customers, and five items of each sale. */

/** Sales, and customers. */
export const SALES = 20_000
const CUSTOMERS = 2000
const ITEMS = 5

export const createSales: readonly string[] = [
  `create table customers (id int not null primary key, name varchar(100) not null, email varchar(190) not null, country char(2) not null, created_at datetime not null)
    engine=InnoDB default charset=utf8mb4`,
  `create table sales (id int not null primary key, customer_id int not null, status varchar(12) not null, total decimal(10,2) not null, ordered_at datetime not null, foreign key (customer_id) references customers (id))
    engine=InnoDB default charset=utf8mb4`,
  `create table sale_items (sale_id int not null, line int not null, sku varchar(20) not null, quantity int not null, price decimal(10,2) not null, primary key (sale_id, line), foreign key (sale_id) references sales (id))
    engine=InnoDB default charset=utf8mb4`,
  `insert into customers select seq, concat('Zoë Example-Sørensen ', seq), concat('zoe.', seq, '@example.com'), elt(seq mod 3 + 1, 'DK', 'DE', 'FR'), timestamp('2026-01-01') + interval seq * 613 second from seq_1_to_${CUSTOMERS}`,
  `insert into sales select seq, seq * 7919 mod ${CUSTOMERS} + 1, elt(seq mod 3 + 1, 'new', 'paid', 'sent'), (seq * 37 mod 1000000) / 100, timestamp('2026-01-01') + interval seq * 61 second from seq_1_to_${SALES}`,
  `insert into sale_items select (seq - 1) div ${ITEMS} + 1, (seq - 1) mod ${ITEMS} + 1, concat('SKU-', seq * 31 mod 5000), seq mod 9 + 1, (seq * 53 mod 100000) / 100 from seq_1_to_${SALES * ITEMS}`,
  'analyze table customers, sales, sale_items'
]

/** A sale as every contender returns it: times may have an offset, a space or a T. */
export function normalizeSale ({ id, customer_id: customerId, status, total, ordered_at: orderedAt, customer, items }: Readonly<Record<string, unknown>>) {
  const sale = { id: Number(id), customer_id: Number(customerId), status: String(status), total: Number(total).toFixed(2), ordered_at: String(orderedAt).replace('T', ' ').slice(0, 19) }
  return { ...sale, ...customer !== undefined && { customer }, ...items !== undefined && { items: (items as Array<Record<string, unknown>>).map(normalizeItem) } }
}

const normalizeItem = ({ line, sku, quantity, price }: Readonly<Record<string, unknown>>) => ({ line: Number(line), sku: String(sku), quantity: Number(quantity), price: Number(price).toFixed(2) })
