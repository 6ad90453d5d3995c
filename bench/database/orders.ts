/** The table of all measurements: eight columns of common types. */

export interface NewOrder {
  readonly quantity: number
  readonly status: string
  /** Exact, as text. */
  readonly total: string
  readonly customer: string
  /** Without an offset, to the millisecond: `2026-11-20T10:15:00.123`. */
  readonly ordered_at: string
  readonly details: object
}

/** A new order, or one that exists if it has an id. */
export interface SavedOrder extends NewOrder {
  readonly id?: number
}

export interface Order extends NewOrder {
  readonly id: number
  /** In UTC. */
  readonly updated_at: string
}

export const STATUSES = ['new', 'paid', 'sent', 'returned'] as const

export const COLUMNS = ['id', 'quantity', 'status', 'total', 'customer', 'ordered_at', 'updated_at', 'details'] as const

/** Most columns are nullable, as usual. Platformatic DB requires this to update single columns; otherwise it writes whole rows. */
export function createOrders (table: string): string {
  return `create table ${table} (
    id bigint not null auto_increment primary key,
    quantity int not null,
    status enum(${STATUSES.map((status) => `'${status}'`).join(', ')}) not null,
    total decimal(10,2),
    customer varchar(100),
    ordered_at datetime(3),
    updated_at timestamp not null default current_timestamp,
    details json
  ) engine=InnoDB default charset=utf8mb4`
}

/** Rows by number; the server generates them, a million in seconds. */
export function fillOrders (table: string, from: number, to: number): string {
  return `insert into ${table}
    select seq,
      seq mod 97 + 1,
      elt(seq mod ${STATUSES.length} + 1, ${STATUSES.map((status) => `'${status}'`).join(', ')}),
      (seq * 37 mod 1000000) / 100,
      concat('Zoë Example-Sørensen ', seq),
      timestamp('2026-01-01') + interval seq * 61137 * 1000 mod 31536000000000 microsecond,
      timestamp('2026-01-01') + interval seq * 61 mod 31536000 second,
      concat('{"gift": ', if(seq mod 3 = 0, 'true', 'false'), ', "weight": ', seq mod 5000, '.25, "tags": ["fragile", "north-', seq mod 50, '"]}')
    from seq_${from}_to_${to}`
}

/** Normalizes a row: dates may have an offset or fewer zeros, and JSON may be text, as MariaDB stores it. */
export function normalizeOrder (row: Readonly<Record<string, unknown>>): Order {
  const { details } = row
  return {
    id: Number(row['id']),
    quantity: Number(row['quantity']),
    status: String(row['status']),
    total: Number(row['total']).toFixed(2),
    customer: String(row['customer']),
    ordered_at: toInstant(row['ordered_at']),
    updated_at: toInstant(row['updated_at']),
    details: typeof details === 'string' ? JSON.parse(details) : details as object
  }
}

/** Normalizes a row of the workload with groups. */
export function normalizeGroup ({ status, orders, total, quantity, latest }: Readonly<Record<string, unknown>>) {
  return { status: String(status), orders: Number(orders), total: Number(total).toFixed(2), quantity: Number(quantity), latest: toInstant(latest) }
}

function toInstant (value: unknown): string {
  const text = value instanceof Date ? value.toISOString() : String(value).replace(' ', 'T')
  return new Date(/Z|[+-]\d\d:\d\d$/.test(text) ? text : text + 'Z').toISOString()
}
