/**
 * The types of MySQL 9.7 and MariaDB 10.11 by the names that information_schema.COLUMNS.DATA_TYPE gives them.
 */
import { isIPv4, isIPv6 } from 'node:net'
import { binaryType } from './binary.ts'
import type { ColumnType } from './column-type.ts'
import { decimalType } from './decimal.ts'
import type { TypeFacts } from './facts.ts'
import { doubleType, floatType } from './float.ts'
import { bitType, integerType, tinyBoolType, yearType } from './integer.ts'
import { jsonType } from './json.ts'
import { parseMembers } from './members.ts'
import { datetimeType, dateType, timestampType, timeType } from './temporal.ts'
import { enumType, formType, setType, textType, unknownType } from './text.ts'

const UUID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i

const isUnsigned = (facts: TypeFacts): boolean => / unsigned/i.test(facts.declaration)
const integer = (bits: number) => (facts: TypeFacts): ColumnType => integerType(bits, isUnsigned(facts))
const text = (facts: TypeFacts): ColumnType => textType({ characters: facts.length, bytes: null })
const longText = (facts: TypeFacts): ColumnType => textType({ characters: null, bytes: isUtf8(facts) ? facts.bytes : null })
const binary = (padded: boolean) => (facts: TypeFacts): ColumnType => binaryType({ bytes: facts.bytes, padded })
const precision = (facts: TypeFacts) => ({ scale: facts.scale ?? 0, padded: true })
const isUtf8 = ({ charset }: TypeFacts): boolean => charset?.startsWith('utf8') ?? false

const MYSQL_JSON = jsonType({ compared: ['cast(', ' as json)'] })
/** MariaDB keeps JSON as text; two texts mean the same value where their normal forms are equal. */
const MARIADB_JSON = jsonType({ compared: ['json_normalize(', ')'], comparedColumn: ['json_normalize(', ')'] })

const factories = new Map<string, (facts: TypeFacts) => ColumnType>([
  ['tinyint', (facts) => /^tinyint\(1\)/i.test(facts.declaration) ? tinyBoolType(isUnsigned(facts)) : integerType(8, isUnsigned(facts))],
  ['smallint', integer(16)],
  ['mediumint', integer(24)],
  ['int', integer(32)],
  ['bigint', integer(64)],
  ['year', yearType],
  ['bit', (facts) => bitType(facts.length ?? 1)],
  ['decimal', (facts) => decimalType({ precision: facts.length ?? 10, scale: facts.scale ?? 0, unsigned: isUnsigned(facts) })],
  ['float', (facts) => floatType(isUnsigned(facts))],
  ['double', (facts) => doubleType(isUnsigned(facts))],
  ['char', text],
  ['varchar', text],
  ['tinytext', longText],
  ['text', longText],
  ['mediumtext', longText],
  ['longtext', longText],
  ['enum', (facts) => enumType(parseMembers(facts.declaration))],
  ['set', (facts) => setType(parseMembers(facts.declaration))],
  ['binary', binary(true)],
  ['varbinary', binary(false)],
  ['tinyblob', binary(false)],
  ['blob', binary(false)],
  ['mediumblob', binary(false)],
  ['longblob', binary(false)],
  ['date', dateType],
  ['time', (facts) => timeType(precision(facts))],
  ['datetime', (facts) => datetimeType(precision(facts))],
  ['timestamp', (facts) => timestampType(precision(facts))],
  ['json', () => MYSQL_JSON],
  ['inet4', () => formType('an IPv4 address', isIPv4, 'ipv4')],
  ['inet6', () => formType('an IPv6 address', (value) => isIPv6(value) || isIPv4(value), 'ipv6')],
  ['uuid', () => formType('a UUID', (value) => UUID.test(value), 'uuid')]
])

/** The column type for what introspection found; types that are not known are shown as text and not written. */
export function mysqlType (facts: TypeFacts): ColumnType {
  if (facts.json && facts.name === 'longtext') return MARIADB_JSON
  return factories.get(facts.name)?.(facts) ?? unknownType(facts.declaration)
}
