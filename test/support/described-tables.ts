/** Tables of each server from a few lines of text, as introspection returns them, for tests without a database. */
import {
  type Catalog, type Column, createCatalog, type ForeignKey, type Index, type TableFacts, type Trigger
} from '../../src/catalog/catalog.ts'
import { linkTables } from '../../src/catalog/relations.ts'
import { engineOf } from '../../src/dialects/mysql/engines.ts'
import { mysqlType } from '../../src/types/mysql.ts'
import { sqliteType } from '../../src/types/sqlite.ts'

export const SERVERS = ['mysql', 'mariadb', 'sqlite'] as const
export type ServerName = (typeof SERVERS)[number]

/** `other`: a collation that is not that of the other columns of texts. */
const COLLATIONS = {
  mysql: { usual: 'utf8mb4_general_ci', other: 'utf8mb4_bin' },
  mariadb: { usual: 'utf8mb4_general_ci', other: 'utf8mb4_bin' },
  sqlite: { usual: 'BINARY', other: 'NOCASE' }
}
const VERSIONS = { mysql: '8.4.0', mariadb: '10.11.6-MariaDB', sqlite: undefined }
const TEXTS = /^(?:varchar|char|\w*text|enum|set)$/
const LENGTHS: Readonly<Record<string, number>> = { text: 65_535, longtext: 4_294_967_295 }

/** What may stand behind the declaration of a column. */
const FACT = new RegExp('\\b(not null|primary key|unique|auto_increment|generated|computed|invisible|touched|other' +
  '|default (?:null|\'[^\']*\'|\\S+)|references \\w+ \\(\\w+\\))\\s*', 'g')

function columnOf (line: string, server: ServerName, isView: boolean): { column: Column, facts: string[] } {
  const [, quoted, plain, rest] = /^(?:"([^"]*)"|(\S+))\s*(.*)$/.exec(line) as unknown as string[]
  const name = quoted ?? plain as string
  const facts = Array.from((rest as string).matchAll(FACT), ([, fact]) => fact as string)
  const declaration = (rest as string).replace(FACT, '').trim()
  const [, kind = '', length, scale] = /^(\w*)(?:\((\d+)(?:,(\d+))?\))?/.exec(declaration) ?? []
  const isJson = server === 'mariadb' && kind === 'json'
  const isText = TEXTS.test(kind) && server !== 'sqlite'
  const size = length === undefined ? LENGTHS[kind] ?? null : Number(length)
  const isTime = /^(?:datetime|timestamp|time)$/.test(kind)
  const described = {
    name: isJson ? 'longtext' : kind,
    declaration: isJson ? 'longtext' : declaration,
    length: isTime ? null : size,
    bytes: isText && size !== null && kind === 'varchar' ? size * 4 : size,
    scale: isTime ? length === undefined ? 0 : Number(length) : scale === undefined ? null : Number(scale),
    charset: isText || isJson ? 'utf8mb4' : null,
    srid: null,
    json: isJson
  }
  const { usual, other } = COLLATIONS[server]
  const collation = facts.includes('other') || isJson ? other : usual
  const text = facts.find((fact) => fact.startsWith('default '))?.slice(8)
  const defaultText = text === undefined || text === 'null' || facts.includes('computed')
    ? null
    : text.replace(/^'(.*)'$/, '$1')
  const autoIncrement = facts.includes('auto_increment')
  const nullable = !facts.includes('not null') && !autoIncrement &&
    !(facts.includes('primary key') && server !== 'sqlite')
  const generated = facts.includes('generated')
  return {
    column: {
      name,
      type: server === 'sqlite' ? sqliteType(described) : mysqlType({ ...described, ...isView && { computed: true } }),
      declaration,
      nullable,
      generated,
      autoIncrement,
      optional: nullable || generated || autoIncrement || text !== undefined,
      defaultText,
      ...facts.includes('computed') && { defaultComputed: true as const },
      ...server === 'sqlite' && { defaultSql: text ?? 'null' },
      ...facts.includes('touched') && { onUpdate: true as const },
      ...facts.includes('invisible') && { invisible: true as const },
      ...server === 'sqlite'
        ? !isView && !autoIncrement && { collation }
        : (isText || isJson) && { charset: 'utf8mb4', collation },
      comment: ''
    },
    facts
  }
}

const listIn = (text: string): string[] => text.split(',').map((name) => name.trim().replace(/^"(.*)"$/, '$1'))

/**
 * A table is a line `table orders` or `view orders`, and an indented line for each column, or for what concerns several
 * of them: `primary key (a, b)`, `unique (a)`, `index (a, b)`, `fulltext (a)`, `foreign key (a) references t (b)`,
 * `trigger before insert`, `trigger after update writes insert log`, `engine myisam`.
 */
function factsOf (lines: readonly string[], server: ServerName): TableFacts {
  const [, kind, name] =
    /^(table|view) (\S+)$/.exec(lines[0] as string) as unknown as [string, 'table' | 'view', string]
  const columns: Column[] = []
  const indexes: Index[] = []
  const foreignKeys: ForeignKey[] = []
  const list: Trigger[] = []
  let engine = server === 'sqlite' ? 'sqlite' : kind === 'view' ? '' : 'innodb'
  let primaryKey: string[] = []
  const addIndex = (names: readonly string[], facts: Partial<Index> = {}): void => {
    indexes.push({
      name: facts.name ?? names.join('_'),
      unique: false,
      ordered: true,
      parts: names.map((column) => ({ column, descending: false, prefix: false })),
      ...facts
    })
  }
  const addPrimary = (names: string[]): void => {
    primaryKey = names
    addIndex(names, { name: 'PRIMARY', unique: true })
  }
  const addForeign = (names: string[], referencedTable: string, referencedColumns: string[]): void => {
    foreignKeys.push({ name: `${name}_${names.join('_')}`, columns: names, referencedTable, referencedColumns })
  }
  for (const line of lines.slice(1).map((each) => each.trim())) {
    const [, word, names = '', table = '', others = ''] =
      /^(primary key|unique|index|fulltext|foreign key) \(([^)]*)\)(?: references (\w+) \(([^)]*)\))?$/.exec(line) ?? []
    const [, timing, event, write, written] = /^trigger (\w+) (\w+)(?: writes (\w+) (\w+))?$/.exec(line) ?? []
    if (timing !== undefined) {
      const writes = written === undefined ? undefined : [{ table: written, event: write }]
      list.push({ timing, event, ...writes && { writes } } as Trigger)
    }
    if (timing !== undefined) continue
    if (line.startsWith('engine ')) engine = server === 'sqlite' ? engine : line.slice(7)
    else if (word === 'primary key') addPrimary(listIn(names))
    else if (word === 'unique') addIndex(listIn(names), { unique: true })
    else if (word === 'index') addIndex(listIn(names))
    else if (word === 'fulltext') {
      addIndex(listIn(names), { ordered: false, fullText: { rowid: server === 'sqlite' ? 'id' : null } })
    } else if (word === 'foreign key') addForeign(listIn(names), table, listIn(others))
    else {
      const { column, facts } = columnOf(line, server, kind === 'view')
      columns.push(column)
      if (facts.includes('primary key')) addPrimary([column.name])
      if (facts.includes('unique')) addIndex([column.name], { unique: true })
      const [, parent = '', key = ''] = /^references (\w+) \((\w+)\)$/.exec(facts.at(-1) ?? '') ?? []
      if (parent !== '') addForeign([column.name], parent, [key])
    }
  }
  // both servers index foreign keys
  for (const { columns: names } of server === 'sqlite' ? [] : foreignKeys) {
    const has = indexes.some(({ parts }) => names.every((each, index) => parts[index]?.column === each))
    if (!has) addIndex(names)
  }
  const uniqueKeys = indexes.filter(({ unique }) => unique).map(({ name, parts }) =>
    ({ name, columns: parts.map(({ column }) => column as string) }))
  return {
    name,
    kind,
    comment: '',
    engine,
    transactional: engine !== 'myisam',
    ...VERSIONS[server] !== undefined && { traits: engineOf(VERSIONS[server]).traits },
    triggers: { isComplete: true, list },
    columns,
    primaryKey,
    uniqueKeys,
    indexes,
    foreignKeys,
    checks: []
  }
}

/** The catalog of a server with these tables. */
export function describedCatalog (text: string, server: ServerName): Catalog {
  const tables = text.trim().split(/\n(?=\S)/).map((each) => factsOf(each.split('\n'), server))
  return createCatalog(linkTables(tables, false), 0)
}
