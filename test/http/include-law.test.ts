// night: many random cases
/**
 * Laws of related rows with many requests, members with columns of every type, and relations by every type that relates
 * rows.
 */
import t, { type Test } from 'tap'
import { parseExactJson } from '../../src/json/exact-json.ts'
import {
  groupsAreThoseOfPlainSql, membersAreThoseOfPlainSql, onRandomTables, writesChangeWhatPlainSqlFinds
} from '../support/related-laws.ts'
import { seed } from '../support/seed.ts'
import { onEachEngine } from '../support/service.ts'
import { declare, groupsOn, sampleRows, type TypedColumn } from '../support/typed-columns.ts'

for (const each of [seed, 11, 23]) {
  await onRandomTables(
    t as Test, 'members are what plain SQL finds for each row', { seed: each, runs: 40 }, membersAreThoseOfPlainSql
  )
}
for (const each of [seed, 11, 23]) {
  await onRandomTables(
    t as Test, 'groups by columns of members are what plain SQL groups', { seed: each, runs: 60 },
    groupsAreThoseOfPlainSql
  )
}
for (const each of [seed, 5]) {
  await onRandomTables(
    t as Test, 'updates and deletes change what plain SQL finds', { seed: each, runs: 60 },
    writesChangeWhatPlainSqlFinds
  )
}

const ROWS = 24
const isIndexed = ({ declaration }: TypedColumn): boolean =>
  !/text|clob|blob|json|geometry|point|vector/.test(declaration)

await onEachEngine(t, 'members with columns of every type', {
  schema: (engine) => groupsOn(engine).flatMap((columns, group) => [
    `create table every${group} (
      id integer not null primary key, k varchar(4) not null, n int not null, ${declare(engine, columns)})`,
    ...['k', 'n', ...columns.flatMap((column, index) => isIndexed(column) || engine === 'sqlite' ? [`c${index}`] : [])]
      .map((column) => `create index by_${column}_${group} on every${group} (${column})`),
    `create view seen${group} as select * from every${group}`,
    `create view copied${group} as select * from every${group} union all select * from every${group} where id < 0`
  ])
}, async (t, { post, engine, sql }) => {
  for (const [group, columns] of groupsOn(engine).entries()) {
    const [every, ...views] = [`every${group}`, `seen${group}`, `copied${group}`] as [string, string, string]
    for (const [row, data] of sampleRows(columns, ROWS, 12).entries()) {
      t.match(await post(
        every, `{"verb":"insert","data":{"id":${row},"k":"${'aAbB'[row % 4] as string}","n":${row % 5},${data}}}`
      ), { status: 200 })
    }
    const read = async (body: object, table = every): Promise<Array<Record<string, unknown>>> => {
      const { status, text } = await post(table, { verb: 'select', orderBy: 'id', ...body })
      t.equal(status, 200, text.slice(0, 500))
      return (parseExactJson(text) as { data: { rows: Array<Record<string, unknown>> } }).data.rows
    }
    const rows = await read({})
    for (const [on, key] of [
      ['k', (row: Record<string, unknown>) => engine === 'sqlite' ? row['k'] : String(row['k']).toLowerCase()],
      ['n', (row: Record<string, unknown>) => row['n']], ['id', (row: Record<string, unknown>) => row['id']]
    ] as const) {
      const found = await read({ columns: ['id'], include: { same: { table: every, on: { [on]: on } } } })
      const wanted = rows.map((row) => {
        const related = rows.filter((other) => key(other) === key(row))
        return { id: row['id'], same: on === 'id' ? related[0] : related }
      })
      t.equal(JSON.stringify(found), JSON.stringify(wanted), `on ${on} (seed ${seed})`)
    }
    for (const view of views) {
      const found = await read({ columns: ['id'], include: { same: { table: view, on: { n: 'n' }, orderBy: 'id' } } })
      // a view may have other types than its table
      const shown = await read({}, view)
      t.equal(JSON.stringify(found), JSON.stringify(rows.map(({ id, n }) =>
        ({ id, same: shown.filter((other) => other['n'] === n) }))), `of ${view} (seed ${seed})`)
    }
    let related = 0
    for (const [index, { declaration }] of columns.entries()) {
      const column = `c${index}`
      const answer = await post(every, {
        verb: 'select',
        columns: ['id'],
        orderBy: 'id',
        include: { same: { table: every, on: { [column]: column }, columns: ['id'] } }
      })
      if (answer.status === 400 && /cannot relate|has no index/.test(answer.text)) continue
      related++
      t.equal(answer.status, 200, `${declaration}: ${answer.text}`)
      const wanted = await Promise.all(rows.map(async ({ id }) => ({
        id,
        same: (await sql(`select o.id as id from ${every} e, ${every} o
          where e.id = ${String(id)} and o.${column} = e.${column} order by o.id`)).map((row) => ({ id: row.id }))
      })))
      t.same(answer.json.data?.rows, wanted, `${declaration} (seed ${seed})`)
      for (const view of views) {
        const viewed = await post(every, {
          verb: 'select',
          columns: ['id'],
          orderBy: 'id',
          include: { same: { table: view, on: { [column]: column }, columns: ['id'], orderBy: 'id' } }
        })
        t.same(viewed.json.data?.rows, wanted, `${declaration} of ${view} (seed ${seed}): ${viewed.text.slice(0, 300)}`)
        const some = await post(every, {
          verb: 'select',
          columns: ['id'],
          orderBy: 'id',
          filters: { $some: { [view]: { on: { [column]: column }, filters: { n: { $gt: 1 } } } } }
        })
        const passing = new Set(rows.filter(({ n }) => Number(n) > 1).map(({ id }) => id))
        t.same(some.json.data?.rows, wanted.filter(({ same }) => same.some(({ id }) => passing.has(id)))
          .map(({ id }) => ({ id })), `some of ${declaration} of ${view}: ${some.text.slice(0, 300)}`)
      }
    }
    t.comment(`${related} of ${columns.length} types relate rows`)
  }
})
