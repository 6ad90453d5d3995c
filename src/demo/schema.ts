/**
 * The tables of the demo shop, with the type names MySQL has: SQLite keeps a declared type as it is
 * written, and the service reads a column's type from there.
 *
 * SQLite does not hold values to such a type; the CHECKs say what MySQL's BOOLEAN and JSON would refuse.
 * Money is rounded where it is multiplied or added, because SQLite keeps a DECIMAL as a binary fraction.
 * The view's CASTs are there for their types alone: an expression without one has no type to be read.
 */
export const SCHEMA = `
CREATE TABLE customers (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  email VARCHAR(190) NOT NULL UNIQUE,
  name VARCHAR(120) NOT NULL,
  country CHAR(2) NOT NULL,
  newsletter BOOLEAN NOT NULL DEFAULT FALSE CHECK (newsletter IN (0, 1)),
  birthday DATE NULL,
  preferences JSON NULL CHECK (json_valid(preferences)),
  created_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE products (
  sku VARCHAR(20) PRIMARY KEY NOT NULL,
  name VARCHAR(120) NOT NULL,
  description TEXT NULL,
  price DECIMAL(10,2) NOT NULL CHECK (price >= 0),
  stock INTEGER NOT NULL DEFAULT 0 CHECK (stock >= 0),
  weight_kg DOUBLE NULL,
  attributes JSON NULL CHECK (json_valid(attributes)),
  discontinued BOOLEAN NOT NULL DEFAULT FALSE CHECK (discontinued IN (0, 1))
);

CREATE TABLE orders (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  status VARCHAR(12) NOT NULL DEFAULT 'new'
    CHECK (status IN ('new', 'paid', 'shipped', 'delivered', 'cancelled', 'returned')),
  note TEXT NULL,
  total DECIMAL(12,2) NOT NULL DEFAULT 0,
  ordered_at DATETIME NOT NULL
);

CREATE INDEX orders_customer_id ON orders (customer_id);

CREATE TABLE order_items (
  order_id INTEGER NOT NULL REFERENCES orders (id) ON DELETE CASCADE,
  line INTEGER NOT NULL CHECK (line > 0),
  product_sku VARCHAR(20) NOT NULL REFERENCES products (sku),
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  unit_price DECIMAL(10,2) NOT NULL CHECK (unit_price >= 0),
  line_total DECIMAL(12,2) GENERATED ALWAYS AS (ROUND(quantity * unit_price, 2)) STORED,
  PRIMARY KEY (order_id, line)
);

CREATE INDEX order_items_product_sku ON order_items (product_sku);

CREATE VIEW order_totals AS
  SELECT
    orders.id AS order_id,
    customers.name AS customer_name,
    CAST(COUNT(order_items.line) AS INTEGER) AS items,
    CAST(ROUND(COALESCE(SUM(order_items.line_total), 0), 2) AS DECIMAL(12,2)) AS total
  FROM orders
  JOIN customers ON customers.id = orders.customer_id
  LEFT JOIN order_items ON order_items.order_id = orders.id
  GROUP BY orders.id, customers.name;
`
