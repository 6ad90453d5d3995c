import { sql } from 'kysely'
import { queriesOn, textOf } from './builder.ts'

/** Rows are text, by position. */
type Text = string | null
type Columns<Names extends string> = Record<Names, Text>

const db = queriesOn<{
  'information_schema.TABLES': Columns<'TABLE_SCHEMA' | 'TABLE_NAME' | 'TABLE_TYPE' | 'TABLE_COMMENT' | 'ENGINE'>
  /** `SRS_ID`: MySQL only. */
  'information_schema.COLUMNS': Columns<
    'TABLE_SCHEMA' | 'TABLE_NAME' | 'COLUMN_NAME' | 'ORDINAL_POSITION' | 'DATA_TYPE' | 'COLUMN_TYPE' | 'IS_NULLABLE' |
    'COLUMN_DEFAULT' | 'EXTRA' | 'GENERATION_EXPRESSION' | 'COLUMN_COMMENT' | 'CHARACTER_MAXIMUM_LENGTH' |
    'CHARACTER_OCTET_LENGTH' | 'NUMERIC_PRECISION' | 'NUMERIC_SCALE' | 'DATETIME_PRECISION' | 'CHARACTER_SET_NAME' |
    'COLLATION_NAME' | 'PRIVILEGES' | 'SRS_ID'
  >
  /** `IGNORED`: MariaDB; `IS_VISIBLE`: MySQL. */
  'information_schema.STATISTICS': Columns<
    'TABLE_SCHEMA' | 'TABLE_NAME' | 'INDEX_NAME' | 'COLUMN_NAME' | 'NON_UNIQUE' | 'SEQ_IN_INDEX' | 'COLLATION' |
    'SUB_PART' | 'INDEX_TYPE' | 'IGNORED' | 'IS_VISIBLE'
  >
  'information_schema.KEY_COLUMN_USAGE': Columns<
    'TABLE_SCHEMA' | 'TABLE_NAME' | 'CONSTRAINT_NAME' | 'COLUMN_NAME' | 'ORDINAL_POSITION' | 'REFERENCED_TABLE_SCHEMA' |
    'REFERENCED_TABLE_NAME' | 'REFERENCED_COLUMN_NAME'
  >
  'information_schema.REFERENTIAL_CONSTRAINTS': Columns<
    'CONSTRAINT_SCHEMA' | 'TABLE_NAME' | 'CONSTRAINT_NAME' | 'UNIQUE_CONSTRAINT_NAME'
  >
  'information_schema.TABLE_CONSTRAINTS': Columns<
    'TABLE_SCHEMA' | 'TABLE_NAME' | 'CONSTRAINT_SCHEMA' | 'CONSTRAINT_NAME' | 'CONSTRAINT_TYPE'
  >
  /** `TABLE_NAME`: MariaDB. */
  'information_schema.CHECK_CONSTRAINTS': Columns<
    'CONSTRAINT_SCHEMA' | 'CONSTRAINT_NAME' | 'CHECK_CLAUSE' | 'TABLE_NAME'
  >
  'information_schema.ENGINES': Columns<'ENGINE' | 'TRANSACTIONS'>
  'information_schema.TRIGGERS': Columns<
    'TRIGGER_SCHEMA' | 'TRIGGER_NAME' | 'EVENT_OBJECT_SCHEMA' | 'EVENT_OBJECT_TABLE' | 'ACTION_TIMING' |
    'EVENT_MANIPULATION' | 'ACTION_STATEMENT'
  >
  'information_schema.USER_PRIVILEGES': Columns<'GRANTEE' | 'PRIVILEGE_TYPE'>
  'information_schema.SCHEMA_PRIVILEGES': Columns<'GRANTEE' | 'TABLE_SCHEMA' | 'PRIVILEGE_TYPE'>
  'information_schema.TABLE_PRIVILEGES': Columns<'GRANTEE' | 'TABLE_SCHEMA' | 'TABLE_NAME' | 'PRIVILEGE_TYPE'>
}>()
const toText = (query: Parameters<typeof textOf>[0]): string => textOf(query, 'mysql')
const lit = sql.lit
const HERE = sql<string>`database()`

/** Rows of: name, type, comment, engine. */
export const TABLES = toText(
  db
    .selectFrom('information_schema.TABLES')
    .select(['TABLE_NAME', 'TABLE_TYPE', 'TABLE_COMMENT', 'ENGINE'])
    .where('TABLE_SCHEMA', '=', HERE)
    .where('TABLE_TYPE', 'in', [lit('BASE TABLE'), lit('SYSTEM VERSIONED'), lit('VIEW')])
    .orderBy('TABLE_NAME')
)

/**
 * Rows of: table, name, type, declaration, nullable, default, extra, expression, comment, length, bytes, scale,
 * character set, SRID, collation, privileges of the account.
 */
export const columnsQuery = (isMariadb: boolean): string =>
  toText(
    db
      .selectFrom('information_schema.COLUMNS')
      .select((eb) => [
        'TABLE_NAME', 'COLUMN_NAME', 'DATA_TYPE', 'COLUMN_TYPE', 'IS_NULLABLE', 'COLUMN_DEFAULT', 'EXTRA',
        'GENERATION_EXPRESSION', 'COLUMN_COMMENT',
        eb.fn.coalesce('CHARACTER_MAXIMUM_LENGTH', 'NUMERIC_PRECISION').as('length'),
        'CHARACTER_OCTET_LENGTH',
        eb.fn.coalesce('DATETIME_PRECISION', 'NUMERIC_SCALE').as('scale'),
        'CHARACTER_SET_NAME',
        isMariadb ? lit(null).as('srid') : eb.ref('SRS_ID').as('srid'),
        'COLLATION_NAME',
        'PRIVILEGES'
      ])
      .where('TABLE_SCHEMA', '=', HERE)
      .orderBy('TABLE_NAME')
      .orderBy('ORDINAL_POSITION')
  )

/**
 * Rows of: table, index, column, not unique, position, order, length of a prefix, type, usable. MariaDB lists the
 * indexes of a table in the order of their definition.
 */
export const indexesQuery = (isMariadb: boolean): string => {
  const query = db
    .selectFrom('information_schema.STATISTICS')
    .select((eb) => [
      'TABLE_NAME', 'INDEX_NAME', 'COLUMN_NAME', 'NON_UNIQUE', 'SEQ_IN_INDEX', 'COLLATION', 'SUB_PART', 'INDEX_TYPE',
      (isMariadb ? eb('IGNORED', '=', lit('NO')) : eb('IS_VISIBLE', '=', lit('YES'))).as('usable')
    ])
    .where('TABLE_SCHEMA', '=', HERE)
  return toText(isMariadb ? query : query.orderBy('TABLE_NAME').orderBy('INDEX_NAME').orderBy('SEQ_IN_INDEX'))
}

/**
 * Rows of: table, key, column, referenced table, referenced column, whether that is in this database, position. In
 * MariaDB an account with privileges on single columns of a table sees only the names of its foreign keys, which are
 * added as rows without columns.
 */
export const foreignKeysQuery = (isMariadb: boolean): string => {
  const keys = db
    .selectFrom('information_schema.KEY_COLUMN_USAGE')
    .select((eb) => [
      'TABLE_NAME', 'CONSTRAINT_NAME', 'COLUMN_NAME', 'REFERENCED_TABLE_NAME', 'REFERENCED_COLUMN_NAME',
      eb('REFERENCED_TABLE_SCHEMA', '=', HERE).as('isHere'),
      'ORDINAL_POSITION'
    ])
    .where('TABLE_SCHEMA', '=', HERE)
    .where('REFERENCED_TABLE_SCHEMA', 'is not', null)
  const none = lit(null)
  const names = db
    .selectFrom('information_schema.TABLE_CONSTRAINTS')
    .select([
      'TABLE_NAME', 'CONSTRAINT_NAME', none.as('COLUMN_NAME'), none.as('REFERENCED_TABLE_NAME'),
      none.as('REFERENCED_COLUMN_NAME'), none.$castTo<never>().as('isHere'),
      lit(0).$castTo<Text>().as('ORDINAL_POSITION')
    ])
    .where('TABLE_SCHEMA', '=', HERE)
    .where('CONSTRAINT_TYPE', '=', lit('FOREIGN KEY'))
  return toText(
    (isMariadb ? keys.unionAll(names) : keys)
      .orderBy('TABLE_NAME')
      .orderBy('CONSTRAINT_NAME')
      .orderBy('ORDINAL_POSITION')
  )
}

/**
 * Rows of: table, foreign key. For these keys the server knows no key of the referenced table, as if that does not
 * exist.
 */
export const ROOTLESS_KEYS = toText(
  db
    .selectFrom('information_schema.REFERENTIAL_CONSTRAINTS')
    .select(['TABLE_NAME', 'CONSTRAINT_NAME'])
    .where('CONSTRAINT_SCHEMA', '=', HERE)
    .where('UNIQUE_CONSTRAINT_NAME', 'is', null)
)

/** Rows of: engine. */
export const ENGINES_WITHOUT_TRANSACTIONS = toText(
  db.selectFrom('information_schema.ENGINES').select('ENGINE').where('TRANSACTIONS', '=', lit('NO'))
)

/** A row if the engine of the table has no transactions. Parameter: the name. */
export const WITHOUT_TRANSACTIONS = toText(
  db
    .selectFrom('information_schema.TABLES as t')
    .innerJoin('information_schema.ENGINES as e', 'e.ENGINE', 't.ENGINE')
    .select('e.ENGINE')
    .where('t.TABLE_SCHEMA', '=', HERE)
    .where('t.TABLE_NAME', '=', sql<string>`${null}`)
    .where('e.TRANSACTIONS', '=', lit('NO'))
)

/** Rows of: table, timing, events, what it does, database. Only those that the account may see. */
export const TRIGGERS = toText(
  db
    .selectFrom('information_schema.TRIGGERS')
    .select(['EVENT_OBJECT_TABLE', 'ACTION_TIMING', 'EVENT_MANIPULATION', 'ACTION_STATEMENT', 'TRIGGER_SCHEMA'])
    .where('EVENT_OBJECT_SCHEMA', '=', HERE)
    .where('TRIGGER_SCHEMA', '=', HERE)
    .orderBy('EVENT_OBJECT_TABLE')
    .orderBy('TRIGGER_NAME')
)

/**
 * Rows of: level, pattern or table, privilege. By these the account may see triggers: on all databases, on this one by
 * each pattern that matches its name, and on single tables. Privileges of roles are not included.
 *
 * TRIGGER allows seeing triggers. In MariaDB since MDEV-37474 (2026), so do the privileges to write; these versions
 * have a nullable column DEFINER. With MySQL's partial revokes, a privilege on all databases does not count, because
 * this database may be excluded.
 */
export const privilegesQuery = (revokesPartially: boolean): string => {
  const host = sql<string>`substring_index(current_user(), '@', -1)`
  const user = sql<string>`left(current_user(), char_length(current_user()) - char_length(${host}) - 1)`
  const own = sql<string>`concat('''', ${user}, '''@''', ${host}, '''')`
  const noName = lit(null).$castTo<Text>().as('name')
  const all = db
    .selectFrom('information_schema.USER_PRIVILEGES')
    .select([lit('all').$castTo<string>().as('level'), noName, 'PRIVILEGE_TYPE'])
    .where('GRANTEE', '=', own)
  const ofDatabase = db
    .selectFrom('information_schema.SCHEMA_PRIVILEGES')
    .select([lit('database').$castTo<string>().as('level'), 'TABLE_SCHEMA as name', 'PRIVILEGE_TYPE'])
    .where('GRANTEE', '=', own)
    .where(
      sql<string>`convert(database() using utf8mb4) collate utf8mb4_bin`,
      'like',
      (eb) => sql<string>`convert(${eb.ref('TABLE_SCHEMA')} using utf8mb4)`
    )
  const ofTables = db
    .selectFrom('information_schema.TABLE_PRIVILEGES')
    .select([lit('table').$castTo<string>().as('level'), 'TABLE_NAME as name', 'PRIVILEGE_TYPE'])
    .where('GRANTEE', '=', own)
    .where('TABLE_SCHEMA', '=', HERE)
  const definer = db
    .selectFrom('information_schema.COLUMNS')
    .select([lit('definer').$castTo<string>().as('level'), noName, 'IS_NULLABLE as PRIVILEGE_TYPE'])
    .where('TABLE_SCHEMA', '=', lit('information_schema'))
    .where('TABLE_NAME', '=', lit('TRIGGERS'))
    .where('COLUMN_NAME', '=', lit('DEFINER'))
  const counted = revokesPartially ? all.where(sql<number>`@@partial_revokes`, '=', lit(0)) : all
  return toText(counted.unionAll(ofDatabase).unionAll(ofTables).unionAll(definer))
}

/** Rows of: table, name, clause. In MariaDB the name of a check is unique in its table, in MySQL in the database. */
export const checksQuery = (isMariadb: boolean): string =>
  toText(
    isMariadb
      ? db
        .selectFrom('information_schema.CHECK_CONSTRAINTS')
        .select(['TABLE_NAME', 'CONSTRAINT_NAME', 'CHECK_CLAUSE'])
        .where('CONSTRAINT_SCHEMA', '=', HERE)
        .orderBy('TABLE_NAME')
        .orderBy('CONSTRAINT_NAME')
      : db
        .selectFrom('information_schema.CHECK_CONSTRAINTS as c')
        .innerJoin('information_schema.TABLE_CONSTRAINTS as t', (join) =>
          join
            .onRef('t.CONSTRAINT_SCHEMA', '=', 'c.CONSTRAINT_SCHEMA')
            .onRef('t.CONSTRAINT_NAME', '=', 'c.CONSTRAINT_NAME')
            .on('t.CONSTRAINT_TYPE', '=', lit('CHECK'))
        )
        .select(['t.TABLE_NAME', 'c.CONSTRAINT_NAME', 'c.CHECK_CLAUSE'])
        .where('c.CONSTRAINT_SCHEMA', '=', HERE)
        .orderBy('t.TABLE_NAME')
        .orderBy('c.CONSTRAINT_NAME')
  )
