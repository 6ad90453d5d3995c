/** The statements on the table of idempotency keys. */
import { type Generated, type RawBuilder, sql } from 'kysely'
import { KEYS_TABLE } from '../catalog/catalog.ts'
import type { Engine } from '../catalog/traits.ts'
import { queriesOn, textOf } from './builder.ts'

/** The most keys that one statement deletes. */
export const DELETED_AT_ONCE = 1000

const db = queriesOn<{
  [KEYS_TABLE]: { k: Buffer; request: Buffer; answer: Buffer | null; created: Generated<string> }
}>()

/** Given when the statement runs. */
const given = <T>(): RawBuilder<T> => sql<T>`${null}`

/** Parameters: key, request. */
export const INSERT_RESERVATION = onBoth((engine) =>
  textOf(db.insertInto(KEYS_TABLE).values({ k: given<Buffer>(), request: given<Buffer>() }), engine)
)

/** Parameters: request, answer, key. */
export const UPDATE_ANSWER = onBoth((engine) => {
  const values = { request: given<Buffer>(), answer: given<Buffer>() }
  return textOf(db.updateTable(KEYS_TABLE).set(values).where('k', '=', given<Buffer>()), engine)
})

const answer = db.selectFrom(KEYS_TABLE).select(['request as v0', 'answer as v1']).where('k', '=', given<Buffer>())

/** Parameter: key. Waits for a transaction that holds the key; MariaDB has no FOR SHARE. */
export const SELECT_ANSWER: Readonly<Record<Engine, string>> = {
  mysql: textOf(answer.modifyEnd(sql`lock in share mode`), 'mysql'),
  sqlite: textOf(answer, 'sqlite')
}

/** The same for a server without shared locks. */
export const SELECT_ANSWER_ALONE = textOf(answer.modifyEnd(sql`for update`), 'mysql')

const expired = db
  .selectFrom(KEYS_TABLE)
  .select('k')
  .where('created', '<', sql<string>`datetime('now', '-' || ${null} || ' seconds')`)
  .limit(sql.lit(DELETED_AT_ONCE))

/** Parameter: age in seconds. */
export const DELETE_OLD: Readonly<Record<Engine, string>> = {
  mysql: textOf(
    db
      .deleteFrom(KEYS_TABLE)
      .where('created', '<', sql<string>`current_timestamp - interval ${null} second`)
      .limit(sql.lit(DELETED_AT_ONCE)),
    'mysql'
  ),
  sqlite: textOf(db.deleteFrom(KEYS_TABLE).where('k', 'in', expired), 'sqlite')
}

function onBoth (textFor: (engine: Engine) => string): Readonly<Record<Engine, string>> {
  return { mysql: textFor('mysql'), sqlite: textFor('sqlite') }
}
