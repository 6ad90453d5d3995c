// night: many random cases
/**
 * Laws of related rows with many requests, members with columns of every type, and relations by every type that relates
 * rows.
 */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { parseExactJson } from '../../src/json/exact-json.ts'
import { engines } from '../servers/engines.ts'
import { quoted } from '../support/quoted.ts'
import {
  groupsAreThoseOfPlainSql, membersAreThoseOfPlainSql, onRandomTables, writesChangeWhatPlainSqlFinds
} from '../support/related-laws.ts'
import { seed } from '../support/seed.ts'
import { onEachEngine, type EngineName } from '../support/service.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from '../support/typed-columns.ts'

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
const columnsFor = (engine: EngineName, group: readonly TypedColumn[]): TypedColumn[] =>
  group.filter(({ only }) => only === undefined || only === engine)
const isIndexed = ({ declaration }: TypedColumn): boolean =>
  !/text|clob|blob|json|geometry|point|vector/.test(declaration)

for (const [name, group] of [...Object.entries(mysqlGroups), ...Object.entries(sqliteGroups)]) {
  const only = Object.hasOwn(sqliteGroups, name)
    ? ['sqlite']
    : (await engines()).filter(
        (engine) => columnsFor(engine.name as EngineName, group).length > 0
      ).map((engine) => engine.name)
  const schema = (engine: EngineName): string[] => {
    const columns = columnsFor(engine, group)
    return [
      `create table every (id integer not null primary key, k varchar(4) not null, n int not null, ${columns.map(({ declaration }, index) => `c${index} ${declaration}${engine === 'sqlite' ? '' : ' null'}`).join(', ')})`,
      'create index by_k on every (k)', 'create index by_n on every (n)',
      ...columns.flatMap((column, index) => isIndexed(column) || engine === 'sqlite'
        ? [`create index by_c${index} on every (c${index})`]
        : []),
      'create view seen as select * from every',
      'create view copied as select * from every union all select * from every where id < 0'
    ]
  }

  await onEachEngine(t, `members with ${name}`, {
    only: only as EngineName[], schema
  }, async (t, { post, engine, sql }) => {
    const columns = columnsFor(engine, group)
    const samples = columns.map(({ values }, index) => fc.sample(
      fc.option(fc.constantFrom(...fc.sample(values, { numRuns: 12, seed: seed + index })), { freq: 8, nil: 'null' }),
      { numRuns: ROWS, seed: seed + index }
    ))
    for (let row = 0; row < ROWS; row++) {
      const data = samples.map(
        (texts, index) => `"c${index}":${JSON.stringify(quoted(parseExactJson(texts[row] as string)))}`
      )
      t.match(await post(
        'every',
        `{"verb":"insert","data":{"id":${row},"k":"${'aAbB'[row % 4] as string}","n":${row % 5},${data.join()}}}`
      ), { status: 200 })
    }
    const read = async (body: object, table = 'every'): Promise<Array<Record<string, unknown>>> => {
      const { status, text } = await post(table, { verb: 'select', orderBy: 'id', ...body })
      t.equal(status, 200, text.slice(0, 500))
      return (parseExactJson(text) as { data: { rows: Array<Record<string, unknown>> } }).data.rows
    }
    const rows = await read({})
    for (const [on, key] of [
      ['k', (row: Record<string, unknown>) => engine === 'sqlite' ? row['k'] : String(row['k']).toLowerCase()],
      ['n', (row: Record<string, unknown>) => row['n']], ['id', (row: Record<string, unknown>) => row['id']]
    ] as const) {
      const found = await read({ columns: ['id'], include: { same: { table: 'every', on: { [on]: on } } } })
      const wanted = rows.map((row) => {
        const related = rows.filter((other) => key(other) === key(row))
        return { id: row['id'], same: on === 'id' ? related[0] : related }
      })
      t.equal(JSON.stringify(found), JSON.stringify(wanted), `on ${on} (seed ${seed})`)
    }
    for (const view of ['seen', 'copied']) {
      const found = await read({ columns: ['id'], include: { same: { table: view, on: { n: 'n' }, orderBy: 'id' } } })
      // a view may have other types than its table
      const shown = await read({}, view)
      t.equal(JSON.stringify(found), JSON.stringify(rows.map(({ id, n }) =>
        ({ id, same: shown.filter((other) => other['n'] === n) }))), `of ${view} (seed ${seed})`)
    }
    let related = 0
    for (const [index, { declaration }] of columns.entries()) {
      const column = `c${index}`
      const answer = await post('every', {
        verb: 'select',
        columns: ['id'],
        orderBy: 'id',
        include: { same: { table: 'every', on: { [column]: column }, columns: ['id'] } }
      })
      if (answer.status === 400 && /cannot relate|has no index/.test(answer.text)) continue
      related++
      t.equal(answer.status, 200, `${declaration}: ${answer.text}`)
      const wanted = await Promise.all(rows.map(async ({ id }) => ({
        id,
        same: (await sql(
        `select o.id as id from every e, every o where e.id = ${String(id)} and o.${column} = e.${column} order by o.id`
        )).map((row) => ({ id: row.id }))
      })))
      t.same(answer.json.data?.rows, wanted, `${declaration} (seed ${seed})`)
      for (const view of ['seen', 'copied']) {
        const viewed = await post('every', {
          verb: 'select',
          columns: ['id'],
          orderBy: 'id',
          include: { same: { table: view, on: { [column]: column }, columns: ['id'], orderBy: 'id' } }
        })
        t.same(viewed.json.data?.rows, wanted, `${declaration} of ${view} (seed ${seed}): ${viewed.text.slice(0, 300)}`)
        const some = await post('every', {
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
  })
}
