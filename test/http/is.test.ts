// night: many random cases
/** `$is` compares texts byte by byte in every collation. */
import fc from 'fast-check'
import t from 'tap'
import { seed } from '../support/seed.ts'
import { onEachEngine, type EngineName } from '../support/service.ts'

const everywhere = [
  'char(20) collate utf8mb4_general_ci', 'varchar(20) collate utf8mb4_general_ci', 'varchar(20) collate utf8mb4_unicode_520_ci', 'text collate utf8mb4_unicode_ci', 'varchar(20) collate utf8mb4_bin',
  'varchar(20) character set latin1 collate latin1_swedish_ci', 'varchar(20) character set latin1 collate latin1_german2_ci', 'varchar(20) character set utf8mb3 collate utf8mb3_general_ci',
  'varchar(20) character set utf16 collate utf16_unicode_ci', 'varchar(20) character set sjis', 'varchar(20) character set cp932', 'varchar(20) character set koi8r', 'varchar(20) character set gbk', 'char(20) character set ascii'
]
const columns: Readonly<Record<EngineName, readonly string[]>> = {
  mysql: [...everywhere, 'varchar(20) collate utf8mb4_0900_ai_ci', 'varchar(20) collate utf8mb4_ja_0900_as_cs'],
  mariadb: [...everywhere, 'varchar(20) collate utf8mb4_uca1400_ai_ci', 'varchar(20) collate utf8mb4_unicode_520_nopad_ci'],
  sqlite: ['text', 'varchar(20) collate nocase', 'char(20) collate rtrim', 'text collate binary']
}

/** Texts that some collation treats as equal. */
const alike = [
  'acme', 'ACME', 'Acme', 'ácme', 'acme ', 'acme  ', ' acme', 'acme\0', 'acm\u{c9}', 'acm\u{e9}', 'acme\u0301', 'e\u0301', '\u{e9}', 'e', '', ' ', '\t', '\0', 'ß', 'ss', 'SS', 'ae', 'ä', 'æ',
  '😀', '😃', '?', '\u{fffd}', 'ﬁ', 'fi', 'ア', 'ｱ', 'あ', 'я', 'Я', 'a\u200bcme', 'acme\u00ad', '0', '00', '1', '01', '1.0', '1e0', 'null'
]
const texts = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...alike) }, { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom('a', 'A', 'á', ' ', 'ß', 's', '\0', 'é', 'я', '😀'), maxLength: 4 }) })

const schema = (engine: EngineName): string[] => columns[engine].map((declaration, index) => `create table t${index} (id integer not null primary key, c ${declaration} null)`)

await onEachEngine(t, '$is matches a row exactly if its text is the same', { schema }, async (t, { engine, post }) => {
  for (const [index, declaration] of columns[engine].entries()) {
    const table = `t${index}`
    const stored = [...alike, ...fc.sample(texts, { numRuns: 40, seed: seed + index })]
    // Characters that the column's character set lacks are rejected.
    for (const [id, c] of stored.entries()) await post(table, { verb: 'insert', data: { id, c } })
    await post(table, { verb: 'insert', data: { id: 1000, c: null } })
    const { json: { data: { rows } } } = await post(table, { verb: 'select', limit: 1000, orderBy: 'id' })
    t.ok(rows.length > 20, `${declaration} holds ${rows.length} of them`)
    const wrong = []
    for (const text of new Set([...rows.map(({ c }: { c: string | null }) => c), ...stored, null])) {
      const expected = rows.filter(({ c }: { c: string | null }) => c === text)
      const { status, json } = await post(table, { verb: 'select', filters: { c: { $is: text } }, limit: 1000, orderBy: 'id' })
      // The server may reject a text that the column cannot store; no row has it.
      if (expected.length === 0 && status === 422) continue
      const others = (await post(table, { verb: 'select', filters: { $not: { c: { $is: text } } }, limit: 1000, orderBy: 'id' })).json.data
      if (JSON.stringify(json.data.rows) !== JSON.stringify(expected) || others.count !== rows.length - expected.length) wrong.push({ text, expected, answer: json, others: others.count })
    }
    t.same(wrong, [], `${declaration} (seed ${seed})`)
  }
})

const locked = {
  mysql: ["create table locked (id int not null primary key, name varchar(20) not null collate utf8mb4_general_ci, kind enum('a', 'B') null, marks set('x', 'y') null, note text null) collate utf8mb4_general_ci", "insert into locked values (1, 'acme', 'a', 'x', null)"],
  sqlite: ['create table locked (id integer not null primary key, name varchar(20) not null collate nocase, kind text null, marks text null, note text null)', "insert into locked values (1, 'acme', 'a', 'x', null)"]
}

await onEachEngine(t, 'a row sent back with $is works as an optimistic lock on its whole content', { schema: locked }, async (t, { post, sql }) => {
  const { json: { data: { rows: [row] } } } = await post('locked', { verb: 'select' })
  await sql("update locked set name = 'ACME'")
  t.match((await post('locked', { verb: 'update', data: { note: 'mine' }, filters: { $is: row } })).json, { data: { updated: 0 } }, 'a different spelling does not match')
  t.match((await post('locked', { verb: 'update', data: { note: 'mine' }, filters: { id: 1, name: row.name } })).json, { data: { updated: 1 } }, 'it matches by the collation')
  t.match((await post('locked', { verb: 'update', data: { note: 'mine' }, filters: { $is: { ...row, name: 'ACME' } } })).json, { data: { updated: 0 } }, 'a value does not match null')
  t.match((await post('locked', { verb: 'delete', filters: { $is: { ...row, name: 'ACME', note: 'mine' } } })).json, { data: { deleted: 1 } })
})
