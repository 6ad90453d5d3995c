import t from 'tap'
import { loadCatalog } from '../support/catalog.ts'
import { onEachEngine, type Schema } from '../support/service.ts'

const FEW = 3
const MANY = 60

const table = (index: number): string => `create table t${index} (id int not null primary key, a int null references t${index} (id), b varchar(5) null, unique (a, b))`
const schema: Schema = { mysql: Array.from({ length: FEW }, (_, index) => table(index)), sqlite: [] }

await onEachEngine(t, 'reading the catalog takes a fixed number of queries', { schema, only: ['mariadb', 'mysql'] }, async (t, { proxy, url, sql }) => {
  const asked = async (): Promise<string[]> => {
    proxy?.statements.splice(0)
    await loadCatalog(url)
    return proxy?.statements.splice(0) ?? []
  }
  const few = await asked()
  for (let index = FEW; index < MANY; index++) await sql(table(index))
  await sql('create view v as select * from t0')
  const many = await asked()
  t.equal((await loadCatalog(url)).tables.size, MANY + 1)
  t.same(many, few)
  t.ok(many.length <= 12, `${many.length} statements`)
})

await onEachEngine(t, 'columns with the same declaration share their type object, in all tables', { schema, only: ['mariadb', 'mysql'] }, async (t, { url }) => {
  const { tables } = await loadCatalog(url)
  const types = (column: string) => new Set(Array.from(tables.values(), ({ columns }) => columns.get(column)?.type))
  t.equal(types('a').size, 1)
  t.same(types('a'), types('id'))
  t.equal(new Set([...types('a'), ...types('b')]).size, 2)
})

await onEachEngine(t, 'the servers\' own databases cannot be reached', { schema: { mysql: ['create table t (a int null)'], sqlite: ['create table t (a integer primary key autoincrement)'] } }, async (t, { post, statements }) => {
  statements()
  for (const database of ['mysql', 'information_schema', 'performance_schema', 'sys', 'main', 'temp']) {
    const { status, json } = await post('user', { verb: 'select' }, { database })
    t.equal(status, 404)
    t.equal(json.error.code, 'DATABASE_NOT_FOUND')
  }
  for (const name of ['mysql.user', 'information_schema.TABLES', '../mysql/user', 'sqlite_schema', 'sqlite_sequence', 'main.t']) {
    const { status, json } = await post(name, { verb: 'select' })
    t.equal(status, 404, name)
    t.equal(json.error.code, 'TABLE_NOT_FOUND', name)
  }
  t.same(statements(), [])
})
