import t from 'tap'
import type { Condition } from '../../src/plan/plan.ts'
import { compileStatement } from '../../src/sql/compile.ts'
import type { Parameter } from '../../src/types/column-type.ts'
import { compilesTo, orders } from '../support/sql.ts'

type Expected = readonly [sql: string, ...parameters: Parameter[]]

/** What other programs may have stored on SQLite passes no comparison. */
const TEXT_NAME = '(typeof("name") = \'text\' and'
const JSON_TAGS = 'case when typeof("tags") <> \'blob\' and json_valid("tags") then'

const filters: Array<[filters: object, mysql: Expected, sqlite: Expected]> = [
  [{ name: 'x' }, ['`name` = ?', 'x'], ['"name" = ?', 'x']],
  [{ name: { $is: 'x' } }, ['(`name` = ? and cast(convert(`name` using utf8mb4) as binary) = cast(? as binary) and `name` is not null)', 'x', 'x'], ['("name" = ? and "name" = ? collate binary and "name" is not null)', 'x', 'x']],
  [{ $is: { id: 1, name: null } }, ["(`id` = '?' and `name` is null)", 1n], ['("id" = ? and "name" is null)', 1n]],
  [{ name: null }, ['`name` is null'], ['"name" is null']],
  [{ name: { $null: false } }, ['`name` is not null'], ['"name" is not null']],
  [{ id: { $ne: 1 } }, ["`id` <> '?'", 1n], ['"id" <> ?', 1n]],
  [{ id: { $gt: 1 } }, ['`id` > ?', 1n], ['"id" > ?', 1n]],
  [{ id: { $gte: 1 } }, ['`id` >= ?', 1n], ['"id" >= ?', 1n]],
  [{ id: { $lt: 1 } }, ['`id` < ?', 1n], ['"id" < ?', 1n]],
  [{ id: { $lte: 1 } }, ['`id` <= ?', 1n], ['"id" <= ?', 1n]],
  [{ name: ['a', 'b'] }, ['`name` in (?, ?)', 'a', 'b'], ['"name" in (?, ?)', 'a', 'b']],
  [{ name: { $nin: ['a', 'b'] } }, ['`name` not in (?, ?)', 'a', 'b'], ['(typeof("name") = \'text\' and "name" not in (?, ?))', 'a', 'b']],
  [{ name: ['a', null] }, ['(`name` in (?) or `name` is null)', 'a'], ['("name" in (?) or "name" is null)', 'a']],
  [{ id: { $in: [] } }, ['1 = 0'], ['1 = 0']],
  [{ total: 5 }, ['`total` = cast(? as decimal(10,2))', '5.00'], ['"total" = ?', 5]],
  [{ total: [1, 2] }, ['`total` in (cast(? as decimal(10,2)), cast(? as decimal(10,2)))', '1.00', '2.00'], ['"total" in (?, ?)', 1, 2]],
  [{ total: { $between: [1, 2] } }, ['`total` between cast(? as decimal(10,2)) and cast(? as decimal(10,2))', '1.00', '2.00'], ['(typeof("total") in (\'integer\', \'real\') and "total" between ? and ?)', 1, 2]],
  [{ tags: { a: 1 } }, ['`tags` = cast(? as json)', '{"a":1}'], [`${JSON_TAGS} json("tags") = json(?) end`, '{"a":1}']],
  [{ tags: null }, ['(`tags` is null or `tags` = cast(? as json))', 'null'], [`("tags" is null or ${JSON_TAGS} json("tags") = json(?) end)`, 'null']],
  [{ name: { $like: 'a%' } }, ["`name` like ? escape '!'", 'a%'], [`${TEXT_NAME} "name" like ? escape '!')`, 'a%']],
  [{ name: { $nlike: 'a_' } }, ["`name` not like ? escape '!'", 'a_'], [`${TEXT_NAME} "name" not like ? escape '!')`, 'a_']],
  [{ name: { $startsWith: '5%' } }, ["`name` like ? escape '!'", '5!%%'], [`${TEXT_NAME} "name" like ? escape '!')`, '5!%%']],
  [{ name: { $contains: '\\_' } }, ["`name` like ? escape '!'", '%\\!_%'], [`${TEXT_NAME} "name" like ? escape '!')`, '%\\!_%']],
  [{ id: 1, name: 'x' }, ["(`id` = '?' and `name` = ?)", 1n, 'x'], ['("id" = ? and "name" = ?)', 1n, 'x']],
  [{ $or: [{ id: 1 }, { id: 2, name: 'x' }] }, ["(`id` = '?' or (`id` = '?' and `name` = ?))", 1n, 2n, 'x'], ['("id" = ? or ("id" = ? and "name" = ?))', 1n, 2n, 'x']],
  [{ $not: { id: 1 } }, ["not (`id` = '?')", 1n], ['not ("id" = ?)', 1n]],
  [{ $not: { name: 'x' } }, ['not (`name` = ?)', 'x'], ['not (case when typeof("name") = \'text\' then "name" = ? end)', 'x']],
  [{ 'odd "na`me"': 'x' }, ['`odd "na``me"` = ?', 'x'], ['"odd ""na`me""" = ?', 'x']]
]

t.test('filters become conditions with a placeholder for each value', async (t) => {
  for (const [filter, [mysql, ...mysqlParameters], [sqlite, ...sqliteParameters]] of filters) {
    compilesTo(t, { verb: 'delete', filters: filter }, {
      mysql: { sql: `delete from \`orders\` where ${mysql}`, parameters: mysqlParameters },
      sqlite: { sql: `delete from "orders" where ${sqlite}`, parameters: sqliteParameters }
    })
  }
})

t.test('a condition that is always true can be compiled', async (t) => {
  const table = orders.mysql
  const always: Condition = { kind: 'constant', value: true }
  t.equal(compileStatement({ verb: 'delete', table, condition: { kind: 'not', condition: always } }, 'mysql').sql, 'delete from `orders` where not (1 = 1)')
})
