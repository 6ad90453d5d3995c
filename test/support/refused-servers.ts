/** What a server may say that keeps the service from using it. */
import type { Engine } from '../servers/engines.ts'

/** `change`: what becomes of the bytes that it sends; `reason`: what the log and `row-query check` say. */
type Refusal = readonly [name: string, change: (all: string) => string, reason: RegExp]

const saying = (pattern: RegExp, text: string) =>
  (all: string): string => all.replaceAll(new RegExp(pattern, 'g'), text)

export const refusalsOf = ({ version }: Engine): readonly Refusal[] => [
  ['does not run in utf8mb4', saying(/utf8mb4 utf8mb4 utf8mb4/, 'utf8mb4 utf8mb3 utf8mb4'), /^CHARACTER_SET: /],
  ['changes texts on their way', saying(/C4A7E4B8AD5C/, 'C4A73FE4B8AD'), /^CHARACTER_SET: /],
  ['returns texts in another character set', saying(/\xc4\xa7\xe4\xb8\xad\\/, '\xc4\xa7???\\'), /^CHARACTER_SET: /],
  ['is older than the oldest supported one', saying(
    new RegExp(version.replaceAll('.', '\\.')), version.replace(/^\d+/, (major) => '5'.padStart(major.length, '0'))
  ), new RegExp('^SERVER_TOO_OLD: (MariaDB|MySQL) 5\\.\\d+\\.\\d+, the oldest supported versions are ' +
    'MySQL 8\\.0\\.19, MariaDB 10\\.7, Vitess 8\\.0\\.30 and TiDB 7\\.5$')],
  [
    'ignores the SQL mode', saying(/STRICT_ALL_TABLES/, 'STRICT_NONE_TABLE'),
    /^SETTING_IGNORED: the session has sql_mode = /
  ],
  ['ignores the time zone', saying(/\+00:00/, '+01:00'), /^SETTING_IGNORED: the session has time_zone = '\+01:00' /]
]
