/** `$case`: filters that ignore the letter case of texts. */
import t from 'tap'
import { countReadRows } from '../support/read-rows.ts'
import { useEachEngine } from '../support/rotation.ts'
import { type EngineName, onEachEngine } from '../support/service.ts'

useEachEngine(t)

const TEXTS = [
  'Bell', 'BELL', 'bell', 'béll', 'Straße', 'STRASSE', 'Σ', 'σ', 'ς', 'İ', 'i', 'Æ', 'ae', 'a%B', 'A_b', 'x'
]
const values = (row: (text: string, id: number) => string): string =>
  TEXTS.map((text, index) => row(`'${text}'`, index + 1)).join()
const MANY = 'insert into many values ' +
  Array.from({ length: 1000 }, (_, index) => `(${index + 1}, 'N${index + 1}')`).join()
const LANGS = "insert into langs values ('en', 1), ('EN', 1), ('de', 1)"

const schema = (engine: EngineName): string[] => engine === 'sqlite'
  ? [
      `create table words (
        id integer primary key, bin varchar(10), ci varchar(10) collate nocase, trimmed varchar(10) collate rtrim, n int
      )`,
      'create index ci on words (ci)',
      'insert into words (id, bin, ci, trimmed) values ' +
        values((text, id) => `(${id}, ${text}, ${text}, ${text} || '  ')`),
      'insert into words (id, n) values (17, 1)',
      "insert into words (id, bin, ci) values (18, 5, 5), (19, x'62656C6C', null)",
      'create table many (id integer primary key, name text)', 'create index lower_name on many (lower(name))',
      MANY,
      'create table langs (code varchar(5) not null, word_id int not null, primary key (word_id, code))',
      LANGS
    ]
  : [
      `create table words (
        id int primary key, bin varchar(10) collate utf8mb4_bin, ci varchar(10) collate utf8mb4_general_ci,
        cs varchar(10) collate ${engine === 'mysql' ? 'utf8mb4_0900_as_cs' : 'utf8mb4_bin'},
        latin varchar(10) character set latin1 collate latin1_general_cs, n int, note text collate utf8mb4_bin,
        key ci (ci)) default charset=utf8mb4`,
      'insert into words (id, bin, ci, cs, note) values ' +
        values((text, id) => `(${id}, ${text}, ${text}, ${text}, ${text})`),
      'update words set latin = bin where id not in (7, 8, 9, 10)', 'insert into words (id, n) values (17, 1)',
      'create table many (id int primary key, name varchar(10) collate utf8mb4_bin' +
        `${engine === 'mysql' ? ', key lower_name ((lower(name)))' : ''})`,
      MANY,
      'analyze table many',
      `create table langs (
        code varchar(5) collate utf8mb4_bin not null, word_id int not null, primary key (word_id, code))`,
      LANGS
    ]

const ignore = (operators: object): object => ({ ...operators, $case: 'ignore' })

await onEachEngine(t, '$case ignores the letter case of texts', { schema }, async (t, service) => {
  const { engine, post, sql, statements, operate } = service
  const isSqlite = engine === 'sqlite'
  const found = async (filters: object, more: object = {}): Promise<unknown> => {
    const { json, text } = await post('words', { verb: 'select', columns: ['id'], orderBy: 'id', filters, ...more })
    return json.error === undefined ? json.data.rows.map(({ id }: { id: number }) => id) : text
  }
  const table: Array<[filters: object, ids: number[]]> = [
    [{ bin: ignore({ $eq: 'bELL' }) }, [1, 2, 3]], [{ bin: 'bELL' }, []], [{ bin: ignore({ $eq: 'BéLL' }) }, [4]],
    [{ bin: ignore({ $in: ['BELL', 'X', null] }) }, [1, 2, 3, 16, 17]],
    [{ bin: ignore({ $ne: 'bell', $startsWith: 'B' }) }, [4]], [
      { bin: ignore({ $nin: ['bell', 'BÉLL'], $contains: 'ELL' }) }, []
    ], [{ bin: ignore({ $like: 'B_LL' }) }, [1, 2, 3, 4]], [{ bin: ignore({ $nlike: 'B%', $contains: 'L' }) }, []],
    [{ bin: ignore({ $contains: 'A%b' }) }, [14]], [{ bin: ignore({ $startsWith: 'a_' }) }, [15]], [
      { bin: ignore({ $like: 'A\\%B' }) }, [14]
    ], [{ bin: ignore({ $eq: 'STRASSE' }) }, [6]], [{ bin: ignore({ $eq: 'AE' }) }, [13]],
    [{ ci: ignore({ $eq: 'BELL' }) }, isSqlite ? [1, 2, 3] : [1, 2, 3, 4]], [
      { ci: ignore({ $contains: 'ELL' }) }, isSqlite ? [1, 2, 3] : [1, 2, 3, 4]
    ], [{ ci: ignore({ $like: 'bEL_' }) }, isSqlite ? [1, 2, 3] : [1, 2, 3, 4]], [
      { ci: ignore({ $nlike: 'bEL_', $startsWith: 'B' }) }, isSqlite ? [4] : []
    ], [{ ci: ignore({ $startsWith: 'A\\%b' }) }, []], [{ ci: ignore({ $startsWith: 'A%b' }) }, [14]], [
      { ci: ignore({ $like: 'A\\%b' }) }, [14]
    ], [{ $not: { ci: ignore({ $nlike: 'X' }) } }, [16]], [{ $not: { bin: ignore({ $ne: 'BELL' }) } }, [1, 2, 3]],
    [{ bin: ignore({ $eq: null }) }, [17]], [{ bin: ignore({ $eq: 'much longer than it may be' }) }, []],
    [{ $or: [{ bin: ignore({ $eq: 'X' }) }, { n: 1 }] }, [16, 17]],
    // the rest is as the collation and the functions of the database have it
    ...isSqlite
      ? [
          [{ bin: ignore({ $eq: 'ς' }) }, [9]], [{ bin: ignore({ $eq: 'Σ' }) }, [7]],
          [{ trimmed: ignore({ $eq: 'BELL' }) }, [1, 2, 3]], [{ bin: ignore({ $eq: '5' }) }, [18]]
        ] as Array<[object, number[]]>
      : [
          [{ bin: ignore({ $eq: 'Σ' }) }, [7, 8]], [{ bin: ignore({ $eq: 'ς' }) }, [9]],
          [{ latin: ignore({ $eq: 'BELL' }) }, [1, 2, 3]], [{ latin: ignore({ $eq: 'STRAßE' }) }, [5]],
          [{ cs: ignore({ $in: ['BELL', 'BÉLL'] }) }, [1, 2, 3, 4]], [{ note: ignore({ $contains: 'TRASS' }) }, [6]]
        ] as Array<[object, number[]]>
  ]
  for (const [filters, ids] of table) t.same(await found(filters), ids, JSON.stringify(filters))

  await t.test('wherever filters select or change rows', async (t) => {
    t.same((await post('words', {
      verb: 'select', groupBy: ['bin'], having: { bin: ignore({ $eq: 'BELL' }) }, orderBy: 'bin'
    })).json.data.rows, [{ bin: 'BELL' }, { bin: 'Bell' }, { bin: 'bell' }])
    t.same((await post('words', {
      verb: 'select',
      aggregates: {
        n: { $count: '*', filters: { bin: ignore({ $eq: 'BELL' }) } }, least: { $min: 'bin', filters: { bin: 'x' } }
      },
      having: { least: ignore({ $in: ['X'] }) }
    })).json.data.rows, [{ n: 3, least: 'x' }])
    t.same((await post('words', {
      verb: 'update', filters: { bin: ignore({ $eq: 'BELL' }) }, data: { n: 2 }, expect: 3, dryRun: true
    })).json.data, { updated: 3, dryRun: true })
    t.same((await post('words', {
      verb: 'delete', filters: { bin: ignore({ $startsWith: 'BELL' }) }, dryRun: true
    })).json.data, { deleted: 3, dryRun: true })
    const { json } = await operate([{ table: 'words', verb: 'select', filters: { id: 2 } }, {
      table: 'words',
      verb: 'select',
      columns: ['id'],
      filters: { bin: ignore({ $eq: { $ref: '/0/rows/0/bin' } }) },
      orderBy: 'id'
    }])
    t.same(json.data.results?.[1].rows, [{ id: 1 }, { id: 2 }, { id: 3 }])
  })

  await t.test('texts that differ in letter case are several rows', async (t) => {
    const include = (code: unknown) => ({
      langs: { on: { id: 'word_id' }, columns: ['code'], filters: { code }, orderBy: undefined }
    })
    t.same((await post('words', {
      verb: 'select', columns: ['id'], filters: { id: 1 }, include: include('en')
    })).json.data.rows, [{ id: 1, langs: { code: 'en' } }])
    t.same((await post('words', {
      verb: 'select', columns: ['id'], filters: { id: 1 }, include: include(ignore({ $eq: 'en' }))
    })).json.data.rows, [{ id: 1, langs: [{ code: 'EN' }, { code: 'en' }] }])
    t.same(await found({
      $some: { langs: { on: { id: 'word_id' }, filters: { code: ignore({ $eq: 'En' }) }, count: 2 } }
    }), [1])
  })

  await t.test('by an index of the column where its collation ignores letter case already, else by ' +
    'one of the function', async (t) => {
    statements()
    await found({ ci: ignore({ $eq: 'BELL' }) })
    t.notMatch(statements().join(), /lower/i)
    await post('many', { verb: 'select', filters: { name: ignore({ $eq: 'n77' }) } })
    const [statement = ''] = statements().filter((text) => text.includes('many') && text.includes('lower('))
    if (isSqlite) {
      t.match(JSON.stringify(await sql(`explain query plan ${statement.replaceAll('?', "'n77'")}`)), /lower_name/)
    }
    if (engine !== 'mysql') return
    t.equal((await sql(statement)).length, 1)
    t.ok(await countReadRows(sql, [statement]) < 5, statement)
  })
})
