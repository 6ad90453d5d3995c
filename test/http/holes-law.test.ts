/** Plans with holes over HTTP: a value from elsewhere is the value, and no request gets that of another one. */
import fc from 'fast-check'
import t from 'tap'
import { drawnOf, prepareLaw, schema } from '../fuzz/holes-http.ts'
import { tokenFor } from '../grants/support.ts'
import { anyEngine } from '../support/rotation.ts'
import { onEachEngine } from '../support/service.ts'
import { seed } from '../support/seed.ts'

await onEachEngine(t, 'bodies with references and parameters answer ' +
  'as with the values', { schema, only: await anyEngine(t) }, async (t, service) => {
  const { tables, seen, hold } = await prepareLaw(t, service)
  for (const [index, table] of tables.entries()) {
    await hold(table, fc.sample(drawnOf(table), { seed: seed + index, numRuns: 40 / tables.length }))
  }
  t.comment([...seen].map((each) => each.join(' ')).join(', '))
  const answered = [...seen].filter(([what]) => what.endsWith('answered'))
  t.ok(answered.length > 1 && ['references', 'calls compared by statements'].every((what) => (seen.get(what) ?? 0) > 9))
})

const TENANTS = 4
const IDS = 25
const rows = Array.from({ length: TENANTS * IDS }, (_, index) => `(${index}, ${index % TENANTS}, 'note ${index}')`)
const tenantToken = (tenant: number): string => `token-of-tenant-${tenant}`
const tokens = Array.from({ length: TENANTS }, (_, tenant) =>
  tokenFor(tenantToken(tenant), { notes: { rows: { tenant: { $claim: '/tenant' } } } }, { tenant }))

await onEachEngine(t, 'requests of one shape at once, of callers with other claims, on one session, ' +
  'have their own values', {
  schema: () => [
    'create table notes (id integer primary key, tenant int not null, note varchar(40) not null)',
    `insert into notes values ${rows.join()}`
  ],
  database: { pool: { size: 1, queue: 1000, wait: 60_000 } },
  tokens
}, async (t, { post, operate, sql }) => {
  const all = Array.from(
    { length: 200 }, (_, index) => ({ id: index % rows.length, tenant: Math.floor(index / 3) % TENANTS })
  )
  const answers = await Promise.all(all.map(({ id, tenant }) =>
    post('notes', { verb: 'select', filters: { id }, columns: ['id', 'note'] }, { token: tenantToken(tenant) })))
  t.same(answers.map(({ json }) => json.data?.rows), all.map(
    ({ id, tenant }) => id % TENANTS === tenant ? [{ id, note: `note ${id}` }] : []
  ))
  const writes = await Promise.all(all.map(({ id, tenant }) => operate([
    { table: 'notes', verb: 'select', filters: { id, tenant }, columns: ['id'] },
    {
      table: 'notes',
      verb: 'update',
      filters: { id: id % TENANTS === tenant ? { $ref: '/0/rows/0/id' } : id },
      data: { note: `of ${tenant}: ${id}` }
    }
  ], { token: tenantToken(tenant) })))
  t.same(writes.filter(({ status }) => status !== 200).map(({ text }) => text), [])
  const written = new Set(all.filter(({ id, tenant }) => id % TENANTS === tenant).map(({ id }) => id))
  const stored = await sql('select id, note from notes order by id')
  t.same(stored.map(({ note }) => note), stored.map(
    ({ id }) => written.has(Number(id)) ? `of ${Number(id) % TENANTS}: ${id}` : `note ${id}`
  ))
})
