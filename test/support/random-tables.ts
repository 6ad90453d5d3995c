/**
 * Random tables of every type that rows can be sorted by, with ties, NULLs and keys of all sizes, for tests of pages.
 */
import fc from 'fast-check'
import type { EngineName } from './service.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from './typed-columns.ts'
import { pick, type Random } from './random.ts'

export interface RandomColumn {
  readonly name: string
  readonly declaration: string
  readonly nullable: boolean
  /** JSON texts; few, so that rows have equal values. */
  readonly pool: readonly string[]
}

export interface RandomTable {
  readonly name: string
  readonly sql: string
  readonly columns: readonly RandomColumn[]
  readonly key: readonly string[]
}

/** Texts that many collations treat as equal, besides random ones. */
const texts = fc.constantFrom('a', 'A', 'a ', 'ä', 'b', 'B', '', 'ab', 'a\0').map((text) => JSON.stringify(text))
const collated = (collation: string): TypedColumn => ({ declaration: `varchar(12) ${collation}`, values: texts })
const collations: Readonly<Record<EngineName, readonly TypedColumn[]>> = {
  mysql: [
    'collate utf8mb4_0900_ai_ci', 'collate utf8mb4_general_ci', 'collate utf8mb4_bin', 'collate utf8mb4_0900_as_cs',
    'character set latin1 collate latin1_swedish_ci', 'collate utf8mb4_0900_bin'
  ].map(collated),
  mariadb: [
    'collate utf8mb4_uca1400_ai_ci', 'collate utf8mb4_general_ci', 'collate utf8mb4_bin',
    'collate utf8mb4_unicode_nopad_ci', 'character set latin1 collate latin1_swedish_ci'
  ].map(collated),
  sqlite: ['collate nocase', 'collate binary', 'collate rtrim'].map(collated)
}

/** SET is refused with `after`; JSON, geometry and vectors have no order. */
const UNSORTED = /^(set|json|geometry|point|vector|linestring)\b/

function typesOf (engine: EngineName): TypedColumn[] {
  const groups = engine === 'sqlite' ? sqliteGroups : mysqlGroups
  const types = Object.values(groups).flat().filter(
    ({ declaration, only }) => !UNSORTED.test(declaration) && (only === undefined || only === engine)
  )
  return [...types, ...collations[engine], ...collations[engine]]
}

/** Types that a key can have as a whole. */
const isShort = ({ declaration }: Pick<TypedColumn, 'declaration'>): boolean => !/text|blob|clob/.test(declaration)

export function randomTable (engine: EngineName, random: Random, name: string): RandomTable {
  const types = typesOf(engine)
  const column = (type: TypedColumn, index: number, nullable: boolean): RandomColumn => (
    {
      name: `c${index}`,
      declaration: type.declaration,
      nullable,
      pool: fc.sample(type.values, { numRuns: 2 + random(4), seed: random(1_000_000) })
    }
  )
  const keyed = Array.from(
    { length: random(3) }, (_, index) => column(pick(random, types.filter(isShort)), index, false)
  )
  const others = Array.from(
    { length: 2 + random(3) }, (_, index) => column(pick(random, types), keyed.length + index, random(3) > 0)
  )
  const number: RandomColumn = {
    name: 'n', declaration: 'int', nullable: false, pool: Array.from({ length: 60 }, (_, index) => String(index))
  }
  const key = keyed.length === 0 || random(4) > 0
    ? [...keyed.map((each) => each.name), 'n']
    : keyed.map((each) => each.name)
  if (random(2) === 0) key.reverse()
  const columns = [number, ...keyed, ...others]
  const nulls = (each: RandomColumn): string => each.nullable ? engine === 'sqlite' ? '' : 'null' : 'not null'
  const indexed = columns.filter(isShort)
  const indexes = Array.from({ length: random(3) }, (_, index) => {
    const parts = Array.from({ length: 1 + random(3) }, () => pick(random, indexed).name)
    return `create index ${name}_${index} on ${name}
      (${[...new Set(parts)].map((part) => part + pick(random, ['', ' desc'])).join(', ')})`
  })
  const constraint = random(3) === 0 ? 'unique' : 'primary key'
  const definition =
    `create table ${name} (${columns.map((each) => `${each.name} ${each.declaration} ${nulls(each)}`).join(', ')},
      ${constraint} (${key.join(', ')}))`
  return { name, sql: [definition, ...indexes].join(';\n'), columns, key }
}
