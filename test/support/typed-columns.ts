/** Columns of every SQL type with generators of values, in tables that fit MySQL's row size. */
import fc from 'fast-check'
import { parseExactJson } from '../../src/json/exact-json.ts'
import { quoted } from './quoted.ts'
import { seed } from './seed.ts'
import { values as v, type JsonTexts } from './values.ts'
import type { EngineName } from './service.ts'

export interface TypedColumn {
  readonly declaration: string
  readonly values: JsonTexts
  /** SQL that shows the stored bytes, if HEX does not. */
  readonly bytes?: (column: string) => string
  /** Engines that have the type; all if omitted. */
  readonly only?: EngineName
}

const asText = (column: string): string => `cast(${column} as char)`
const asDouble = (column: string): string => `cast(cast(${column} as double) as char)`
const number = (declaration: string, values: JsonTexts): TypedColumn => ({ declaration, values, bytes: asText })
const text = (declaration: string, maxLength: number): TypedColumn => ({
  declaration, values: v.strings(v.unicode(maxLength), 'a ', ' a', '0', '😀', 'a\0b')
})

/** Texts that certain character sets can represent. */
const latin = v.strings(v.unicode(20).filter((each) => /^[\0-\x7e\xa0-\xff]*$/.test(each)), 'a ')
const plane = v.strings(v.unicode(20).filter((each) => !/[\u{10000}-\u{10ffff}]/u.test(each)), 'a ')

/** Columns of MySQL and MariaDB; each group is a table. */
export const mysqlGroups: Readonly<Record<string, readonly TypedColumn[]>> = {
  'whole numbers': [
    ...(['tinyint', 'smallint', 'mediumint', 'int', 'bigint'] as const).flatMap((name, index) => {
      const bits = [8n, 16n, 24n, 32n, 64n][index] as bigint
      return [
        number(name, v.integers(bits, false)), number(`${name} unsigned`, v.integers(bits, true)),
        number(`${name}(20) unsigned zerofill`, v.integers(bits, true))
      ]
    }),
    number('bool', v.tinyBools), number('year', v.years),
    number('bit(1)', v.bools), number('bit(7)', v.bits(7)), number('bit(33)', v.bits(33)), number('bit(64)', v.bits(64))
  ],
  'other numbers': [
    number('decimal(10,2)', v.decimals(10, 2)), number('decimal(65,30)', v.decimals(65, 30)),
    number('decimal(65,0)', v.decimals(65, 0)), number('decimal(5,5)', v.decimals(5, 5)),
    number('decimal(8,3) unsigned zerofill', v.decimals(8, 3, true)), number('numeric', v.decimals(10, 0)),
    { ...number('float', v.floats), bytes: asDouble },
    number('double', v.doubles(5e-324, 2.2250738585072014e-308, 1.7976931348623157e308)),
    number('double(10,2)', v.fixed(10, 2)), number('double(15,0)', v.fixed(15, 0)),
    number('double(12,4) unsigned zerofill', v.fixed(12, 4, true)),
    { ...number('float(7,3)', v.fixed(7, 3)), bytes: asDouble },
    { ...number('float unsigned', v.floats.map((each) => each.replace(/^-/, ''))), bytes: asDouble }
  ],
  texts: [
    text('char(20)', 20), text('varchar(40)', 40), text('tinytext', 60), text('text', 300), text('mediumtext', 300),
    text('longtext', 300),
    text('varchar(30) collate utf8mb4_bin', 30), text('varchar(30) collate utf8mb4_unicode_ci', 30),
    { declaration: 'varchar(20) character set latin1', values: latin },
    { declaration: 'varchar(20) character set utf8mb3', values: plane },
    { declaration: 'varchar(20) character set ucs2', values: plane }, text('varchar(20) character set utf16', 20),
    text('varchar(20) character set utf32', 20),
    {
      declaration: 'varchar(20) character set ascii',
      values: v.strings(v.unicode(20).filter((each) => /^[\0-\x7f]*$/.test(each)))
    },
    {
      declaration: "enum('new', 'it''s', '1', '0', 'a,b', 'c\\\\d', 'tab\\t', 'q?', 'x😀', ' y')",
      values: v.members('new', "it's", '1', '0', 'a,b', 'c\\d', 'tab\t', 'q?', 'x😀', ' y')
    },
    {
      declaration: "set('red', 'green', '2', 'b''c', 'q?', 'x😀')",
      values: v.sets('red', 'green', '2', "b'c", 'q?', 'x😀')
    }
  ],
  bytes: [
    { declaration: 'binary(8)', values: v.bytes(8) }, { declaration: 'varbinary(30)', values: v.bytes(30) },
    { declaration: 'tinyblob', values: v.bytes(255) },
    { declaration: 'blob', values: v.bytes(600) }, { declaration: 'mediumblob', values: v.bytes(300, 256) },
    { declaration: 'longblob', values: v.bytes(300) }
  ],
  times: [
    { declaration: 'date', values: v.days, bytes: asText }, {
      declaration: 'time', values: v.times(0, 838), bytes: asText
    }, { declaration: 'time(6)', values: v.times(6, 837), bytes: asText },
    { declaration: 'datetime', values: v.datetimes(0, '0000-00-00T00:00:00'), bytes: asText },
    { declaration: 'datetime(3)', values: v.datetimes(3, '0000-00-00 00:00:00'), bytes: asText },
    { declaration: 'datetime(6)', values: v.datetimes(6), bytes: asText }, {
      declaration: 'timestamp', values: v.timestamps(0), bytes: asText
    }, { declaration: 'timestamp(6)', values: v.timestamps(6), bytes: asText }
  ],
  documents: [{ declaration: 'json', values: v.documents, bytes: asText }],
  geometry: [
    { declaration: 'geometry', values: v.geometries }, { declaration: 'point', values: v.points },
    { declaration: 'geometry', values: v.srids },
    { declaration: 'point srid 4326', values: v.places, only: 'mysql' },
    { declaration: 'vector(5)', values: v.vectors(5), only: 'mysql' }
  ],
  addresses: [
    { declaration: 'inet4', values: v.ipv4, only: 'mariadb' },
    { declaration: 'inet6', values: v.ipv6, only: 'mariadb' }, { declaration: 'uuid', values: v.uuids, only: 'mariadb' }
  ]
}

export const sqliteGroups: Readonly<Record<string, readonly TypedColumn[]>> = {
  everything: [
    ...['integer', 'bigint', 'int', 'tinyint'].map((declaration) => ({ declaration, values: v.integers(64n, false) })),
    { declaration: 'boolean', values: v.tinyBools }, { declaration: 'decimal(10,2)', values: v.decimals(10, 2) },
    { declaration: 'numeric(15,6)', values: v.decimals(15, 6) },
    { declaration: 'real', values: v.doubles(5e-324, 1.7976931348623157e308) },
    { declaration: 'double', values: v.doubles() },
    ...['text', 'varchar(20)', 'char(3)', 'clob'].map((declaration) => text(declaration, 40)),
    { declaration: 'blob', values: v.bytes(300) },
    { declaration: 'uuid', values: v.uuids },
    { declaration: 'string(40)', values: v.strings(v.unicode(40).map((each) => `${each}-`), '1e', ' 1 2', 'a ', '.') },
    { declaration: 'binary(16)', values: v.bytes(16) }, { declaration: 'varbinary', values: v.bytes(40) },
    { declaration: 'date', values: v.days }, { declaration: 'time', values: v.times(6, 837) },
    { declaration: 'datetime', values: v.datetimes(6) }, { declaration: 'timestamp', values: v.timestamps(6) },
    { declaration: 'json', values: v.documents }
  ]
}

/** The columns that an engine has, in their groups. */
export const groupsOn = (engine: EngineName): Array<readonly TypedColumn[]> =>
  Object.values(engine === 'sqlite' ? sqliteGroups : mysqlGroups)
    .map((group) => group.filter(({ only }) => only === undefined || only === engine))
    .filter(({ length }) => length > 0)

/** `c0`, `c1` and so on, as `create table` has them. */
export const declare = (engine: EngineName, columns: readonly TypedColumn[]): string =>
  columns.map(({ declaration }, index) => `c${index} ${declaration}${engine === 'sqlite' ? '' : ' null'}`).join(', ')

/** So many random values of a column in the form of `data`, one of which in ten is null. */
export const sampleOf = ({ values }: TypedColumn, numRuns: number, number: number): string[] =>
  fc.sample(fc.option(values, { freq: 10, nil: 'null' }), { numRuns, seed: seed + number })
    .map((text) => JSON.stringify(quoted(parseExactJson(text))))

/** The data of so many rows, with values of columns `c0`, `c1` and so on. `most`: different values of a column. */
export function sampleRows (columns: readonly TypedColumn[], count: number, most?: number): string[] {
  const samples = columns.map((column, index) => {
    const values = most === undefined
      ? column.values
      : fc.constantFrom(...fc.sample(column.values, { numRuns: most, seed: seed + index }))
    return sampleOf({ ...column, values }, count, index)
  })
  return Array.from({ length: count }, (_, row) => samples.map((texts, index) => `"c${index}":${texts[row]}`).join())
}
