import t from 'tap'
import { onEachEngine } from '../support/service.ts'

const grant = { permissions: ['select' as const, 'insert' as const] }

await onEachEngine(t, 'a misspelt option of a request in process is refused, and the one that is meant is named', { schema: () => ['create table items (id int primary key)'] }, async (t, { server: { rows }, sql }) => {
  const insert = { table: 'items', grant, body: { verb: 'insert', data: { id: 1 } } }
  const request = { database: 'shop', ...insert }
  await t.rejects(rows.execute({ ...request, dryrun: true } as never), { code: 'INVALID_BODY', message: '"dryrun" is not an option of execute; the options are database, table, body, grant, bigints, consistency' })
  await t.rejects(rows.execute({ ...request, consistancy: 'primary' } as never), { message: '"consistancy" is not an option of execute; did you mean "consistency"?' })
  const use = async (tx: { execute: (each: any) => Promise<unknown> }): Promise<unknown> => await tx.execute(insert)
  await t.rejects(rows.transaction('shop', use, { dryrun: true } as never), { code: 'INVALID_BODY', message: '"dryrun" is not an option of transaction; did you mean "dryRun"?' })
  await t.rejects(rows.transaction('shop', async (tx) => await tx.execute({ ...insert, database: 'shop' } as never)), { message: '"database" is not an option of execute in a transaction; the options are table, body, grant, bigints' })
  t.same(await sql('select id from items'), [], 'nothing was written')
  await rows.transaction('shop', use, { dryRun: true, isolation: 'serializable' })
  t.same(await sql('select id from items'), [])
})
