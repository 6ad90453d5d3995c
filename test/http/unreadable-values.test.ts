/** Values that the service cannot write: those that ALTER TABLE fills in, and those that other programs have stored. */
import t from 'tap'
import { onEachEngine } from '../support/service.ts'

const select = { verb: 'select', orderBy: 'id' }

await onEachEngine(t, 'empty texts in a new JSON column on MariaDB once made the answer invalid JSON', { only: ['mariadb'], schema: () => ['create table docs (id int not null primary key)', 'insert into docs values (1), (2)', 'alter table docs add j json not null'] }, async (t, { post }) => {
  t.same((await post('docs', { verb: 'update', data: { j: { a: 1 } }, filters: { id: 2 } })).json.data, { updated: 1 })
  const { status, json } = await post('docs', select)
  t.equal(status, 200)
  t.strictSame(json.data.rows, [{ id: 1, j: '' }, { id: 2, j: { a: 1 } }])
})

const texts = ['1.', '1.e5', '"\\x41"', '"\\q"', '"\\ud800"', '[1,2]', '{"a": 1.50}', '"plain"', '1e400', `"${'x'.repeat(2000)}"`, `[${'['.repeat(200)}${']'.repeat(200)}]`, '{"a":1,"a":2}', '1,"admin":true']
await onEachEngine(t, 'text that json_valid wrongly accepts as JSON is returned as a string', { only: ['mariadb'], schema: () => ['create table docs (id int not null primary key, j json null)'] }, async (t, { post, sql }) => {
  await sql('set session check_constraint_checks = 0')
  for (const [id, text] of texts.entries()) await sql('insert into docs values (?, ?)', [id, text])
  const { text: answer, json } = await post('docs', select)
  t.strictSame(json.data.rows.slice(0, 5).map(({ j }: { j: unknown }) => j), texts.slice(0, 5))
  t.strictSame(json.data.rows[12].j, '1,"admin":true')
  for (const [id, text] of texts.slice(5, 12).entries()) t.ok(answer.includes(`{"id":${id + 5},"j":${text}}`), text.slice(0, 20))
})

await onEachEngine(t, 'an empty geometry from ALTER TABLE once ended the connection; it is null', { only: ['mariadb'], schema: () => ['create table places (id int not null primary key)', 'insert into places values (1), (2)', 'alter table places add p point not null', 'alter table places add g geometry not null'] }, async (t, { post }) => {
  const point = { type: 'Point', coordinates: [1, 2] }
  t.same((await post('places', { verb: 'update', data: { p: point, g: point }, filters: { id: 2 } })).json.data, { updated: 1 })
  const { status, json } = await post('places', select)
  t.equal(status, 200)
  t.strictSame(json.data.rows, [{ id: 1, p: null, g: null }, { id: 2, p: point, g: point }])
})

await onEachEngine(t, 'an empty VECTOR from ALTER TABLE was once returned as [], which cannot be written; it is null', { only: ['mysql'], schema: () => ['create table points (id int not null primary key)', 'insert into points values (1), (2)', 'alter table points add v vector(3) not null'] }, async (t, { post, sql }) => {
  await sql("update points set v = to_vector('[1,2,3]') where id = 2")
  const { status, json } = await post('points', select)
  t.equal(status, 200)
  t.strictSame(json.data.rows, [{ id: 1, v: null }, { id: 2, v: [1, 2, 3] }])
})

/** Invalid geometries: an SRID, a byte order and a type, followed by nothing or by too many bytes. */
const broken = ['000000000101000000', '00000000', '0000000001010000000000000000000000', '00000000010200000000FFFF7F', '0000000001E9030000000000000000F03F0000000000000040', '000000000101000000000000000000F07F0000000000000040']
await onEachEngine(t, 'a geometry that cannot be decoded was once treated as a lost connection; the error names its column, and the connection stays in use', {
  only: ['mariadb'], schema: () => ['create table places (id int not null primary key, g geometry null, h geometry null)', "insert into places (id, h) values (1, st_geomfromtext('POINT(1 2)'))"], database: { pool: { size: 1 } }
}, async (t, { post, sql, proxy }) => {
  for (const hex of broken) {
    const stored = await sql(`update places set g = x'${hex}' where id = 1`).then(() => true, () => false)
    if (!stored) continue
    proxy?.statements.splice(0)
    const { status, headers, json } = await post('places', select)
    t.equal(status, 422, hex)
    t.match(json.error, { code: 'UNREADABLE_VALUE', message: /column "g"/, details: [] })
    t.equal(headers['retry-after'], undefined)
    t.equal(proxy?.statements.length, 1, 'it is not sent again, and no connection is set up anew')
    t.same((await post('places', { verb: 'select', columns: ['id', 'h'] })).json.data.rows, [{ id: 1, h: { type: 'Point', coordinates: [1, 2] } }])
  }
})

await onEachEngine(t, 'a VECTOR with an entry that is not a number names its column', { only: ['mysql'], schema: () => ['create table points (id int not null primary key, v vector(3) null)', 'insert into points values (1, null)'] }, async (t, { post, sql }) => {
  const stored = await sql("update points set v = x'0000C07F0000803F' where id = 1").then(() => true, () => false)
  const { status, json } = await post('points', select)
  t.equal(status, stored ? 422 : 200)
  if (stored) t.match(json.error, { code: 'UNREADABLE_VALUE', message: /column "v"/ })
})
