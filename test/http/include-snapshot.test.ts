// night: alters and rebuilds tables while others read them
/** Members are of one state of the database while tables change. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { accounts } from '../support/accounts.ts'
import { onEachEngine } from '../support/service.ts'

await onEachEngine(t, 'while tables are altered, a member is as ' +
  'it was or as it is', { schema: accounts, only: ['mariadb', 'mysql'] }, async (t, { post, sql }) => {
  await sql('insert into entries values (1, 1), (1, 2), (2, 1)')
  const request = (column: string) => ({
    verb: 'select',
    columns: ['id'],
    orderBy: 'id',
    filters: { id: [1, 2] },
    include: {
      entries: { columns: [column] },
      one: { table: 'entries', on: { id: 'account_id' }, filters: { line: 1 }, columns: [column] }
    }
  })
  const rows = (column: string) => [{ id: 1, entries: [{ [column]: 1 }, { [column]: 2 }], one: { [column]: 1 } }, {
    id: 2, entries: [{ [column]: 1 }], one: { [column]: 1 }
  }]
  const read = async (): Promise<void> => {
    for (const column of ['line', 'row_no']) {
      const body = { ...request(column), include: { entries: { columns: [column] } } }
      const { status, json } = await post('accounts', body)
      if (status === 200) t.same(json.data.rows, rows(column).map(({ id, entries }) => ({ id, entries })))
      else {
        t.match({ status, code: json.error.code }, {
          status: /^(400|503)$/, code: /^(COLUMN_NOT_FOUND|DATABASE_UNAVAILABLE|INVALID_BODY)$/
        })
      }
    }
  }
  t.same((await post('accounts', request('line'))).json.data.rows, rows('line'))
  const state = { isOver: false }
  const altering = (async () => {
    for (let time = 0; time < 4; time++) {
      await sql('alter table entries rename column line to row_no')
      await sql('alter table entries add column extra int first')
      await sql('alter table entries drop column extra')
      await sql('alter table entries rename column row_no to line')
    }
    state.isOver = true
  })()
  do await read()
  while (!state.isOver)
  await altering
  // a type that another one relates to in another way
  await sql('alter table accounts modify n varchar(20) not null')
  await sql('alter table notes add index by_line (line)')
  for (let status = 0; status !== 400;) {
    const { status: sent, json } = await post('accounts', { verb: 'select', include: { notes: { on: { n: 'line' } } } })
    status = sent
    t.match(json.error?.code ?? '', /^(INVALID_BODY|DATABASE_UNAVAILABLE|)$/)
    if (status !== 400) await sleep(50)
  }
  for (let status = 0; status !== 200;) {
    const { status: sent, json } = await post('accounts', request('line'))
    status = sent
    if (status === 200) t.same(json.data.rows, rows('line'))
    else await sleep(50)
  }
})

await onEachEngine(t, 'a table that is rebuilt again and again is no ' +
  'broken definition', { schema: accounts, only: ['mariadb', 'mysql'] }, async (t, { post, sql }) => {
  const state = { isOver: false }
  const rebuilding = (async () => {
    for (let time = 0; time < 60; time++) await sql('alter table entries force')
    state.isOver = true
  })()
  const seen = new Set<string>()
  do {
    const { status, json } = await post('accounts', { verb: 'select', include: { entries: { columns: ['line'] } } })
    seen.add(status === 200 ? '200' : `${status} ${json.error.code}`)
  } while (!state.isOver)
  await rebuilding
  seen.delete('503 DATABASE_UNAVAILABLE')
  t.same([...seen], ['200'])
})
