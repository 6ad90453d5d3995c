// night: answers of twenty thousand rows
/**
 * The memory that members need beside the bytes of their answer: the places of lists in rows, and the values by which
 * rows are related.
 */
import t from 'tap'
import { onEachEngine } from '../support/service.ts'

const MEGABYTE = 1_048_576
/** Related rows of the one row that is asked for. */
const CHILDREN = 20_000

/** Rows of each parent. */
const EACH = 1000
const schema = {
  mysql: [
    'create table parents (id int primary key)',
    'create table children (id int primary key, parent_id int not null, foreign key (parent_id) ' +
      'references parents (id))',
    'create table parts (id int primary key, child_id int not null, foreign key (child_id) references children (id))'
  ],
  sqlite: [
    'create table parents (id integer primary key)',
    'create table children (id integer primary key, parent_id integer not null references parents (id))',
    'create table parts (id integer primary key, child_id integer not null references children (id))',
    'create index children_parents on children (parent_id)', 'create index parts_children on parts (child_id)'
  ]
}

await onEachEngine(t, 'an answer whose members need more memory than all answers may have is too large, ' +
  'although it has few bytes', {
  schema, options: { limits: { answerMemory: 4 * MEGABYTE } }, database: { statementTimeout: 60_000 }
}, async (t, { post, sql }) => {
  for (let parent = 1; parent <= CHILDREN / EACH; parent++) {
    await sql(`insert into parents values (${parent})`)
    await sql('insert into children (id, parent_id) values ' +
      Array.from({ length: EACH }, (_, id) => `(${parent * EACH + id}, ${parent})`).join())
  }
  const ask = (limit: number) => post('parents', {
    verb: 'select', limit, include: { children: { columns: ['id'], limit: EACH, include: { parts: {} } } }
  })
  const few = await ask(2)
  t.match(few, { status: 200 })
  t.equal(few.json.data.rows[1].children.length, EACH)
  t.ok(few.text.length * CHILDREN / EACH / 2 < MEGABYTE, 'the bytes of all of them would have room')
  for (let each = 0; each < 3; each++) {
    t.match(await ask(1000), { status: 422, json: { error: { code: 'RESULT_TOO_LARGE' } } })
  }
  t.match(await ask(2), { status: 200 }, 'the memory is released')
})

const byText = {
  mysql: [
    'create table sites (id int primary key)',
    'create table visits (id int primary key, site_id int not null, url varchar(2000) not null, key (site_id)) ' +
      'row_format = dynamic',
    'create table pages (id int primary key, url varchar(2000) not null, key (url(100))) row_format = dynamic'
  ],
  sqlite: [
    'create table sites (id integer primary key)',
    'create table visits (id integer primary key, site_id integer not null, url varchar(2000) not null)',
    'create table pages (id integer primary key, url varchar(2000) not null)',
    'create index visits_sites on visits (site_id)', 'create index pages_urls on pages (url)'
  ]
}

await onEachEngine(t, 'long texts by which rows are related count with their bytes', {
  schema: byText, options: { limits: { answerMemory: 4 * MEGABYTE } }, database: { statementTimeout: 60_000 }
}, async (t, { post, sql }) => {
  await sql('insert into sites values (1)')
  await sql('insert into visits values ' +
    Array.from({ length: EACH }, (_, id) => `(${id}, 1, '${String(id).padEnd(2000, 'x')}')`).join())
  const ask = (limit: number) => post('sites', {
    verb: 'select',
    include: {
      visits: {
        on: { id: 'site_id' },
        columns: ['id'],
        orderBy: 'id',
        limit,
        include: { pages: { on: { url: 'url' }, aggregates: { n: { $count: '*' } } } }
      }
    }
  })
  const few = await ask(10)
  t.match(few.json.data?.rows[0].visits[9], { id: 9, pages: { n: 0 } }, few.text.slice(0, 200))
  for (let each = 0; each < 3; each++) {
    t.match(await ask(EACH), { status: 422, json: { error: { code: 'RESULT_TOO_LARGE' } } })
  }
  t.match(await ask(10), { status: 200 }, 'the memory is released')
})
