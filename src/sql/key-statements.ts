/** The statements on the table of idempotency keys. */
import { sql, type Generated, type RawBuilder } from 'kysely'
import { KEYS_TABLE } from '../catalog/catalog.ts'
import { queriesOn, textOf } from './typed-query.ts'
import type { Engine } from './statement.ts'

interface Keys { [KEYS_TABLE]: { k: Buffer, request: Buffer, answer: Buffer | null, created: Generated<string> } }

/** Maximum number of keys that are deleted at a time. */
export const DELETED_AT_ONCE = 1000

const db = queriesOn<Keys>()

/** A placeholder, whose value is given when the statement runs. */
const given = <T>(): RawBuilder<T> => sql<T>`${null}`

/** Parameters: key, request. */
export const INSERT_RESERVATION = onBoth((engine) => textOf(db.insertInto(KEYS_TABLE).values({ k: given<Buffer>(), request: given<Buffer>() }), engine))

/** Parameters: answer, key. */
export const UPDATE_ANSWER = onBoth((engine) => textOf(db.updateTable(KEYS_TABLE).set('answer', given<Buffer>()).where('k', '=', given<Buffer>()), engine))

const answer = db.selectFrom(KEYS_TABLE).select(['request as v0', 'answer as v1']).where('k', '=', given<Buffer>())

/** Parameter: key. Waits for a transaction that holds the key; MariaDB has no FOR SHARE. */
export const SELECT_ANSWER: Readonly<Record<Engine, string>> = { mysql: textOf(answer.modifyEnd(sql`lock in share mode`), 'mysql'), sqlite: textOf(answer, 'sqlite') }

const expired = db.selectFrom(KEYS_TABLE).select('k').where('created', '<', sql<string>`datetime('now', '-' || ${null} || ' seconds')`).limit(sql.lit(DELETED_AT_ONCE))

/** Parameter: age in seconds. */
export const DELETE_OLD: Readonly<Record<Engine, string>> = {
  mysql: textOf(db.deleteFrom(KEYS_TABLE).where('created', '<', sql<string>`current_timestamp - interval ${null} second`).limit(sql.lit(DELETED_AT_ONCE)), 'mysql'),
  sqlite: textOf(db.deleteFrom(KEYS_TABLE).where('k', 'in', expired), 'sqlite')
}

function onBoth (textFor: (engine: Engine) => string): Readonly<Record<Engine, string>> {
  return { mysql: textFor('mysql'), sqlite: textFor('sqlite') }
}
