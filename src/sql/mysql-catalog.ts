/** The queries that read the tables of a database of MySQL or MariaDB. */
import { sql } from 'kysely'
import { queriesOn, textOf } from './builder.ts'

type Text = string | null

const db = queriesOn<{
  'information_schema.TABLES': {
    TABLE_SCHEMA: string
    TABLE_NAME: string
    TABLE_TYPE: string
    TABLE_COMMENT: string
    ENGINE: Text
  }
  'information_schema.COLUMNS': {
    TABLE_SCHEMA: string
    TABLE_NAME: string
    COLUMN_NAME: string
    ORDINAL_POSITION: number
    DATA_TYPE: string
    COLUMN_TYPE: string
    IS_NULLABLE: string
    COLUMN_DEFAULT: Text
    EXTRA: Text
    GENERATION_EXPRESSION: Text
    COLUMN_COMMENT: string
    CHARACTER_MAXIMUM_LENGTH: number | null
    CHARACTER_OCTET_LENGTH: number | null
    NUMERIC_PRECISION: number | null
    NUMERIC_SCALE: number | null
    DATETIME_PRECISION: number | null
    CHARACTER_SET_NAME: Text
    COLLATION_NAME: Text
    PRIVILEGES: string
    /** MySQL */
    SRS_ID: number | null
  }
  'information_schema.STATISTICS': {
    TABLE_SCHEMA: string
    TABLE_NAME: string
    INDEX_NAME: string
    COLUMN_NAME: Text
    NON_UNIQUE: number
    SEQ_IN_INDEX: number
    COLLATION: Text
    SUB_PART: number | null
    INDEX_TYPE: string
    /** MariaDB */
    IGNORED: string
    /** MySQL */
    IS_VISIBLE: string
  }
  'information_schema.KEY_COLUMN_USAGE': {
    TABLE_SCHEMA: string
    TABLE_NAME: string
    CONSTRAINT_NAME: string
    COLUMN_NAME: Text
    ORDINAL_POSITION: number
    REFERENCED_TABLE_SCHEMA: Text
    REFERENCED_TABLE_NAME: Text
    REFERENCED_COLUMN_NAME: Text
  }
  'information_schema.REFERENTIAL_CONSTRAINTS': {
    CONSTRAINT_SCHEMA: string
    TABLE_NAME: string
    CONSTRAINT_NAME: string
    UNIQUE_CONSTRAINT_NAME: Text
  }
  'information_schema.TABLE_CONSTRAINTS': {
    TABLE_SCHEMA: string
    TABLE_NAME: string
    CONSTRAINT_SCHEMA: string
    CONSTRAINT_NAME: string
    CONSTRAINT_TYPE: string
  }
  'information_schema.CHECK_CONSTRAINTS': {
    CONSTRAINT_SCHEMA: string
    CONSTRAINT_NAME: string
    CHECK_CLAUSE: string
    /** MariaDB */
    TABLE_NAME: string
  }
  'information_schema.ENGINES': { ENGINE: string; TRANSACTIONS: Text }
  'information_schema.TRIGGERS': {
    TRIGGER_SCHEMA: string
    TRIGGER_NAME: string
    EVENT_OBJECT_SCHEMA: string
    EVENT_OBJECT_TABLE: string
    ACTION_TIMING: string
    EVENT_MANIPULATION: string
    ACTION_STATEMENT: Text
  }
  'information_schema.USER_PRIVILEGES': { GRANTEE: string; PRIVILEGE_TYPE: string }
  'information_schema.SCHEMA_PRIVILEGES': { GRANTEE: string; TABLE_SCHEMA: string; PRIVILEGE_TYPE: string }
  'information_schema.TABLE_PRIVILEGES': {
    GRANTEE: string
    TABLE_SCHEMA: string
    TABLE_NAME: string
    PRIVILEGE_TYPE: string
  }
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
      .select([
        'TABLE_NAME',
        'COLUMN_NAME',
        'DATA_TYPE',
        'COLUMN_TYPE',
        'IS_NULLABLE',
        'COLUMN_DEFAULT',
        'EXTRA',
        'GENERATION_EXPRESSION',
        'COLUMN_COMMENT'
      ])
      .select((eb) => [
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
    .select([
      'TABLE_NAME',
      'INDEX_NAME',
      'COLUMN_NAME',
      'NON_UNIQUE',
      'SEQ_IN_INDEX',
      'COLLATION',
      'SUB_PART',
      'INDEX_TYPE'
    ])
    .select((eb) => (isMariadb ? eb('IGNORED', '=', lit('NO')) : eb('IS_VISIBLE', '=', lit('YES'))).as('usable'))
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
      'TABLE_NAME',
      'CONSTRAINT_NAME',
      'COLUMN_NAME',
      'REFERENCED_TABLE_NAME',
      'REFERENCED_COLUMN_NAME',
      eb('REFERENCED_TABLE_SCHEMA', '=', HERE).as('isHere'),
      'ORDINAL_POSITION'
    ])
    .where('TABLE_SCHEMA', '=', HERE)
    .where('REFERENCED_TABLE_SCHEMA', 'is not', null)
  const none = lit(null)
  const names = db
    .selectFrom('information_schema.TABLE_CONSTRAINTS')
    .select([
      'TABLE_NAME',
      'CONSTRAINT_NAME',
      none.as('COLUMN_NAME'),
      none.as('REFERENCED_TABLE_NAME'),
      none.as('REFERENCED_COLUMN_NAME'),
      none.$castTo<never>().as('isHere'),
      lit(0).as('ORDINAL_POSITION')
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
 * Rows of: table, foreign key. Selects the keys for which the server knows no key of the referenced table, as if that
 * does not exist.
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

/** Rows of: table, timing, events, what it does, database. Contains only the triggers that the account may see. */
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
 * Rows of: level, pattern or table, privilege. Selects the privileges by which the account may see triggers: on all
 * databases, on this one by each pattern that matches its name, and on single tables. Privileges of roles are not
 * included.
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
