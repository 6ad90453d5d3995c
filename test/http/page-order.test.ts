/** Pages where the order of the database is easily not that of its comparisons, or where its optimizer loses rows. */
import t from 'tap'
import { onEachEngine, type Schema, type Service } from '../support/service.ts'

/** The ids of all pages, one after the other. */
async function read ({ post }: Service, table: string, body: object, limit: number): Promise<unknown[]> {
  const ids: unknown[] = []
  for (let after: unknown = null, pages = 0; pages < 100; pages++) {
    const { status, json } = await post(table, { verb: 'select', columns: ['id'], limit, after, ...body })
    if (status !== 200) return [status, json.error]
    ids.push(...json.data.rows.map(({ id }: { id: unknown }) => id))
    after = json.data.next
    if (after === null) return ids
  }
  throw new Error('the pages do not end')
}

const COLLATIONS = ['utf8mb4_bin', 'utf8mb4_general_ci', 'utf8mb4_unicode_ci', 'latin1_swedish_ci', 'ascii_bin']
const texts: Schema = (engine) => {
  const columns = COLLATIONS.map((name, index) => `c${index} varchar(3000) ${engine === 'sqlite' ? '' : `character set ${name.split('_')[0]} collate ${name}`} not null`)
  const length = engine === 'sqlite' ? 'text' : 'text collate utf8mb4_general_ci'
  return [`create table urls (id int primary key, ${columns.slice(0, 2).join()}, long_text ${length} not null)`, `create table others (id int primary key, ${columns.slice(2).join()})`]
}

await onEachEngine(t, 'texts that differ after thousands of characters are in order, and come once', { schema: texts }, async (t, service) => {
  const prefix = 'p'.repeat(2500)
  for (const [index, letter] of [...'bacedBAhgfj'].entries()) {
    const text = prefix + letter
    await service.sql('insert into urls values (?, ?, ?, ?)', [index + 1, text, text, text])
    await service.sql('insert into others values (?, ?, ?, ?)', [index + 1, text, text, text])
  }
  for (const [table, column] of [['urls', 'c0'], ['urls', 'c1'], ['urls', 'long_text'], ['others', 'c2'], ['others', 'c3'], ['others', 'c4']] as const) {
    const last = (column === 'c1' || column === 'c2' || column === 'c3' || column === 'long_text') && service.engine !== 'sqlite'
    const byText = [...'bacedBAhgfj'].map((letter, index) => ({ letter: last ? letter.toLowerCase() : letter, id: index + 1 }))
      .sort((one, other) => one.letter < other.letter ? -1 : one.letter > other.letter ? 1 : one.id - other.id).map(({ id }) => id)
    for (const limit of [1, 2, 100]) {
      t.same(await read(service, table, { orderBy: column }, limit), byText, `${column}, ${limit} rows`)
      t.same((await read(service, table, { orderBy: `${column} DESC` }, limit)).toReversed(), byText, `${column} DESC, ${limit} rows`)
    }
    const groups = await service.post(table, { verb: 'select', groupBy: [column], aggregates: { n: { $count: '*' } }, orderBy: column, offset: 3, limit: 3 })
    t.match(groups.json.data.rows.map((row: Record<string, string>) => row[column]?.at(-1)?.toLowerCase()), last ? ['d', 'e', 'f'] : ['b', 'c', 'd'], 'groups')
  }
})

/** Rows with which MariaDB 10.11 loses those of a page: its plan is `range|filter`, by two indexes. */
const virtual: Schema = (engine) => [
  `create table shifts (id int primary key, a int, d datetime, g int generated always as (${engine === 'sqlite' ? 'a + 1' : '(a + 1)'}) virtual)`,
  'create index gd on shifts (g, d)', 'create index idd on shifts (d, id)', 'create index ab on shifts (a)',
  `insert into shifts (id, a, d) values ${Array.from({ length: 90 }, (_, index) => `(${index + 1}, ${['null', 0, 1, 2][at(2 * index)]}, ${['null', "'2020-01-01 00:00:00'", "'2021-01-01 00:00:00'", "'2020-06-01 10:00:00'"][at(2 * index + 1)]})`).join()}`
]

/** One digit, from 0 to 3, for the value of a row. */
const DIGITS = '121030013103313312012110323101100001013030320210012300022211020012010330033121231312020001130023201001200032213312020030221003021303301101230221303112332303010132312120003220012133'
const at = (index: number): number => Number(DIGITS[index])

await onEachEngine(t, 'a page over an index that begins with a virtual column has its rows', { schema: virtual }, async (t, service) => {
  const body = { filters: { g: 1, a: 0 }, orderBy: 'g, d' }
  const all = (await service.sql('select id from shifts where a = 0 order by d, id')).map(({ id }) => id)
  t.ok(all.length > 10)
  for (const limit of [1, 5, 100]) t.same(await read(service, 'shifts', body, limit), all, `${limit} rows`)
})

const members: Schema = () => [
  "create table moods (id int primary key, v enum('new', '😀', '😁', 'done') not null, s set('😀', 'q', '😁') not null) collate utf8mb4_bin",
  "insert into moods values (1, '😀', '😀'), (2, '😁', '😁'), (3, 'new', '😀,😁'), (4, 'done', 'q')"
]

await onEachEngine(t, 'an ENUM with members that the server shows alike cannot be in the order of pages, and a SET can have both', { schema: members, only: ['mariadb', 'mysql'] }, async (t, { post }) => {
  const after = await post('moods', { verb: 'select', orderBy: 'v', after: null })
  t.match(after, { status: 400, json: { error: { code: 'INVALID_ORDER_BY', details: [{ path: '/orderBy' }] } } })
  t.match(await post('moods', { verb: 'select', orderBy: 'v', columns: ['id'], offset: 1 }), { status: 200, json: { data: { rows: [{ id: 1 }, { id: 2 }, { id: 4 }] } } })
  t.match(await post('moods', { verb: 'select', orderBy: 'id', after: null }), { status: 200, json: { data: { count: 4 } } })
  t.match(await post('moods', { verb: 'insert', data: { id: 5, v: 'new', s: ['😀', '😁'] } }), { status: 200 })
  t.match(await post('moods', { verb: 'insert', data: { id: 6, v: 'new', s: ['😀', '😀'] } }), { status: 400 })
})

await onEachEngine(t, 'an index of the values in lists was once read in order, although it has no entry for an empty list', {
  schema: () => [
    'create table notes (id int primary key, tenant int not null, tags json, key a_tagged (tenant, id, (cast(tags as unsigned array))), key b_plain (tenant, id))',
    "insert into notes values (1, 1, '[]'), (2, 1, '[1, 2, 3]'), (3, 2, '[]'), (4, 1, null), (5, 1, '5'), (6, 1, '[]')"
  ],
  only: ['mysql']
}, async (t, service) => {
  for (const limit of [1, 2, 5]) {
    t.same(await read(service, 'notes', { filters: { tenant: 1 } }, limit), [1, 2, 4, 5, 6])
    t.same(await read(service, 'notes', { filters: { tenant: 1 }, orderBy: 'id DESC' }, limit), [6, 5, 4, 2, 1])
  }
})
