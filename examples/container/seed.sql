-- The example database of compose.yaml. MariaDB runs this file once, as root, when its volume is empty.
CREATE DATABASE shop CHARACTER SET utf8mb4;
USE shop;

CREATE TABLE customers (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  email VARCHAR(190) NOT NULL UNIQUE,
  name VARCHAR(120) NOT NULL,
  created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE products (
  sku VARCHAR(20) PRIMARY KEY,
  name VARCHAR(120) NOT NULL,
  price DECIMAL(10,2) NOT NULL CHECK (price >= 0),
  stock INT NOT NULL DEFAULT 0 CHECK (stock >= 0),
  attributes JSON NULL
);

CREATE TABLE orders (
  id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  customer_id INT UNSIGNED NOT NULL,
  status ENUM('new', 'paid', 'shipped') NOT NULL DEFAULT 'new',
  ordered_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  FOREIGN KEY (customer_id) REFERENCES customers (id),
  KEY (status, ordered_at)
);

CREATE TABLE order_items (
  order_id BIGINT UNSIGNED NOT NULL,
  line SMALLINT UNSIGNED NOT NULL,
  sku VARCHAR(20) NOT NULL,
  quantity INT UNSIGNED NOT NULL,
  PRIMARY KEY (order_id, line),
  FOREIGN KEY (order_id) REFERENCES orders (id),
  FOREIGN KEY (sku) REFERENCES products (sku)
);

-- For the header Idempotency-Key, as `row-query keys` prints it.
create table row_query_keys (
  k binary(32) not null primary key,
  request binary(32) not null,
  answer mediumblob null,
  created timestamp not null default current_timestamp,
  key row_query_keys_created (created)
) engine = InnoDB;

INSERT INTO customers (email, name) VALUES ('ada@example.com', 'Ada Lovelace'), ('zoe@example.com', 'Zoë Ångström');
INSERT INTO products VALUES ('BELL-BRASS', 'Brass bicycle bell', '18.90', 12, '{"colour": "brass"}'), ('PUMP-MINI', 'Mini pump', '24.50', 3, NULL);
INSERT INTO orders (customer_id, status) VALUES (1, 'paid'), (2, 'new');
INSERT INTO order_items VALUES (1, 1, 'BELL-BRASS', 2), (2, 1, 'PUMP-MINI', 1);

-- MariaDB's image has created the account, with the password of the secret and without privileges.
GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO 'rows'@'%';
