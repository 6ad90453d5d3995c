/** A table with a number and a natural key, for upserts by the natural key and for optimistic locks. */

export interface Product {
  readonly sku: string
  readonly price: string
  readonly stock: number
}

/** Rows in the table `products`. */
export const PRODUCTS = 10_000

export const skuOf = (number: number): string => `p-${number}`

export const createProducts = [
  `create table products (
    id bigint not null auto_increment primary key,
    sku varchar(20) not null unique,
    price decimal(10,2) not null,
    stock int not null,
    version int not null default 1
  ) engine=InnoDB default charset=utf8mb4`,
  `insert into products (sku, price, stock) select concat('p-', seq), seq mod 1000, seq mod 97 from seq_1_to_${PRODUCTS}`
]
