/**
 * The tables of a statement with several tables. The table with index 1 has the alias `t1`, and the tokens of its
 * columns are `c1x0`, `c1x1`, … The same table can occur several times, with an index and an alias for each.
 */
import { type Expression, type RawBuilder, sql } from 'kysely'
import { baseTable, type Column, type Index, type Table } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import { builderFor, createBuild, nameIn, type TableBuilder } from './builder.ts'

/** The tokens of the columns of one table. */
export interface TableTokens {
  readonly token: (column: Column) => string
  /** The token for a subquery, in which the table must be named. */
  readonly outer: (column: Column) => string
  readonly indexToken: (index: Index) => string
  /** Set for a table of a subquery. */
  readonly isInner?: true
  /** Adds another table to the statement, for a subquery. `index`: the index by which its rows are found. */
  readonly add: (table: Table, index: Index | undefined) => TableTokens & {
    readonly from: Sql
    /** Marks an equality of two tables as selective for the optimizer. */
    readonly relate: Relate
    /** The clause that locks the found rows. */
    readonly lock: Sql
  }
}

type Sql = RawBuilder<unknown>
type Relate = (equality: Expression<unknown>) => Expression<unknown>

const TOKEN = /^([nci])(\d+)(?:x(\d+))?$/

class AliasedTables {
  readonly #tables: Array<Table | undefined>
  readonly #alias: string
  /** Whether a statement can name the index by which rows are found. */
  readonly #canForce: boolean
  readonly #lock: Sql
  readonly relate: Relate
  readonly add: TableTokens['add'] = (table, forced) => {
    const index = this.#tables.push(baseTable(table)) - 1
    return {
      ...this.at(index),
      from: this.from(index, forced),
      relate: this.relate,
      lock: this.#lock,
      isInner: true
    }
  }

  /** `own`: a table without an index, whose name no alias may have. `lock`: the lock on rows that subqueries find. */
  constructor (
    engine: Engine,
    {
      tables = [],
      own,
      lock = sql``
    }: { readonly tables?: readonly Table[]; readonly own?: Table; readonly lock?: Sql | undefined }
  ) {
    this.#canForce = TRAITS[engine].namesIndexes
    this.relate = this.#canForce ? (equality) => equality : rarely
    this.#tables = own === undefined ? tables.map(baseTable) : [undefined]
    this.#alias = own !== undefined && /^t\d+$/i.test(own.name) ? 't_' : 't'
    this.#lock = lock
  }

  /** The identifier that a token stands for. */
  nameOf (token: string): string | undefined {
    const [, kind, index, part] = TOKEN.exec(token) ?? []
    const table = this.#tables[Number(index)]
    switch (kind) {
      case 'n':
        return table?.name
      case 'c':
        return table?.columnList[Number(part)]?.name
      case 'i':
        return table?.indexes[Number(part)]?.name
      default:
        return undefined
    }
  }

  /** The tokens of the columns of a table, with its alias. */
  at (index: number): TableTokens {
    const token = (column: Column): string =>
      `${this.#alias}${index}.c${index}x${(this.#tables[index] as Table).columnList.indexOf(column)}`
    return { token, outer: token, indexToken: (each) => this.#indexToken(index, each), add: this.add }
  }

  /** A table with its alias, for FROM. */
  from (index: number, forced?: Index): Sql {
    const named = sql`${sql.table(`n${index}`)} as ${sql.id(`${this.#alias}${index}`)}`
    return forced === undefined || !this.#canForce
      ? named
      : sql`${named} force index (${sql.id(this.#indexToken(index, forced))})`
  }

  #indexToken (index: number, each: Index): string {
    return `i${index}x${(this.#tables[index] as Table).indexes.indexOf(each)}`
  }
}

/** SQLite has no index that can be forced safely, and takes the one that was defined last if two seem equally good. */
const rarely: Relate = (equality) => sql`likelihood(${equality}, 0.000001)`

/** Builds statements on several tables, which `at` and `from` name by index. */
export interface SeveralTables extends Pick<AliasedTables, 'at' | 'from' | 'relate'> {
  readonly build: TableBuilder['build']
}

/** `lock`: the lock on rows that subqueries find. */
export function severalTables (engine: Engine, seen: readonly Table[], lock?: RawBuilder<unknown>): SeveralTables {
  const aliased = new AliasedTables(engine, { tables: seen, lock })
  return {
    build: createBuild(engine, (token) => aliased.nameOf(token)),
    at: (index) => aliased.at(index),
    from: (index, forced) => aliased.from(index, forced),
    relate: aliased.relate
  }
}

/** Builds one statement of a table, whose conditions can have subqueries on other tables. */
export type StatementBuilder = TableBuilder & Pick<TableTokens, 'outer' | 'add'>

/** `lock`: the lock on rows that subqueries find. */
export function statementBuilder (engine: Engine, table: Table, lock?: RawBuilder<unknown>): StatementBuilder {
  const builder = builderFor(engine, table)
  const own = nameIn(baseTable(table))
  const others = new AliasedTables(engine, { own: table, lock })
  return {
    ...builder,
    build: createBuild(engine, (token) => own(token) ?? others.nameOf(token)),
    outer: (column) => `t.${builder.token(column)}`,
    add: others.add
  }
}
