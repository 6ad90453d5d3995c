-- The embedded demo: the tables and rows of a small shop. Documents and tests name its rows. Only the times depend on the clock: the
-- end of this file moves them by whole days, so that the newest order is one of yesterday.
--
-- The types have MySQL's names: SQLite keeps a declared type as it is written, and the service reads a column's type from it.
-- SQLite does not enforce such a type; the CHECKs refuse what MySQL's BOOLEAN and JSON would refuse. Money is rounded where it
-- is multiplied or added, because SQLite keeps a DECIMAL as a binary fraction. The CASTs of the view give its columns a type.
-- The names cover several countries and scripts, to show that text is kept. example.com is reserved for examples (RFC 2606).

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

CREATE TABLE categories (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  parent_id INTEGER NULL REFERENCES categories (id),
  name VARCHAR(60) NOT NULL
);

CREATE INDEX categories_parent_id ON categories (parent_id);

CREATE TABLE products (
  sku VARCHAR(20) PRIMARY KEY NOT NULL,
  name VARCHAR(120) NOT NULL,
  description TEXT NULL,
  price DECIMAL(10,2) NOT NULL CHECK (price >= 0),
  stock INTEGER NOT NULL DEFAULT 0 CHECK (stock >= 0),
  weight_kg DOUBLE NULL,
  attributes JSON NULL CHECK (json_valid(attributes)),
  discontinued BOOLEAN NOT NULL DEFAULT FALSE CHECK (discontinued IN (0, 1)),
  category_id INTEGER NULL REFERENCES categories (id)
);

CREATE INDEX products_category_id ON products (category_id);

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

INSERT INTO customers (id, email, name, country, newsletter, birthday, preferences, created_at) VALUES
  (1, 'minh.pham@example.com', 'Phạm Minh', 'VN', 0, NULL, '{"language":"vi","theme":null,"contact":{"email":false,"sms":true},"topics":["desk","garden"]}', '2023-03-01 19:06:19'),
  (2, 'loic.garcon@example.com', 'Loïc Garçon', 'FR', 0, '1997-11-04', '{"language":"fr","theme":null,"contact":{"email":true,"sms":false},"topics":[]}', '2023-03-29 04:50:20'),
  (3, 'niamh.obrien@example.com', 'Niamh O''Brien', 'IE', 1, '1961-04-11', '{"language":"en","theme":"dark","contact":{"email":false,"sms":false},"topics":["desk"]}', '2023-04-10 20:50:47'),
  (4, 'tunde.adeyemi@example.com', 'Tunde Adeyemi', 'NG', 0, '1976-04-02', '{"language":"en","theme":null,"contact":{"email":true,"sms":true},"topics":[]}', '2023-06-02 10:20:53'),
  (5, 'lukasz.zajac@example.com', 'Łukasz Zając', 'PL', 0, '1982-10-16', NULL, '2023-06-21 23:07:14'),
  (6, 'lucia.ibanez@example.com', 'Lucía Ibáñez', 'ES', 0, '1993-05-27', '{"language":"es","theme":"dark","contact":{"email":true,"sms":true},"topics":["kitchen"]}', '2023-06-24 16:11:06'),
  (7, 'begona.delapena@example.com', 'Begoña de la Peña', 'ES', 0, '1972-07-18', '{"language":"es","theme":"dark","contact":{"email":false,"sms":true},"topics":["desk"]}', '2023-06-25 10:39:40'),
  (8, 'chidinma.nwosu@example.com', 'Chidinma Nwosu', 'NG', 1, '1983-07-30', '{"language":"en","theme":"dark","contact":{"email":true,"sms":false},"topics":["garden","gifts","desk"]}', '2023-07-13 11:29:22'),
  (9, 'emeka.adeyemi@example.com', 'Emeka Adeyemi', 'NG', 0, '1982-03-02', '{"language":"en","theme":"light","contact":{"email":true,"sms":false},"topics":["desk","bicycle","kitchen"]}', '2023-07-14 01:19:45'),
  (10, 'jurgen.schroder@example.com', 'Jürgen Schröder', 'DE', 0, NULL, '{"language":"de","theme":"dark","contact":{"email":true,"sms":false},"topics":["travel","kitchen"]}', '2023-07-26 14:47:42'),
  (11, 'francois.garcon@example.com', 'François Garçon', 'FR', 0, '1977-08-24', '{"language":"fr","theme":null,"contact":{"email":false,"sms":true},"topics":["desk","kitchen","travel"]}', '2023-08-11 00:47:01'),
  (12, 'conceicao.magalhaes@example.com', 'Conceição Magalhães', 'BR', 1, '1996-01-06', '{"language":"pt","theme":null,"contact":{"email":false,"sms":true},"topics":["garden","desk","travel"]}', '2023-09-13 08:23:30'),
  (13, 'kavitha.iyer@example.com', 'Kavitha Iyer', 'IN', 0, '1995-09-10', '{"language":"hi","theme":null,"contact":{"email":true,"sms":false},"topics":["desk","gifts"]}', '2023-09-30 17:33:41'),
  (14, 'zoe.saintexupere@example.com', 'Zoé Saint-Exupère', 'FR', 1, '1985-12-13', '{"language":"fr","theme":null,"contact":{"email":true,"sms":false},"topics":["kitchen","gifts"]}', '2023-10-15 10:40:34'),
  (15, 'tunde.balogun@example.com', 'Tunde Balogun', 'NG', 1, '1979-06-14', NULL, '2023-10-20 19:08:51'),
  (16, 'rohan.banerjee@example.com', 'Rohan Banerjee', 'IN', 1, '1944-02-20', '{"language":"hi","theme":"light","contact":{"email":true,"sms":true},"topics":["desk","kitchen"]}', '2023-10-30 02:41:09'),
  (17, 'zbigniew.kowalczyk@example.com', 'Zbigniew Kowalczyk', 'PL', 1, NULL, NULL, '2023-11-09 18:14:07'),
  (18, 'emeka.okonkwo@example.com', 'Emeka Okonkwo', 'NG', 1, '1955-03-22', '{"language":"en","theme":null,"contact":{"email":true,"sms":false},"topics":["garden"]}', '2023-12-01 19:25:05'),
  (19, 'thiago.teixeira@example.com', 'Thiago Teixeira', 'BR', 1, '1983-08-25', NULL, '2023-12-20 14:00:10'),
  (20, 'asa.sjostrom@example.com', 'Åsa Sjöström', 'SE', 0, '1977-07-16', '{"language":"sv","theme":null,"contact":{"email":true,"sms":false},"topics":[]}', '2023-12-25 13:32:34'),
  (21, 'priya.chatterjee@example.com', 'Priya Chatterjee', 'IN', 1, NULL, '{"language":"hi","theme":"dark","contact":{"email":false,"sms":false},"topics":["garden","kitchen"]}', '2024-01-07 09:43:37'),
  (22, 'beatrice.llewellyn@example.com', 'Beatrice Llewellyn', 'GB', 0, '1978-10-31', '{"language":"en","theme":"dark","contact":{"email":true,"sms":false},"topics":[]}', '2024-01-25 04:17:59'),
  (23, 'freja.lund@example.com', 'Freja Lund', 'DK', 0, '1990-02-12', NULL, '2024-01-30 07:04:16'),
  (24, 'francois.saintexupere@example.com', 'François Saint-Exupère', 'FR', 0, '1961-10-19', '{"language":"fr","theme":null,"contact":{"email":true,"sms":true},"topics":["garden","desk","gifts"]}', '2024-02-10 02:34:31'),
  (25, 'annegret.vogelsang@example.com', 'Annegret Vogelsang', 'DE', 0, '1955-09-17', NULL, '2024-02-17 20:32:01'),
  (26, 'chidinma.adeyemi@example.com', 'Chidinma Adeyemi', 'NG', 0, '1973-09-23', '{"language":"en","theme":"dark","contact":{"email":true,"sms":false},"topics":[]}', '2024-02-22 19:00:24'),
  (27, 'caglar.sahin@example.com', 'Çağlar Şahin', 'TR', 0, NULL, '{"language":"tr","theme":null,"contact":{"email":true,"sms":false},"topics":[]}', '2024-03-02 20:24:13'),
  (28, 'linh.nguyen@example.com', 'Nguyễn Linh', 'VN', 0, '2003-07-30', NULL, '2024-03-09 01:23:57'),
  (29, 'annegret.gross@example.com', 'Annegret Groß', 'DE', 0, '1950-05-29', '{"language":"de","theme":"light","contact":{"email":true,"sms":false},"topics":["bicycle"]}', '2024-03-10 19:14:31'),
  (30, 'niamh.byrne@example.com', 'Niamh Byrne', 'IE', 1, '1973-02-01', '{"language":"en","theme":"light","contact":{"email":true,"sms":false},"topics":["desk","bicycle","travel"]}', '2024-03-24 20:00:15'),
  (31, 'minh.tran@example.com', 'Trần Minh', 'VN', 1, '2003-02-07', '{"language":"vi","theme":null,"contact":{"email":true,"sms":true},"topics":["kitchen"]}', '2024-04-06 07:36:47'),
  (32, 'kenta.suzuki@example.com', '鈴木 健太', 'JP', 1, '1989-07-01', NULL, '2024-04-09 03:27:18'),
  (33, 'kavitha.chatterjee@example.com', 'Kavitha Chatterjee', 'IN', 0, '1956-04-06', '{"language":"hi","theme":"light","contact":{"email":true,"sms":false},"topics":["bicycle"]}', '2024-05-27 19:09:33'),
  (34, 'misaki.sato@example.com', '佐藤 美咲', 'JP', 1, '1995-02-11', '{"language":"ja","theme":null,"contact":{"email":true,"sms":false},"topics":["desk","kitchen"]}', '2024-06-04 07:46:17'),
  (35, 'chidinma.okonkwo@example.com', 'Chidinma Okonkwo', 'NG', 0, '1998-12-15', '{"language":"en","theme":null,"contact":{"email":true,"sms":false},"topics":["kitchen","garden"]}', '2024-07-02 13:11:00'),
  (36, 'niamh.oshea@example.com', 'Niamh O''Shea', 'IE', 0, '1984-04-05', '{"language":"en","theme":null,"contact":{"email":true,"sms":false},"topics":["garden","desk"]}', '2024-07-08 20:44:18'),
  (37, 'loic.saintexupere@example.com', 'Loïc Saint-Exupère', 'FR', 0, '1960-11-08', '{"language":"fr","theme":"dark","contact":{"email":true,"sms":false},"topics":["bicycle","travel","gifts"]}', '2024-07-13 00:38:40'),
  (38, 'conceicao.araujo@example.com', 'Conceição Araújo', 'BR', 0, NULL, NULL, '2024-07-20 22:38:46'),
  (39, 'luiza.araujo@example.com', 'Luíza Araújo', 'BR', 0, '1964-11-19', '{"language":"pt","theme":"dark","contact":{"email":true,"sms":false},"topics":["garden","travel"]}', '2024-10-13 03:49:12'),
  (40, 'minh.dang@example.com', 'Đặng Minh', 'VN', 0, NULL, '{"language":"vi","theme":"dark","contact":{"email":true,"sms":false},"topics":["desk"]}', '2024-10-16 22:04:05'),
  (41, 'isil.sahin@example.com', 'Işıl Şahin', 'TR', 0, '1951-06-14', '{"language":"tr","theme":null,"contact":{"email":true,"sms":false},"topics":["desk","travel"]}', '2024-11-03 21:27:10'),
  (42, 'rhys.achebe@example.com', 'Rhys Achebe', 'GB', 0, NULL, '{"language":"en","theme":null,"contact":{"email":true,"sms":false},"topics":["travel"]}', '2024-11-07 17:59:28'),
  (43, 'linnea.lindqvist@example.com', 'Linnéa Lindqvist', 'SE', 0, '1948-01-16', '{"language":"sv","theme":null,"contact":{"email":true,"sms":true},"topics":["garden"]}', '2024-11-08 02:33:20'),
  (44, 'jurgen.muller@example.com', 'Jürgen Müller', 'DE', 1, NULL, '{"language":"de","theme":null,"contact":{"email":true,"sms":false},"topics":["kitchen","gifts"]}', '2024-12-17 00:28:53'),
  (45, 'hana.sato@example.com', '佐藤 花', 'JP', 1, '2004-09-25', '{"language":"ja","theme":"light","contact":{"email":true,"sms":false},"topics":["kitchen","garden","gifts"]}', '2024-12-24 23:34:02'),
  (46, 'joao.goncalves@example.com', 'João Gonçalves', 'BR', 1, '2001-03-18', '{"language":"pt","theme":"light","contact":{"email":true,"sms":true},"topics":[]}', '2024-12-31 17:11:48'),
  (47, 'saoirse.fitzgerald@example.com', 'Saoirse Fitzgerald', 'IE', 0, NULL, '{"language":"en","theme":null,"contact":{"email":true,"sms":false},"topics":["desk"]}', '2025-01-03 23:38:35'),
  (48, 'malgorzata.wojcik@example.com', 'Małgorzata Wójcik', 'PL', 0, '1995-12-18', '{"language":"pl","theme":"light","contact":{"email":true,"sms":true},"topics":["garden"]}', '2025-01-09 20:35:39'),
  (49, 'malgorzata.kowalczyk@example.com', 'Małgorzata Kowalczyk', 'PL', 1, NULL, '{"language":"pl","theme":null,"contact":{"email":true,"sms":true},"topics":[]}', '2025-01-24 06:33:15'),
  (50, 'asa.lindqvist@example.com', 'Åsa Lindqvist', 'SE', 0, NULL, NULL, '2025-02-11 20:20:30'),
  (51, 'zoe.lefevre@example.com', 'Zoé Lefèvre', 'FR', 0, NULL, '{"language":"fr","theme":"light","contact":{"email":true,"sms":false},"topics":["kitchen","gifts"]}', '2025-02-27 13:40:18'),
  (52, 'dung.dang@example.com', 'Đặng Dũng', 'VN', 0, '1949-10-02', '{"language":"vi","theme":"light","contact":{"email":true,"sms":false},"topics":["kitchen","gifts","garden"]}', '2025-04-09 09:12:40'),
  (53, 'asa.angstrom@example.com', 'Åsa Ångström', 'SE', 0, '1950-11-02', NULL, '2025-04-10 12:46:20'),
  (54, 'freja.aero@example.com', 'Freja Ærø', 'DK', 1, '1944-11-05', '{"language":"da","theme":"dark","contact":{"email":true,"sms":true},"topics":["bicycle"]}', '2025-04-28 15:35:07'),
  (55, 'emre.sahin@example.com', 'Emre Şahin', 'TR', 0, '1967-04-16', '{"language":"tr","theme":"dark","contact":{"email":true,"sms":false},"topics":["bicycle","gifts","travel"]}', '2025-05-10 15:51:31'),
  (56, 'alistair.achebe@example.com', 'Alistair Achebe', 'GB', 0, '1996-03-06', NULL, '2025-05-18 02:30:42'),
  (57, 'arjun.patel@example.com', 'Arjun Patel', 'IN', 0, '1983-04-17', '{"language":"hi","theme":"dark","contact":{"email":true,"sms":false},"topics":["garden","desk","gifts"]}', '2025-06-06 15:28:27'),
  (58, 'joao.magalhaes@example.com', 'João Magalhães', 'BR', 0, NULL, NULL, '2025-06-18 15:17:03'),
  (59, 'oisin.obrien@example.com', 'Oisín O''Brien', 'IE', 1, '1946-12-07', '{"language":"en","theme":"light","contact":{"email":true,"sms":false},"topics":["gifts","travel"]}', '2025-06-26 13:52:27'),
  (60, 'rohan.iyer@example.com', 'Rohan Iyer', 'IN', 0, '1964-01-16', '{"language":"hi","theme":null,"contact":{"email":true,"sms":false},"topics":["kitchen","bicycle"]}', '2025-07-27 04:10:43');

INSERT INTO products (sku, name, description, price, stock, weight_kg, attributes, discontinued) VALUES
  ('HAMMOCK-COTTON', 'Cotton Hammock', 'Carries 160 kg, or one person and a long book.', 115.5, 64, 0.937, '{"topic":"garden","make":"Cotton","colours":["ivory"],"parcel":{"width_cm":21,"height_cm":24},"warranty":null}', 0),
  ('KNIFE-WALNUT', 'Walnut Bread Knife', NULL, 98.5, 14, 0.278, '{"topic":"kitchen","make":"Walnut","colours":["rust","ivory","mustard"],"parcel":{"width_cm":16,"height_cm":20},"warranty":{"years":9,"parts":["all"]}}', 0),
  ('HAMMOCK-FEATHE', 'Featherlight Hammock', 'Carries 160 kg, or one person and a long book.', 54.9, 94, 1.444, NULL, 0),
  ('BELL-THUNDE', 'Thundering Bicycle Bell', 'Heard at 50 m, forgiven at 10 m.', 16.5, 46, 0.151, '{"topic":"bicycle","make":"Thundering","colours":["midnight blue","mustard"],"parcel":{"width_cm":13,"height_cm":16},"warranty":{"years":7,"parts":["all"]}}', 0),
  ('CAN-LONGNE', 'Long-Neck Watering Can', 'Reaches the plant behind the plant.', 71, 59, 1.014, '{"topic":"garden","make":"Long-Neck","colours":["sage","ivory","mustard"],"parcel":{"width_cm":27,"height_cm":25},"warranty":null}', 0),
  ('MUG-PORCEL', 'Porcelain Mug', NULL, 9.9, 94, 0.415, '{"topic":"kitchen","make":"Porcelain","colours":["ivory","crème","midnight blue"],"parcel":{"width_cm":19,"height_cm":16},"warranty":null}', 0),
  ('PANNIER-REFLEC', 'Reflective Pannier Bag', '18 litres; fits a laptop or seven leeks.', 72, 106, 0.805, '{"topic":"bicycle","make":"Reflective","colours":["crème","rust","midnight blue"],"parcel":{"width_cm":21,"height_cm":27},"warranty":{"years":9,"parts":["all"]}}', 0),
  ('GNOME-CONCRE', 'Concrete Garden Gnome', 'Guards the café table. Née in Thüringen.', 30.95, 81, 2.177, NULL, 0),
  ('GRIND-BEECH', 'Beech Pepper Mill', 'Twelve settings from "dust" to "gravel".', 56.95, 41, 0.65, '{"topic":"kitchen","make":"Beech","colours":["sage","rust","ivory"],"parcel":{"width_cm":21,"height_cm":18},"warranty":null}', 0),
  ('TEAPOT-GLASS', 'Glass Teapot', 'Pours without dripping. We tried 200 cups.', 87.95, 0, 1.063, '{"topic":"kitchen","make":"Glass","colours":["ivory"],"parcel":{"width_cm":28,"height_cm":30},"warranty":null}', 1),
  ('CAN-COPPER', 'Copper Watering Can', 'Reaches the plant behind the plant.', 61.95, 1, 1.615, '{"topic":"garden","make":"Copper","colours":["ivory","rust"],"parcel":{"width_cm":37,"height_cm":38},"warranty":null}', 0),
  ('BRELLA-SEETHR', 'See-Through Umbrella', NULL, 27.9, 93, 0.665, '{"topic":"travel","make":"See-Through","colours":["midnight blue","mustard","crème"],"parcel":{"width_cm":24,"height_cm":24},"warranty":null}', 0),
  ('TRUNK-CABINS', 'Cabin-Size Suitcase', 'Four quiet wheels. 100% of them turn.', 334.95, 39, 2.306, NULL, 0),
  ('BELL-POLITE', 'Polite Bicycle Bell', NULL, 13, 44, 0.212, '{"topic":"bicycle","make":"Polite","colours":["rust","crème","ivory"],"parcel":{"width_cm":16,"height_cm":16},"warranty":null}', 0),
  ('TEAPOT-CASTIR', 'Cast-Iron Teapot', 'Pours without dripping. We tried 200 cups.', 44.9, 0, 1.018, '{"topic":"kitchen","make":"Cast-Iron","colours":["crème","sage","midnight blue"],"parcel":{"width_cm":30,"height_cm":26},"warranty":{"years":2,"parts":["all"]}}', 1),
  ('GIFT-THANKY', 'Thank-You Gift Voucher', 'Sent by e-mail; never the wrong size.', 23, 114, NULL, NULL, 0),
  ('BRELLA-STORMP', 'Storm-Proof Umbrella', 'Turned inside out 1,000 times, and back.', 45.95, 63, 0.635, '{"topic":"travel","make":"Storm-Proof","colours":["rust","sage","crème"],"parcel":{"width_cm":25,"height_cm":18},"warranty":{"years":4,"parts":["all"]}}', 0),
  ('GNOME-SOLARP', 'Solar-Powered Garden Gnome', NULL, 52.9, 69, 3.627, '{"topic":"garden","make":"Solar-Powered","colours":["rust","mustard"],"parcel":{"width_cm":55,"height_cm":57},"warranty":{"years":4,"parts":["all"]}}', 0),
  ('LAMP-POCKET', 'Pocket-Size Desk Lamp', 'Warm light, 2700 K, no app needed.', 131.5, 0, 2.085, '{"topic":"desk","make":"Pocket-Size","colours":["ivory","crème"],"parcel":{"width_cm":36,"height_cm":43},"warranty":{"years":2,"parts":["all"]}}', 1),
  ('BELL-BRASS', 'Brass Bicycle Bell', NULL, 18.9, 70, 0.12, '{"topic":"bicycle","make":"Brass","colours":["sage","rust","mustard"],"parcel":{"width_cm":16,"height_cm":15},"warranty":null}', 0),
  ('PEN-TITANI', 'Titanium Fountain Pen', NULL, 100.95, 75, 0.036, '{"topic":"desk","make":"Titanium","colours":["sage","ivory","midnight blue"],"parcel":{"width_cm":13,"height_cm":14},"warranty":null}', 0),
  ('GRIND-MARBLE', 'Marble Pepper Mill', 'Twelve settings from "dust" to "gravel".', 60.9, 0, 0.437, '{"topic":"kitchen","make":"Marble","colours":["sage","ivory","crème"],"parcel":{"width_cm":22,"height_cm":15},"warranty":{"years":2,"parts":["all"]}}', 1),
  ('TEAPOT-STONEW', 'Stoneware Teapot', 'Pours without dripping. We tried 200 cups.', 74.5, 51, 0.912, '{"topic":"kitchen","make":"Stoneware","colours":["ivory"],"parcel":{"width_cm":28,"height_cm":24},"warranty":{"years":9,"parts":["all"]}}', 0),
  ('BRELLA-FOLDIN', 'Folding Umbrella', 'Turned inside out 1,000 times, and back.', 43, 8, 0.257, '{"topic":"travel","make":"Folding","colours":["sage"],"parcel":{"width_cm":14,"height_cm":17},"warranty":{"years":10,"parts":["all"]}}', 0),
  ('NOTE-DOTTED', 'Dotted Notebook', '192 pages, opens flat.', 10, 105, 0.379, '{"topic":"desk","make":"Dotted","colours":["midnight blue","mustard","ivory"],"parcel":{"width_cm":19,"height_cm":18},"warranty":{"years":2,"parts":["all"]}}', 0),
  ('HAMMOCK-TWOPER', 'Two-Person Hammock', NULL, 65.5, 10, 2.095, '{"topic":"garden","make":"Two-Person","colours":["crème"],"parcel":{"width_cm":39,"height_cm":38},"warranty":{"years":9,"parts":["all"]}}', 0),
  ('PANNIER-ROLLTO', 'Roll-Top Pannier Bag', '18 litres; fits a laptop or seven leeks.', 117.95, 71, 1.157, '{"topic":"bicycle","make":"Roll-Top","colours":["rust","midnight blue","sage"],"parcel":{"width_cm":27,"height_cm":31},"warranty":null}', 0),
  ('TRUNK-ALUMIN', 'Aluminium Suitcase', 'Four quiet wheels. 100% of them turn.', 194, 70, 2.096, '{"topic":"travel","make":"Aluminium","colours":["crème","rust","mustard"],"parcel":{"width_cm":38,"height_cm":42},"warranty":null}', 0),
  ('LAMP-BAMBOO', 'Bamboo Desk Lamp', 'Warm light, 2700 K, no app needed.', 124, 68, 2.201, '{"topic":"desk","make":"Bamboo","colours":["sage","rust","mustard"],"parcel":{"width_cm":43,"height_cm":38},"warranty":{"years":7,"parts":["all"]}}', 0),
  ('NOTE-LEFTHA', 'Left-Handed Notebook', '192 pages, opens flat.', 24, 97, 0.261, '{"topic":"desk","make":"Left-Handed","colours":["midnight blue","mustard"],"parcel":{"width_cm":19,"height_cm":13},"warranty":null}', 0),
  ('NOTE-LINEN', 'Linen Notebook', '192 pages, opens flat.', 20, 56, 0.204, '{"topic":"desk","make":"Linen","colours":["crème","sage"],"parcel":{"width_cm":15,"height_cm":16},"warranty":{"years":9,"parts":["all"]}}', 0),
  ('MUG-TERRAC', 'Terracotta Mug', 'Holds 0.3 l and a grudge against dishwashers.', 7.95, 27, 0.305, '{"topic":"kitchen","make":"Terracotta","colours":["midnight blue"],"parcel":{"width_cm":20,"height_cm":20},"warranty":null}', 0),
  ('TRUNK-CORK', 'Cork Suitcase', NULL, 136.5, 83, 2.815, '{"topic":"travel","make":"Cork","colours":["ivory","mustard"],"parcel":{"width_cm":46,"height_cm":52},"warranty":null}', 0),
  ('LAMP-BRASS', 'Brass Desk Lamp', 'Warm light, 2700 K, no app needed.', 79.5, 7, 1.022, '{"topic":"desk","make":"Brass","colours":["ivory"],"parcel":{"width_cm":28,"height_cm":25},"warranty":{"years":6,"parts":["all"]}}', 0),
  ('PANNIER-WAXED', 'Waxed Pannier Bag', '18 litres; fits a laptop or seven leeks.', 47, 2, 1.15, '{"topic":"bicycle","make":"Waxed","colours":["ivory","crème"],"parcel":{"width_cm":31,"height_cm":31},"warranty":null}', 0),
  ('GNOME-SLEEPY', 'Sleepy Garden Gnome', 'Guards the café table. Née in Thüringen.', 28.9, 0, 1.038, '{"topic":"garden","make":"Sleepy","colours":["midnight blue","mustard","sage"],"parcel":{"width_cm":27,"height_cm":25},"warranty":{"years":2,"parts":["all"]}}', 1),
  ('MUG-ENAMEL', 'Enamel Mug', 'Holds 0.3 l and a grudge against dishwashers.', 14.95, 0, 0.187, '{"topic":"kitchen","make":"Enamel","colours":["mustard","crème"],"parcel":{"width_cm":20,"height_cm":13},"warranty":{"years":10,"parts":["all"]}}', 1),
  ('GIFT-BIRTHD', 'Birthday Gift Voucher', NULL, 14.9, 80, NULL, NULL, 0),
  ('TEAPOT-COPPER', 'Copper Teapot', 'Pours without dripping. We tried 200 cups.', 26.95, 39, 1.429, '{"topic":"kitchen","make":"Copper","colours":["ivory"],"parcel":{"width_cm":27,"height_cm":34},"warranty":null}', 0),
  ('KNIFE-DAMASC', 'Damascus Bread Knife', 'For crusts that other knives fear.', 33, 119, 0.28, '{"topic":"kitchen","make":"Damascus","colours":["crème"],"parcel":{"width_cm":15,"height_cm":21},"warranty":null}', 0);

INSERT INTO categories (id, parent_id, name) VALUES
  (1, NULL, 'Home'), (2, 1, 'Kitchen'), (3, 2, 'Tea and coffee'), (4, 1, 'Desk'), (5, NULL, 'Outdoors'), (6, 5, 'Garden'), (7, 5, 'Bicycle'), (8, NULL, 'Travel');

-- A gift voucher has no category.
WITH kinds (kind, category_id) AS (VALUES
  ('KNIFE', 2), ('GRIND', 2), ('MUG', 3), ('TEAPOT', 3), ('LAMP', 4), ('PEN', 4), ('NOTE', 4), ('HAMMOCK', 6), ('CAN', 6), ('GNOME', 6), ('BELL', 7), ('PANNIER', 7), ('BRELLA', 8), ('TRUNK', 8))
  UPDATE products SET category_id = kinds.category_id FROM kinds WHERE sku LIKE kind || '-%';

-- Each order with its discount in percent and its lines, product to quantity. The prices and the total are computed from them.
CREATE TEMP TABLE baskets (order_id, customer_id, status, note, ordered_at, discount, lines);

INSERT INTO baskets VALUES
  (1, 9, 'delivered', NULL, '2023-09-18 14:57:21', 10, '{"GRIND-MARBLE":1}'),
  (2, 9, 'returned', 'Please leave it with the neighbour.', '2023-09-30 04:47:22', 0, '{"BELL-POLITE":3,"TRUNK-CABINS":1}'),
  (3, 6, 'delivered', 'The bell is broken; knock "twice".', '2023-11-04 02:17:27', 10, '{"TEAPOT-CASTIR":2,"BRELLA-FOLDIN":1}'),
  (4, 7, 'delivered', 'Happy birthday, Zoë! 🎂', '2023-12-05 19:25:43', 0, '{"PANNIER-REFLEC":2,"TRUNK-ALUMIN":1}'),
  (5, 17, 'cancelled', NULL, '2024-02-22 09:36:01', 0, '{"MUG-PORCEL":3,"KNIFE-DAMASC":3,"NOTE-DOTTED":2,"MUG-ENAMEL":3}'),
  (6, 15, 'cancelled', NULL, '2024-03-02 01:30:44', 0, '{"BRELLA-STORMP":1,"BRELLA-SEETHR":3,"KNIFE-DAMASC":1}'),
  (7, 4, 'delivered', NULL, '2024-03-20 16:52:14', 0, '{"HAMMOCK-TWOPER":1}'),
  (8, 8, 'returned', NULL, '2024-03-29 11:39:49', 0, '{"LAMP-BAMBOO":1}'),
  (9, 19, 'delivered', NULL, '2024-06-22 19:20:03', 0, '{"TEAPOT-CASTIR":2,"TRUNK-CORK":1,"GIFT-BIRTHD":6}'),
  (10, 20, 'cancelled', NULL, '2024-06-25 13:10:31', 0, '{"NOTE-LINEN":6,"BELL-POLITE":1,"GRIND-MARBLE":1}'),
  (11, 2, 'cancelled', 'Please leave it with the neighbour.', '2024-07-11 05:20:39', 0, '{"BRELLA-STORMP":1,"TEAPOT-CASTIR":2}'),
  (12, 19, 'delivered', NULL, '2024-07-25 11:17:40', 0, '{"LAMP-POCKET":2,"TRUNK-CORK":2,"GRIND-MARBLE":1}'),
  (13, 20, 'delivered', NULL, '2024-07-28 11:00:03', 0, '{"PANNIER-ROLLTO":1,"TEAPOT-CASTIR":1}'),
  (14, 13, 'returned', NULL, '2024-08-04 06:31:38', 0, '{"PEN-TITANI":1,"TEAPOT-GLASS":1,"GNOME-SOLARP":1}'),
  (15, 27, 'delivered', 'It''s a present: no invoice in the box, please.', '2024-08-19 22:21:52', 0, '{"NOTE-DOTTED":1,"HAMMOCK-COTTON":2}'),
  (16, 7, 'delivered', NULL, '2024-08-24 04:10:50', 0, '{"PANNIER-ROLLTO":2}'),
  (17, 19, 'delivered', NULL, '2024-09-11 20:32:33', 0, '{"NOTE-LEFTHA":3}'),
  (18, 28, 'delivered', NULL, '2024-09-15 09:19:24', 0, '{"MUG-ENAMEL":2}'),
  (19, 1, 'delivered', NULL, '2024-09-17 21:40:59', 0, '{"HAMMOCK-TWOPER":1,"TEAPOT-COPPER":3}'),
  (20, 24, 'delivered', NULL, '2024-09-21 12:43:38', 0, '{"TEAPOT-CASTIR":1,"HAMMOCK-COTTON":2,"NOTE-DOTTED":2}'),
  (21, 7, 'delivered', NULL, '2024-10-01 12:19:16', 0, '{"NOTE-LEFTHA":1,"CAN-COPPER":1,"KNIFE-DAMASC":3,"PANNIER-REFLEC":1}'),
  (22, 1, 'delivered', NULL, '2024-10-02 14:28:17', 0, '{"TRUNK-ALUMIN":1,"BRELLA-STORMP":1,"PANNIER-WAXED":1,"BELL-POLITE":1}'),
  (23, 21, 'cancelled', 'It''s a present: no invoice in the box, please.', '2024-10-08 22:03:21', 0, '{"HAMMOCK-COTTON":1,"BELL-POLITE":1}'),
  (24, 18, 'cancelled', NULL, '2024-10-10 03:23:31', 0, '{"BELL-THUNDE":2,"GRIND-MARBLE":1,"KNIFE-DAMASC":2}'),
  (25, 20, 'delivered', NULL, '2024-10-19 14:49:51', 0, '{"BELL-THUNDE":6}'),
  (26, 26, 'delivered', NULL, '2024-10-26 12:33:53', 0, '{"BELL-BRASS":2,"BRELLA-FOLDIN":1,"LAMP-POCKET":1}'),
  (27, 8, 'returned', 'It''s a present: no invoice in the box, please.', '2024-11-02 14:34:26', 0, '{"GNOME-CONCRE":6,"PEN-TITANI":1,"GNOME-SOLARP":1,"BRELLA-STORMP":1}'),
  (28, 21, 'returned', NULL, '2024-11-13 09:19:06', 0, '{"HAMMOCK-FEATHE":1,"TRUNK-CABINS":1}'),
  (29, 28, 'returned', NULL, '2024-11-16 01:42:52', 0, '{"PANNIER-WAXED":2,"CAN-LONGNE":1}'),
  (30, 6, 'delivered', 'It''s a present: no invoice in the box, please.', '2024-11-28 05:12:28', 0, '{"TEAPOT-COPPER":1,"GNOME-SOLARP":2,"TRUNK-CORK":1}'),
  (31, 14, 'returned', NULL, '2024-11-29 03:45:29', 0, '{"HAMMOCK-TWOPER":1,"MUG-PORCEL":2}'),
  (32, 30, 'delivered', NULL, '2024-12-02 13:03:12', 0, '{"PEN-TITANI":1,"TRUNK-CABINS":1}'),
  (33, 37, 'delivered', NULL, '2024-12-03 20:07:12', 0, '{"NOTE-LINEN":6,"PANNIER-WAXED":1}'),
  (34, 17, 'delivered', 'It''s a present: no invoice in the box, please.', '2024-12-07 06:55:57', 0, '{"PEN-TITANI":2,"GRIND-BEECH":1,"LAMP-BAMBOO":1}'),
  (35, 35, 'delivered', NULL, '2024-12-07 14:19:53', 0, '{"BRELLA-FOLDIN":1}'),
  (36, 22, 'delivered', NULL, '2024-12-11 12:09:50', 0, '{"GNOME-SLEEPY":1}'),
  (37, 27, 'delivered', NULL, '2024-12-14 07:56:27', 0, '{"TEAPOT-COPPER":2,"TEAPOT-STONEW":1,"LAMP-POCKET":1}'),
  (38, 14, 'delivered', NULL, '2024-12-18 11:17:28', 0, '{"GRIND-BEECH":1,"NOTE-DOTTED":6}'),
  (39, 2, 'delivered', 'Happy birthday, Zoë! 🎂', '2024-12-27 17:06:20', 0, '{"NOTE-DOTTED":2,"CAN-COPPER":1}'),
  (40, 14, 'returned', NULL, '2025-01-14 08:25:24', 0, '{"BRELLA-SEETHR":3}'),
  (41, 23, 'delivered', NULL, '2025-01-18 18:00:54', 0, '{"MUG-TERRAC":3,"PANNIER-ROLLTO":1,"GNOME-SLEEPY":1}'),
  (42, 29, 'delivered', NULL, '2025-01-20 10:15:20', 0, '{"PANNIER-ROLLTO":2}'),
  (43, 31, 'returned', NULL, '2025-01-23 18:50:53', 0, '{"HAMMOCK-COTTON":1}'),
  (44, 25, 'delivered', NULL, '2025-02-02 20:41:03', 0, '{"TEAPOT-GLASS":2}'),
  (45, 15, 'returned', NULL, '2025-02-04 10:06:06', 0, '{"KNIFE-DAMASC":1}'),
  (46, 21, 'delivered', NULL, '2025-02-08 23:09:42', 0, '{"TEAPOT-GLASS":1}'),
  (47, 3, 'returned', NULL, '2025-02-12 03:08:09', 10, '{"LAMP-POCKET":2,"MUG-PORCEL":6}'),
  (48, 8, 'delivered', NULL, '2025-02-18 04:00:05', 0, '{"LAMP-BRASS":1,"BELL-BRASS":2,"KNIFE-WALNUT":1}'),
  (49, 12, 'delivered', NULL, '2025-03-02 01:11:57', 0, '{"GNOME-SLEEPY":2,"NOTE-DOTTED":3,"TRUNK-ALUMIN":1}'),
  (50, 11, 'delivered', NULL, '2025-03-05 14:56:04', 0, '{"GRIND-BEECH":1,"BELL-THUNDE":1,"MUG-TERRAC":2}'),
  (51, 16, 'delivered', NULL, '2025-03-05 19:33:48', 0, '{"GRIND-BEECH":1}'),
  (52, 30, 'delivered', NULL, '2025-03-08 06:44:02', 0, '{"KNIFE-WALNUT":2,"GNOME-SOLARP":1,"HAMMOCK-FEATHE":1}'),
  (53, 34, 'delivered', NULL, '2025-03-12 14:30:29', 0, '{"GIFT-BIRTHD":2,"TRUNK-ALUMIN":1,"HAMMOCK-FEATHE":1}'),
  (54, 6, 'delivered', NULL, '2025-03-13 12:49:14', 0, '{"TRUNK-ALUMIN":1,"KNIFE-WALNUT":1,"TRUNK-CABINS":1}'),
  (55, 51, 'delivered', NULL, '2025-03-13 17:06:04', 10, '{"TEAPOT-STONEW":1}'),
  (56, 41, 'delivered', NULL, '2025-03-14 23:16:47', 0, '{"BELL-THUNDE":2}'),
  (57, 14, 'delivered', 'It''s a present: no invoice in the box, please.', '2025-03-15 02:19:46', 0, '{"LAMP-BAMBOO":1,"KNIFE-DAMASC":1}'),
  (58, 12, 'delivered', NULL, '2025-03-15 11:50:24', 0, '{"LAMP-BRASS":1,"GNOME-SLEEPY":1}'),
  (59, 24, 'delivered', NULL, '2025-03-17 00:21:01', 0, '{"PANNIER-WAXED":2,"MUG-ENAMEL":2,"LAMP-POCKET":1,"LAMP-BRASS":1}'),
  (60, 48, 'returned', NULL, '2025-03-24 14:23:07', 0, '{"BELL-BRASS":1,"HAMMOCK-TWOPER":1}'),
  (61, 48, 'delivered', NULL, '2025-03-25 13:57:24', 0, '{"GNOME-SOLARP":1}'),
  (62, 8, 'delivered', NULL, '2025-03-30 00:33:19', 0, '{"NOTE-DOTTED":6,"BELL-POLITE":3}'),
  (63, 43, 'delivered', 'First floor,
left-hand door.', '2025-03-31 01:51:43', 0, '{"MUG-TERRAC":2,"TEAPOT-COPPER":3,"MUG-PORCEL":2}'),
  (64, 11, 'cancelled', NULL, '2025-04-02 03:59:34', 0, '{"CAN-COPPER":2,"NOTE-DOTTED":3,"MUG-PORCEL":6}'),
  (65, 36, 'delivered', NULL, '2025-04-10 00:25:07', 0, '{"CAN-COPPER":1,"GIFT-BIRTHD":1,"TRUNK-CORK":1}'),
  (66, 31, 'delivered', NULL, '2025-04-10 23:41:06', 0, '{"GNOME-SLEEPY":2,"HAMMOCK-TWOPER":1,"HAMMOCK-FEATHE":2,"NOTE-LEFTHA":2}'),
  (67, 33, 'delivered', NULL, '2025-04-13 07:46:29', 0, '{"GNOME-SLEEPY":6,"NOTE-DOTTED":2,"PANNIER-ROLLTO":2}'),
  (68, 31, 'cancelled', 'The bell is broken; knock "twice".', '2025-04-23 20:56:09', 0, '{"HAMMOCK-COTTON":2}'),
  (69, 17, 'delivered', NULL, '2025-04-26 01:06:01', 0, '{"LAMP-BRASS":1,"TEAPOT-STONEW":2,"BRELLA-FOLDIN":1}'),
  (70, 2, 'delivered', NULL, '2025-04-27 22:29:18', 0, '{"TEAPOT-COPPER":1,"TRUNK-CORK":1}'),
  (71, 15, 'delivered', NULL, '2025-04-29 05:23:15', 0, '{"BRELLA-SEETHR":2,"KNIFE-DAMASC":3}'),
  (72, 51, 'delivered', 'Please leave it with the neighbour.', '2025-05-04 03:17:27', 0, '{"GNOME-CONCRE":3,"BRELLA-SEETHR":1,"GRIND-BEECH":1}'),
  (73, 31, 'delivered', 'The bell is broken; knock "twice".', '2025-05-04 13:05:28', 0, '{"LAMP-POCKET":2,"GRIND-BEECH":1}'),
  (74, 2, 'delivered', NULL, '2025-05-06 05:33:19', 0, '{"KNIFE-DAMASC":3,"GRIND-MARBLE":1,"BELL-BRASS":6}'),
  (75, 34, 'cancelled', NULL, '2025-05-06 16:25:17', 0, '{"LAMP-POCKET":1}'),
  (76, 3, 'delivered', NULL, '2025-05-07 20:55:04', 0, '{"GRIND-BEECH":1}'),
  (77, 20, 'delivered', NULL, '2025-05-09 06:22:07', 0, '{"TEAPOT-CASTIR":1,"PANNIER-ROLLTO":2}'),
  (78, 21, 'delivered', NULL, '2025-05-09 20:17:35', 0, '{"HAMMOCK-COTTON":1,"NOTE-LINEN":3}'),
  (79, 29, 'delivered', NULL, '2025-05-13 20:08:47', 0, '{"NOTE-LEFTHA":1,"TEAPOT-STONEW":1,"CAN-LONGNE":1}'),
  (80, 45, 'delivered', 'The bell is broken; knock "twice".', '2025-05-16 03:13:31', 0, '{"GRIND-MARBLE":1,"BRELLA-STORMP":1,"HAMMOCK-TWOPER":1,"BELL-POLITE":6}'),
  (81, 42, 'returned', NULL, '2025-05-16 07:43:27', 0, '{"HAMMOCK-TWOPER":2}'),
  (82, 43, 'delivered', NULL, '2025-05-17 04:53:03', 0, '{"BRELLA-SEETHR":3,"LAMP-BRASS":1,"GIFT-THANKY":2,"HAMMOCK-COTTON":1}'),
  (83, 51, 'cancelled', NULL, '2025-05-27 07:05:36', 0, '{"PEN-TITANI":1,"NOTE-LEFTHA":3,"GRIND-MARBLE":1}'),
  (84, 35, 'delivered', NULL, '2025-05-28 06:09:02', 0, '{"BRELLA-SEETHR":6,"KNIFE-WALNUT":2}'),
  (85, 54, 'delivered', NULL, '2025-06-07 11:34:53', 0, '{"BRELLA-FOLDIN":1}'),
  (86, 17, 'delivered', NULL, '2025-06-11 03:05:48', 0, '{"BELL-POLITE":6,"LAMP-BRASS":1,"BRELLA-STORMP":2}'),
  (87, 54, 'delivered', NULL, '2025-06-11 15:07:47', 0, '{"GRIND-MARBLE":2}'),
  (88, 30, 'cancelled', 'Happy birthday, Zoë! 🎂', '2025-06-11 20:00:49', 10, '{"GNOME-SLEEPY":3,"PANNIER-WAXED":1,"NOTE-LINEN":1}'),
  (89, 12, 'delivered', NULL, '2025-06-12 09:05:19', 0, '{"PANNIER-WAXED":2,"PANNIER-REFLEC":1,"TEAPOT-CASTIR":1}'),
  (90, 25, 'cancelled', NULL, '2025-06-12 15:07:37', 0, '{"LAMP-POCKET":1,"MUG-TERRAC":6,"BELL-THUNDE":3,"GNOME-CONCRE":1}'),
  (91, 49, 'delivered', 'Please leave it with the neighbour.', '2025-06-13 13:04:35', 0, '{"NOTE-LINEN":1,"KNIFE-DAMASC":1,"TEAPOT-COPPER":1}'),
  (92, 28, 'delivered', NULL, '2025-06-14 17:31:23', 0, '{"CAN-COPPER":1,"LAMP-POCKET":2}'),
  (93, 56, 'delivered', NULL, '2025-06-16 21:31:33', 0, '{"GNOME-SOLARP":2,"GRIND-MARBLE":1,"BRELLA-STORMP":1,"PANNIER-ROLLTO":1}'),
  (94, 38, 'delivered', NULL, '2025-06-17 07:47:49', 0, '{"MUG-PORCEL":2,"LAMP-BAMBOO":1}'),
  (95, 28, 'delivered', NULL, '2025-06-17 08:05:45', 0, '{"MUG-PORCEL":3,"TEAPOT-GLASS":2}'),
  (96, 30, 'delivered', NULL, '2025-06-19 07:28:00', 0, '{"PANNIER-REFLEC":1,"KNIFE-WALNUT":1,"LAMP-BRASS":2}'),
  (97, 47, 'delivered', NULL, '2025-06-22 12:26:16', 10, '{"CAN-LONGNE":1,"GNOME-CONCRE":2,"BELL-THUNDE":1}'),
  (98, 36, 'cancelled', NULL, '2025-06-22 17:15:33', 0, '{"KNIFE-DAMASC":1,"TRUNK-CORK":1,"TEAPOT-CASTIR":2,"LAMP-POCKET":1}'),
  (99, 24, 'delivered', NULL, '2025-06-24 23:39:38', 0, '{"LAMP-POCKET":2,"BRELLA-SEETHR":1,"TEAPOT-STONEW":1}'),
  (100, 48, 'delivered', NULL, '2025-06-26 15:04:15', 0, '{"NOTE-LEFTHA":1,"GNOME-SOLARP":1,"KNIFE-DAMASC":2,"TEAPOT-COPPER":2}'),
  (101, 31, 'delivered', NULL, '2025-06-28 21:52:36', 0, '{"TEAPOT-STONEW":1,"TEAPOT-COPPER":1}'),
  (102, 27, 'delivered', NULL, '2025-07-01 21:21:26', 0, '{"NOTE-LINEN":2}'),
  (103, 37, 'delivered', NULL, '2025-07-07 01:48:41', 0, '{"TEAPOT-CASTIR":1,"BELL-THUNDE":6}'),
  (104, 9, 'cancelled', NULL, '2025-07-12 13:24:37', 0, '{"MUG-TERRAC":3,"GRIND-BEECH":1,"TRUNK-CABINS":2,"BRELLA-SEETHR":2}'),
  (105, 41, 'delivered', 'It''s a present: no invoice in the box, please.', '2025-07-13 03:36:43', 0, '{"TRUNK-CORK":1}'),
  (106, 21, 'delivered', 'It''s a present: no invoice in the box, please.', '2025-07-13 14:42:53', 0, '{"BELL-THUNDE":3,"PEN-TITANI":1}'),
  (107, 54, 'returned', NULL, '2025-07-14 03:03:37', 0, '{"BELL-THUNDE":3,"TEAPOT-GLASS":2}'),
  (108, 28, 'delivered', 'It''s a present: no invoice in the box, please.', '2025-07-15 15:11:18', 0, '{"MUG-ENAMEL":1,"TEAPOT-GLASS":1,"NOTE-LINEN":2}'),
  (109, 57, 'cancelled', 'It''s a present: no invoice in the box, please.', '2025-07-16 15:02:24', 0, '{"CAN-COPPER":1,"NOTE-LINEN":1}'),
  (110, 54, 'returned', NULL, '2025-07-16 18:46:35', 0, '{"TRUNK-CABINS":1,"BRELLA-STORMP":1}'),
  (111, 35, 'delivered', NULL, '2025-07-17 05:38:43', 0, '{"HAMMOCK-TWOPER":1,"PANNIER-ROLLTO":1,"KNIFE-DAMASC":1}'),
  (112, 55, 'delivered', NULL, '2025-07-18 12:08:58', 0, '{"HAMMOCK-TWOPER":1,"TRUNK-CORK":1,"CAN-COPPER":1}'),
  (113, 49, 'delivered', 'It''s a present: no invoice in the box, please.', '2025-07-18 19:43:11', 0, '{"LAMP-BRASS":1,"TRUNK-ALUMIN":1}'),
  (114, 27, 'delivered', NULL, '2025-07-19 07:58:16', 0, '{"LAMP-POCKET":1,"GNOME-SOLARP":1,"NOTE-LINEN":6}'),
  (115, 54, 'returned', 'First floor,
left-hand door.', '2025-07-20 03:19:20', 10, '{"LAMP-BRASS":1}'),
  (116, 43, 'delivered', NULL, '2025-07-23 16:03:36', 0, '{"HAMMOCK-TWOPER":1,"GIFT-BIRTHD":3}'),
  (117, 20, 'delivered', NULL, '2025-07-25 15:16:42', 0, '{"MUG-PORCEL":1}'),
  (118, 8, 'delivered', NULL, '2025-07-27 12:32:12', 0, '{"GRIND-MARBLE":1,"BELL-THUNDE":1,"BELL-POLITE":6}'),
  (119, 37, 'returned', NULL, '2025-07-28 02:13:55', 0, '{"NOTE-LEFTHA":2}'),
  (120, 56, 'delivered', 'Happy birthday, Zoë! 🎂', '2025-07-28 13:26:12', 0, '{"LAMP-POCKET":1,"BELL-THUNDE":3}'),
  (121, 54, 'delivered', 'Please leave it with the neighbour.', '2025-07-30 16:30:21', 0, '{"KNIFE-WALNUT":2,"GNOME-SOLARP":1}'),
  (122, 24, 'delivered', NULL, '2025-07-31 10:16:12', 0, '{"HAMMOCK-COTTON":1}'),
  (123, 52, 'cancelled', NULL, '2025-08-02 05:40:59', 0, '{"BELL-THUNDE":2,"TRUNK-CABINS":1}'),
  (124, 57, 'shipped', NULL, '2025-08-02 06:30:08', 0, '{"LAMP-BAMBOO":1,"BRELLA-FOLDIN":1,"GRIND-BEECH":2}'),
  (125, 56, 'paid', NULL, '2025-08-02 17:06:39', 10, '{"GIFT-BIRTHD":1,"NOTE-LEFTHA":6}'),
  (126, 33, 'shipped', 'It''s a present: no invoice in the box, please.', '2025-08-02 22:19:36', 0, '{"TEAPOT-COPPER":2,"PANNIER-ROLLTO":1,"BELL-POLITE":2,"LAMP-BAMBOO":1}'),
  (127, 4, 'cancelled', 'The bell is broken; knock "twice".', '2025-08-03 06:16:02', 0, '{"LAMP-BAMBOO":2,"BELL-BRASS":6}'),
  (128, 50, 'paid', NULL, '2025-08-09 05:39:25', 0, '{"HAMMOCK-COTTON":1}'),
  (129, 34, 'shipped', NULL, '2025-08-09 19:09:07', 0, '{"NOTE-DOTTED":1}'),
  (130, 48, 'paid', NULL, '2025-08-12 02:36:19', 0, '{"TEAPOT-CASTIR":1,"TRUNK-CORK":1,"TRUNK-CABINS":1}'),
  (131, 13, 'shipped', NULL, '2025-08-13 04:52:15', 0, '{"TRUNK-CABINS":1,"GNOME-SLEEPY":1,"NOTE-DOTTED":1,"HAMMOCK-TWOPER":2}'),
  (132, 53, 'shipped', NULL, '2025-08-15 12:49:34', 0, '{"NOTE-DOTTED":6}'),
  (133, 10, 'cancelled', NULL, '2025-08-15 13:30:40', 0, '{"PANNIER-WAXED":1,"PANNIER-ROLLTO":2}'),
  (134, 39, 'cancelled', NULL, '2025-08-16 05:24:52', 0, '{"LAMP-BRASS":1,"NOTE-LEFTHA":6}'),
  (135, 53, 'cancelled', NULL, '2025-08-16 07:29:16', 0, '{"HAMMOCK-TWOPER":1,"MUG-TERRAC":3,"PEN-TITANI":1}'),
  (136, 18, 'shipped', NULL, '2025-08-17 06:17:53', 0, '{"LAMP-BRASS":1}'),
  (137, 55, 'shipped', NULL, '2025-08-17 10:25:16', 0, '{"LAMP-POCKET":1,"TEAPOT-CASTIR":1,"LAMP-BAMBOO":1}'),
  (138, 45, 'shipped', 'Happy birthday, Zoë! 🎂', '2025-08-20 02:39:21', 0, '{"GIFT-BIRTHD":2}'),
  (139, 52, 'paid', NULL, '2025-08-21 01:34:19', 0, '{"TRUNK-CORK":1,"LAMP-BRASS":1}'),
  (140, 5, 'new', NULL, '2025-08-22 01:15:17', 0, '{"BELL-BRASS":3,"GIFT-THANKY":1}'),
  (141, 60, 'new', NULL, '2025-08-24 00:32:46', 0, '{"GIFT-BIRTHD":1,"TRUNK-CABINS":1,"LAMP-BAMBOO":1}'),
  (142, 46, 'paid', NULL, '2025-08-24 01:05:34', 0, '{"NOTE-DOTTED":2,"MUG-PORCEL":3,"MUG-TERRAC":1}'),
  (143, 60, 'new', 'First floor,
left-hand door.', '2025-08-24 09:32:01', 0, '{"TRUNK-CORK":1,"BRELLA-STORMP":1,"LAMP-BRASS":1}'),
  (144, 37, 'paid', NULL, '2025-08-27 18:14:30', 0, '{"BRELLA-SEETHR":1}'),
  (145, 35, 'new', NULL, '2025-08-28 16:37:28', 0, '{"BELL-BRASS":1,"BRELLA-SEETHR":2}'),
  (146, 60, 'new', NULL, '2025-08-28 18:49:11', 0, '{"KNIFE-WALNUT":1,"GRIND-MARBLE":1,"MUG-TERRAC":6,"TRUNK-ALUMIN":1}'),
  (147, 60, 'paid', NULL, '2025-08-28 20:55:13', 0, '{"HAMMOCK-TWOPER":1,"BELL-THUNDE":2,"BELL-POLITE":2}'),
  (148, 21, 'new', NULL, '2025-08-30 02:00:33', 0, '{"MUG-ENAMEL":6,"GRIND-MARBLE":1,"TEAPOT-GLASS":1,"PEN-TITANI":1}'),
  (149, 55, 'new', NULL, '2025-08-31 00:40:49', 0, '{"TRUNK-CORK":2,"MUG-ENAMEL":6,"BELL-THUNDE":2}'),
  (150, 59, 'paid', NULL, '2025-08-31 10:33:42', 0, '{"LAMP-BRASS":1,"CAN-LONGNE":1,"PANNIER-REFLEC":1}');

INSERT INTO orders (id, customer_id, status, note, ordered_at)
  SELECT order_id, customer_id, status, note, ordered_at FROM baskets;

INSERT INTO order_items (order_id, line, product_sku, quantity, unit_price)
  SELECT order_id, ROW_NUMBER() OVER (PARTITION BY order_id ORDER BY lines.id) AS line, sku, lines.value, ROUND(price * (1 - discount / 100.0), 2)
  FROM baskets, json_each(baskets.lines) AS lines
  JOIN products ON sku = lines.key
  ORDER BY order_id, line;

UPDATE orders SET total = (SELECT ROUND(SUM(line_total), 2) FROM order_items WHERE order_id = orders.id);

DROP TABLE baskets;

UPDATE customers SET created_at =
  datetime(created_at, (SELECT julianday('now', 'start of day') - julianday(MAX(ordered_at), 'start of day') - 1 FROM orders) || ' days');
UPDATE orders SET ordered_at =
  datetime(ordered_at, (SELECT julianday('now', 'start of day') - julianday(MAX(ordered_at), 'start of day') - 1 FROM orders) || ' days');

-- for requests with an idempotency key: what `row-query keys` prints
CREATE TABLE row_query_keys (
  k blob not null primary key,
  request blob not null,
  answer blob null,
  created timestamp not null default current_timestamp
);
create index row_query_keys_created on row_query_keys (created);
