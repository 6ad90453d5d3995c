/** The tables that the texts of triggers write. */
import t from 'tap'
import { writesOf } from '../../src/catalog/trigger-text.ts'

const mysql = (text: string): string => writesOf(text, 'mysql', 'shop').map(({ table, event }) => `${event} ${table}`).join(', ')
const sqlite = (text: string): string => writesOf(`CREATE TRIGGER x AFTER UPDATE OF a ON t FOR EACH ROW WHEN old.a <> new.a BEGIN ${text} END`, 'sqlite').map(({ table, event }) => `${event} ${table}`).join(', ')

const mysqlCases: Array<[text: string, writes: string]> = [
  ['set new.a = 1', ''],
  ['insert into log values (1)', 'insert log'],
  ['insert log set a = new.a', 'insert log'],
  ['begin insert low_priority ignore into `my log` (a) select a from items where b = 1; replace stock values (1); end', 'insert my log, insert stock, delete stock'],
  ['insert into log (a) values (1) on duplicate key update a = a + 1', 'insert log, update log'],
  ['update stock set n = n - 1 where id = new.id', 'update stock'],
  ['update low_priority ignore stock as s join items i on i.id = s.id, more set s.n = 1', 'update stock, update items, update more'],
  ['delete from items where order_id = old.id', 'delete items'],
  ['delete quick ignore from items', 'delete items'],
  ['delete a, b from items a join stock b on a.id = b.id where a.id = 1', 'delete a, delete b, delete items, delete stock'],
  ['begin declare n int; select count(*) into n from items for update; set new.b = replace(new.a, \'update stock set\', "delete from x"), new.c = insert(new.a, 1, 2, \'x\'); end', ''],
  ['begin /* insert into a values (1) */ -- delete from b\n # update c set d = 1\n insert into d values (\'it\\\'s; delete from e\', 1); end', 'insert d'],
  ['insert into shop.log values (1)', 'insert log'],
  ['insert into SHOP . `log` values (1)', 'insert log'],
  ['insert into other.log values (1)', ''],
  ['call write_log(new.id)', ''],
  ['begin if new.a = 1 then update stock set n = 1; elseif new.b then delete from items; end if; end', 'update stock, delete items'],
  ['begin /*!50000 insert into hinted values (1) */; end', 'insert hinted']
]

const sqliteCases: Array<[text: string, writes: string]> = [
  ['select 1;', ''],
  ['insert or replace into "my ""log" values (\'\\\'); update or ignore [stock] set n = 1;', 'insert my "log, delete my "log, update stock'],
  ["replace into 'log' select a from items;", 'insert log, delete log'],
  ['insert into log values (1) on conflict (a) do update set b = 2;', 'insert log, update log'],
  ["select raise(abort, 'delete from items'); delete from items where a = 'x';", 'delete items'],
  ['update stock set n = (select count(*) from items) from more where more.id = stock.id;', 'update stock']
]

t.test('the text of a trigger names the tables that it writes', async (t) => {
  for (const [text, writes] of mysqlCases) t.equal(mysql(text), writes, text)
  for (const [text, writes] of sqliteCases) t.equal(sqlite(text), writes, text)
})

t.test('long texts take time in proportion to their length', async (t) => {
  for (const part of ['insert ', "'", '"', '`', '/*', 'update a,', 'delete (', 'a.']) t.ok(mysql(part.repeat(20_000)).length < 100_000, part)
})
