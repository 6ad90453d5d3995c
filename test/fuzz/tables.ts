/** The tables for random bodies: columns that the model can read, and columns of every SQL type. */
import fc from 'fast-check'
import { loadCatalog } from '../support/catalog.ts'
import type { Table } from '../../src/catalog/catalog.ts'
import type { EngineName, Schema, Service } from '../support/service.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from '../support/typed-columns.ts'
import { quoted } from '../support/quoted.ts'
import { values as v, type JsonTexts } from '../support/values.ts'
import { read } from './json.ts'

/** How the model reads a column (model.ts). */
export type Kind = 'integer' | 'decimal' | 'day' | 'bytes' | 'flag' | 'word'

interface OwnColumn { readonly kind: Kind, readonly values: JsonTexts, readonly mysql: string, readonly sqlite: string }

const few = (...texts: unknown[]): JsonTexts => fc.constantFrom(...texts).map((value) => JSON.stringify(value))
const often = (common: JsonTexts, rare: JsonTexts): JsonTexts => fc.oneof({ weight: 3, arbitrary: common }, {
  weight: 1, arbitrary: rare
})
const words = v.unicode(8)
const binary = 'varchar(30) character set utf8mb4 collate utf8mb4_bin null'

/** Few values, so that filters match rows and rows have equal values. */
const own: Readonly<Record<string, OwnColumn>> = {
  id: {
    kind: 'integer',
    values: fc.integer({
      min: -1, max: 30
    }).map(String),
    mysql: 'bigint not null auto_increment primary key',
    sqlite: 'integer primary key'
  },
  n: {
    kind: 'integer',
    values: often(fc.integer({
      min: -3, max: 6
    }).map(String), v.integers(32n, false)),
    mysql: 'int null',
    sqlite: 'integer null'
  },
  level: {
    kind: 'integer',
    values: fc.integer({
      min: 0, max: 5
    }).map(String),
    mysql: 'tinyint not null default 3',
    sqlite: 'integer not null default 3'
  },
  price: {
    kind: 'decimal',
    values: often(few('1.00', '2.50', '-0.01'), v.decimals(10, 2)),
    mysql: 'decimal(10,2) null',
    sqlite: 'decimal(10,2) null'
  },
  day: { kind: 'day', values: often(few('2024-02-29', '2026-01-01'), v.days), mysql: 'date null', sqlite: 'date null' },
  raw: {
    kind: 'bytes', values: often(few('', 'AA==', 'AAE='), v.bytes(16)), mysql: 'varbinary(16) null', sqlite: 'blob null'
  },
  flag: { kind: 'flag', values: v.bools, mysql: 'bit(1) null', sqlite: 'boolean null' },
  word: {
    kind: 'word',
    values: often(few('a', 'A', 'ab', 'a ', '%', '_', '', '\\', 'a\0b'), v.strings(words)),
    mysql: binary,
    sqlite: 'text null'
  },
  code: {
    kind: 'word',
    values: often(few('a', 'b', 'c'), v.strings(words)),
    mysql: `${binary} unique`,
    sqlite: 'text null unique'
  }
}
const GENERATED = 'twice bigint generated always as (n * 2) virtual'

export const SEED_ROWS = 20

/** A table as the generators and the model see it. */
export interface FuzzTable {
  readonly name: string
  readonly engine: EngineName
  readonly catalog: Table
  /** JSON texts for each column: values of its type and of existing rows. */
  readonly values: ReadonlyMap<string, JsonTexts>
  readonly kinds: ReadonlyMap<string, Kind>
  /** Restores the initial rows. */
  reset (): Promise<void>
}

const groupsOf = (engine: EngineName) => Object.entries(engine === 'sqlite' ? sqliteGroups : mysqlGroups)
  .map(([name, group]) => ({
    name: name.replaceAll(' ', '_'),
    columns: group.filter(({ only }) => only === undefined || only === engine)
  })).filter(({ columns }) => columns.length > 0)

const typed = (columns: readonly TypedColumn[]): Array<[name: string, column: TypedColumn]> =>
  columns.map((column, index) => [`c${index}`, column])

/** Each table exists twice: for the requests, and for the initial rows, which never change. */
export const schema: Schema = (engine) => groupsOf(engine).flatMap(({ name, columns }) => {
  const ours = Object.entries(own).map(
    ([column, { mysql, sqlite }]) => `${column} ${engine === 'sqlite' ? sqlite : mysql}`
  )
  const theirs = typed(columns).map(([column, { declaration }]) => `${column} ${declaration} null`)
  return [name, `${name}_seed`].map((table) => `create table ${table} (${[...ours, ...theirs, GENERATED].join(', ')})`)
})

/** The tables without rows, for bodies that are not sent. */
export async function describeTables ({ engine, url }: Pick<Service, 'engine' | 'url'>): Promise<FuzzTable[]> {
  const { tables } = await loadCatalog(url)
  return groupsOf(engine).map(({ name, columns }) => ({
    name,
    engine,
    catalog: tables.get(name) as Table,
    values: new Map([...Object.entries(own), ...typed(columns)].map(
      ([column, { values }]) => [column, values.filter((value) => value !== 'null')]
    )),
    kinds: new Map(Object.entries(own).map(([column, { kind }]) => [column, kind])),
    reset: async () => {}
  }))
}

/**
 * Fills the tables through the service, those that there are. The rows are the same in every run, so that the seed of
 * the bodies reproduces a failure.
 */
export async function prepareTables ({ engine, url, post, sql }: Service): Promise<FuzzTable[]> {
  if (engine !== 'sqlite') await sql("set session sql_mode = 'NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00'")
  const { tables } = await loadCatalog(url)
  const prepared: FuzzTable[] = []
  for (const { name, columns } of groupsOf(engine).filter((group) => tables.has(group.name))) {
    const arbitraries = new Map<string, JsonTexts>(
      [...Object.entries(own), ...typed(columns)].map(([column, { values }]) => [column, values])
    )
    const names = [...arbitraries.keys()]
    const samples = names.map((column, index) => fc.sample(
      fc.option(arbitraries.get(column) as JsonTexts, { freq: 6, nil: 'null' }), { numRuns: SEED_ROWS, seed: index }
    ))
    for (let row = 0; row < SEED_ROWS; row++) {
      const given = names.map((column, index): [string, string] => [column, samples[index]?.[row] as string])
      const data = given.map(([column, value]) => `"${column}":${inData(fixed(column, value, row))}`)
      const { status, text } = await post(`${name}_seed`, `{"verb":"insert","data":{${data.join()}}}`)
      if (status !== 200) throw new Error(`an initial row was refused: ${data.join()} ${text}`)
    }
    const { text } = await post(`${name}_seed`, { verb: 'select', orderBy: 'id' })
    const rows = read(text).data.rows as Array<Record<string, unknown>>
    const there = (column: string): JsonTexts => fc.constantFrom(
      ...rows.map((row) => JSON.stringify(row[column])).filter((value) => value !== 'null'),
      ...samples[names.indexOf(column)] ?? []
    )
    prepared.push({
      name,
      engine,
      catalog: tables.get(name) as Table,
      values: new Map(names.map((column) => [column, fc.oneof({ weight: 2, arbitrary: there(column) }, {
        weight: 1, arbitrary: arbitraries.get(column) as JsonTexts
      }).filter((value) => value !== 'null')])),
      kinds: new Map(Object.entries(own).map(([column, { kind }]) => [column, kind])),
      reset: await createReset(sql, engine, name, [
        `delete from ${name}`, `insert into ${name} (${names.join()}) select ${names.join()} from ${name}_seed`
      ])
    })
  }
  return prepared
}

/** One transaction and, with MySQL, one round trip. */
async function createReset (
  sql: Service['sql'], engine: EngineName, name: string, statements: readonly string[]
): Promise<() => Promise<void>> {
  if (engine === 'sqlite') {
    return async () => { for (const each of ['begin immediate', ...statements, 'commit']) await sql(each) }
  }
  const body = ['start transaction', ...statements, 'commit', ''].join('; ')
  await sql(`create procedure reset_${name}() modifies sql data begin ${body}end`)
  return async () => { await sql(`call reset_${name}()`) }
}

/** A value in the form of `data`. */
export const inData = (value: string): string => value.startsWith('{') ? JSON.stringify(quoted(read(value))) : value

/** Values that the initial rows always contain. */
function fixed (column: string, value: string, row: number): string {
  if (column === 'id') return String(row + 1)
  if (column === 'level') return String(row % 5)
  if (column === 'code') return row % 3 === 0 ? 'null' : `"row ${row}"`
  return value
}
