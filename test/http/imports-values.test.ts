/** What an export gives, an import takes: the rows of a copy are the same, byte for byte. */
import t from 'tap'
import { load } from '../support/load.ts'
import { anyEngine } from '../support/rotation.ts'
import { onEachEngine, sharedOnEachEngine } from '../support/service.ts'

const mysqlColumns = 'id int primary key, big bigint unsigned, dec_ decimal(30,10), f float, d double, b1 bit(1), b9 ' +
  "bit(9), tiny tinyint(1), y year, c char(5), v varchar(200), e enum('a','b,c'), s set('x','y','z'), bin " +
    'varbinary(50), da date, ti time(2), dt datetime(3), ts timestamp(2) null, j json, g point'
const sqliteColumns = 'id integer primary key, big bigint, dec_ decimal(12,2), d double, b boolean, v varchar(200), ' +
  'bin blob, da date, dt datetime, j json'
const schema = {
  mysql: [
    `create table source (${mysqlColumns}) engine=innodb`,
    `create table copy (${mysqlColumns}) engine=innodb`,
    'insert into source values (1, 18446744073709551615, \'-12345678901234567890.1234567890\', 1.1, -1e300, b\'1\', ' +
      'b\'101\', 2, 2026, \'a b\', \' x, "y"\r\nü😀\\\\\', \'b,c\', \'x,z\', x\'00ff0d0a22\', \'2026-02-28\', ' +
        '\'-12:30:00.5\', \'2026-01-02 03:04:05.678\', \'2026-01-02 03:04:05.67\', ' +
          '\'{"$x":[1,"é",null]}\', point(1.5, -2))',
    "insert into source values (2, 0, 0, 0, -0.0, b'0', b'0', 0, 0, '', '', 'a', '', '', '1000-01-01', '00:00:00', " +
      "'1000-01-01 00:00:00', null, '\"null\"', null)",
    "insert into source (id, j) values (3, 'null'), (4, null), (5, '[]'), (6, '\"x\"'), (7, '{\"$eq\":null}')"
  ],
  sqlite: [
    `create table source (${sqliteColumns})`,
    `create table copy (${sqliteColumns})`,
    "insert into source values (1, 9223372036854775807, 12.5, -1e300, 1, ' x, \"y\"' || char(13, 10) || 'ü😀\\', " +
      "x'00ff0d0a22', '2026-02-28', '2026-01-02 03:04:05', '{\"$x\":[1,\"é\",null]}')",
    "insert into source values (2, 0, 0, 0.0, 0, '', x'', '1000-01-01', '1000-01-01 00:00:00', '\"null\"')",
    "insert into source (id, j) values (3, 'null'), (4, null), (5, '[]'), (6, '\"x\"'), (7, '{\"$eq\":null}')"
  ]
}

const test = sharedOnEachEngine(t, { schema })

for (const type of ['text/csv', 'application/x-ndjson']) {
  await test(`an export goes into an empty copy, and out again: ${type}`, async (t, service) => {
    // in NDJSON, JSON null and objects of `$` keys have no form of their own
    const filters = type === 'text/csv' ? {} : { id: { $nin: [1, 3, 7] } }
    const read = async (table: string): Promise<string> =>
      (await service.post(table, { verb: 'select', orderBy: 'id', filters }, { headers: { accept: type } })).text
    const text = await read('source')
    t.match(await load(service, 'copy', text, { type }), { json: { data: { inserted: type === 'text/csv' ? 7 : 4 } } })
    t.equal(await read('copy'), text)
    const differences = await service.sql(
      'select s.id from source s join copy c on s.id = c.id where (s.j is null) <> (c.j is null)'
    )
    t.same(differences, [])
  })
}

await onEachEngine(t, 'a BLOB of megabytes that was exported is imported', {
  schema: (engine) => [engine === 'sqlite'
    ? 'create table big (id integer primary key, raw blob)'
    : 'create table big (id int primary key auto_increment, raw longblob)'],
  only: await anyEngine(t)
}, async (t, service) => {
  const { engine, post, sql } = service
  await sql(`insert into big values (1, ${engine === 'sqlite' ? 'zeroblob(3500000)' : "repeat('x', 3500000)"})`)
  for (const type of ['text/csv', 'application/x-ndjson']) {
    const select = { verb: 'select', columns: ['raw'], filters: { id: 1 } }
    const { text } = await post('big', select, { headers: { accept: type } })
    t.match(await load(service, 'big', text, { type }), { json: { data: { inserted: 1 } } }, type)
  }
  t.equal((await sql('select count(*) as n from big a join big b on a.raw = b.raw where a.id = 1'))[0].n, 3)
})
