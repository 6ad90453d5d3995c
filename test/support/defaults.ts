/**
 * Defaults of every type, and what must hold for each: an upsert finds the row that got it, and the document shows what
 * is stored.
 */
import type { Test } from 'tap'
import { TOKEN, type EngineName, type Service } from './service.ts'

/** Declarations with their defaults. */
const everywhere = [
  "varchar(20) default 'ab'", "varchar(20) default '\"5\"'", "varchar(20) default ''", "varchar(20) default '1.50'",
  'varchar(20) default 5', 'varchar(20) default 1.50', "char(5) default 'ab'",
  'int default 5', 'int default -5', "int default '7'", "decimal(10,2) default '1.50'", 'decimal(10,2) default 2',
  'double default 0.1', 'double default 5', 'tinyint(1) default 1',
  "date default '2026-01-02'", "time default '10:11:12'", "datetime default '2026-01-02 03:04:05'",
  "timestamp default '2026-01-02 03:04:05'"
]

const onMysql = [
  "binary(4) default 'abcd'", "binary(4) default 'ab'", 'binary(4) default 0x61006263', "varbinary(8) default 'abcd'",
  'varbinary(8) default 0x61', "varbinary(8) default '0x61'", 'varbinary(8) default 0xff00',
  'varbinary(8) default 0x610062', "varbinary(8) default ''", "varbinary(8) default 'a?b'", "bit(1) default b'1'",
  "bit(5) default b'101'", 'bit(5) default 5', 'bit(64) default 18446744073709551615',
  "set('a','b','c') default 'c,a'", "set('a','b') default ''", "enum('a','b','') default 'B'",
  "enum('1','2','0') default '2'", 'time(3) default 101112.5', "time default '1 10:00:00'", "time default '-1:00'",
  'year default 2026', 'year default 0', "timestamp(3) default '2026-01-02 03:04:05.6'", 'date default 20260102',
  'float default 16777217', 'float default 0.1', 'float(8,2) default 1.2',
  'double default 0.1234567890123456789', 'double default 1e300', 'double zerofill default 1.5',
  'int zerofill default 7', 'bigint unsigned default 18446744073709551615', 'varchar(20) default 0x3f62',
  "varchar(20) character set latin1 default 'é?'"
]

/** Constants that SQLite stores in another form than the service reads. */
const unknown = [
  "blob default 'abcd'", "blob default x'6162'", 'blob default 1234', "datetime default '2026-01-02T03:04:05'",
  "int default '0x10'", "boolean default 'true'", 'varchar(20) default 007', 'varchar(20) default 1.50'
]

const only: Record<EngineName, string[]> = {
  sqlite: [...unknown.slice(0, -1), "real default '0.5'", "varchar(20) default 'a?b'"],
  mysql: [
    "varchar(20) character set utf8mb4 default '😀'", "enum('😀','b') character set utf8mb4 default '😀'",
    "set('😀','b') character set utf8mb4 default 'b,😀'"
  ],
  mariadb: [
    "uuid default '123e4567e89b12d3a456426655440000'", "inet6 default '2001:0db8::1'", "varchar(20) default ('a' 'b')",
    "json default '[1, 2]'", "json default '\"a\"'", "blob default 'abcd'"
  ]
}

export const typesOn = (engine: EngineName): string[] => [
  ...everywhere, ...engine === 'sqlite' ? [] : onMysql, ...only[engine]
]

export const tablesOf = (declarations: readonly string[]): string[] => declarations.map((declaration, index) =>
  `create table d${index} (id int not null primary key, k ${declaration}, v int null, unique (k))`)

export async function checkDefaults (
  t: Test, { post, server, engine }: Service, declarations: readonly string[]
): Promise<void> {
  const document = (await server.app.inject({
    url: '/api/shop/openapi.json', headers: { authorization: `Bearer ${TOKEN}` }
  })).json()
  for (const [index, declaration] of declarations.entries()) {
    const table = `d${index}`
    for (const data of [{ id: 1 }, { id: 2, k: null }]) {
      t.match(await post(table, { verb: 'insert', data }), { status: 200 }, declaration)
    }
    // the row collides in the primary key as well, with another row: the servers meet that key first
    t.match(
      await post(table, { verb: 'insert', data: { id: 2, v: 9 }, onConflict: { key: ['k'], set: ['v'] } }),
      { status: 200, json: { data: { inserted: 0, updated: 1, id: 1 } } }, declaration
    )
    const { rows } = (await post(table, { verb: 'select', orderBy: 'id' })).json.data
    t.match(rows, [{ id: 1, v: 9 }, { id: 2, v: null }], declaration)
    const shown = document.components.schemas[`D${index}Insert`].properties.k['x-default']
    t.ok(shown === undefined || JSON.stringify(shown) === JSON.stringify(rows[0].k), `the document: ${declaration}`)
  }
}
