// night: sorts nine thousand texts in each of up to 1,241 collations of a server
/** Compares the list of collations that sort in another way than they compare with all collations of the servers. */
import t from 'tap'
import { keepsOrder } from '../../src/types/text.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { createRandom, pick } from '../support/random.ts'

/** On the list because of another server. */
const ORDERED_HERE: Readonly<Record<string, readonly string[]>> = {
  mariadb: ['euckr_korean_ci', 'tis620_thai_ci'], mysql: []
}

const random = createRandom(43)

/**
 * Blocks of characters with weights, contractions or gaps of their own: controls, ASCII, Latin, Thai, Arabic, Chinese,
 * Korean, punctuation.
 */
const BLOCKS: ReadonlyArray<readonly [first: number, size: number]> = [
  [0, 0x20], [0, 0x20], [0x20, 0x60], [0x20, 0x60], [0x80, 0x80], [0x100, 0x500], [0xe00, 0x80], [0x600, 0x100],
  [0x3000, 0x100], [0x4e00, 0x5000], [0xac00, 0x2b00], [0x2500, 0x400], [0xe000, 0x800]
]
const character = (): number => {
  const [first, size] = pick(random, BLOCKS)
  return first + random(size)
}

const TEXTS = [
  ...Array.from({ length: 0x700 }, (_, code) => [code]),
  ...[0x61, 0x669].flatMap((first) => Array.from({ length: 0x100 }, (_, code) => [first, code])),
  ...Array.from({ length: 0xd7ff - 0x2000 }, (_, index) => [0x2000 + index]).filter((_, index) => index % 7 === 0),
  ...Array.from({ length: 1500 }, () => [0x61, character()]),
  ...Array.from({ length: 4000 }, () => Array.from({ length: 1 + random(4) }, character))
]

for (const engine of await engines()) {
  t.test(`exactly the listed collations sort in another way than they compare (${engine.name})`, async (t) => {
    const { query, drop } = await createTestDatabase(engine, [
      'set sql_mode = \'\'', `set max_sort_length = ${engine.name === 'mariadb' ? 65536 : 16384}`,
      'create table texts (id int auto_increment primary key, v varchar(8) collate utf8mb4_bin)'
    ])
    t.teardown(drop)
    const hex = (text: readonly number[]): string =>
      `(_utf32 x'${text.map((code) => code.toString(16).padStart(8, '0')).join('')}')`
    await query(`insert into texts (v) values ${TEXTS.map(hex).join()}`)
    const collations = await query(engine.name === 'mariadb'
      ? 'select full_collation_name as name, character_set_name as charset from ' +
        'information_schema.collation_character_set_applicability order by 1'
      : 'select collation_name as name, character_set_name as charset from ' +
        'information_schema.collations order by 1') as Array<{ name: string, charset: string }>
    const disordered: string[] = []
    const byCharset = Map.groupBy(collations.filter(({ name }) => name !== 'binary'), ({ charset }) => charset)
    for (const [charset, names] of byCharset) {
      await query('drop table if exists kept')
      await query(`create table kept (id int auto_increment primary key, v varchar(8) character set ${charset})`)
      await query(
        `insert into kept (v) select convert(v using ${charset}) from texts where binary convert(convert(v using
          ${charset}) using utf8mb4) = binary v order by id desc`
      )
      for (const { name } of names) {
        const sorted =
          `select v, id, lag(v) over (order by v, id) as p, lag(id) over (order by v,
            id) as pid from (select v collate ${name} as v, id from kept) as given`
        const [{ n }] = await query(
          `select count(*) as n from (${sorted}) as sorted where p > v or (p = v and pid > id)`
        ) as [{ n: number }]
        if (n > 0) disordered.push(name)
      }
    }
    t.ok(collations.length > 200)
    const listed = collations.map(({ name }) => name).filter(
      (name) => !keepsOrder(name) && ORDERED_HERE[engine.name]?.includes(name) !== true
    )
    t.same(disordered.sort(), listed.sort())
  })
}
