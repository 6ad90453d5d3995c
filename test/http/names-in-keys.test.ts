/** Tables whose names differ only in letter case, as MySQL and MariaDB have them on Linux. */
import t from 'tap'
import { tokenFor } from '../grants/support.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine } from '../support/service.ts'

const schema = {
  sqlite: [],
  mysql: [
    'create table docs (id int not null primary key, kind varchar(5) not null)',
    'create table Docs (id int not null primary key, kind varchar(5) not null)',
    'create table notes (id int not null primary key, doc_id int not null, constraint to_doc foreign key (doc_id) ' +
      'references Docs (id))',
    "insert into docs values (1, 'small'), (3, 'small')",
    "insert into Docs values (1, 'large'), (2, 'large')",
    'insert into notes values (10, 1), (20, 2)'
  ]
}

/** Sees only the rows of `docs` whose kind is `none`, and all others. */
const narrow = tokenFor('narrow', { notes: {}, Docs: {}, docs: { rows: { kind: 'none' } } })

await onEachEngine(t, 'a foreign key to `Docs` is no ' +
  'relation to `docs`', { schema, only: ['mariadb', 'mysql'], tokens: [narrow] }, async (t, { post }) => {
  const related = async (table: string) => await post('notes', {
    verb: 'select', columns: ['id'], orderBy: 'id', include: { doc: { table, columns: ['kind'] } }
  })
  t.same((await related('Docs')).json.data.rows, [
    { id: 10, doc: { kind: 'large' } }, { id: 20, doc: { kind: 'large' } }
  ])
  isRefusal(t, await related('docs'), { status: 400, code: 'INVALID_BODY', why: 'include' })
  const some = async (table: string) => await post('notes', {
    verb: 'select', columns: ['id'], filters: { $some: { doc: { table, filters: { kind: 'large' } } } }
  })
  t.equal((await some('Docs')).json.data.count, 2)
  isRefusal(t, await some('docs'), { status: 400, code: 'INVALID_BODY', why: '$some' })
  const from = async (table: string) => await post(table, { verb: 'select', columns: ['id'], include: { notes: {} } })
  t.equal((await from('Docs')).status, 200)
  isRefusal(t, await from('docs'), { status: 400, code: 'INVALID_BODY', why: 'in the other direction' })
  const written = await post('notes', { verb: 'insert', data: { id: 30, doc_id: 2 } }, { token: 'narrow' })
  t.equal(written.status, 200, 'the rules of `docs` do not hold for a key to `Docs`')
})
