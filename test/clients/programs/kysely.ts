/** The interfaces that `row-query types` writes, as those of a database that is asked by Kysely. */
import {
  DummyDriver,
  Kysely,
  MysqlAdapter,
  MysqlIntrospector,
  MysqlQueryCompiler,
  type Insertable,
  type Selectable,
  type Updateable
} from 'kysely'
import type { DB } from './shop.ts'

const db = new Kysely<DB>({
  dialect: {
    createAdapter: () => new MysqlAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (kysely) => new MysqlIntrospector(kysely),
    createQueryCompiler: () => new MysqlQueryCompiler()
  }
})

export type Customer = Selectable<DB['customers']>
export const customer: Insertable<DB['customers']> = { email: 'a', name: 'b' }
export const change: Updateable<DB['customers']> = { note: null, credit: 1.5 }
export const credit = (row: Customer): string => row.credit

const query = db.selectFrom('orders').innerJoin('customers', 'customers.id', 'orders.customer_id')
  .select([
    'orders.id', 'customers.name', 'orders.note'
  ]).where('customers.status', '=', 'new').orderBy('orders.id').limit(5)
console.log(query.compile().sql)
console.log(db.insertInto('orders').values({ customer_id: 1 }).compile().sql)
console.log(db.updateTable('orders').set({ note: 'x' }).where('id', '=', 1).compile().sql)

/** None of these compiles. */
export function mistakes (): void {
  // @ts-expect-error: a misspelt table
  db.selectFrom('order')
  // @ts-expect-error: a misspelt column
  db.selectFrom('orders').select('nota')
  // @ts-expect-error: a wrong type
  db.updateTable('orders').set({ note: 1 })
  // @ts-expect-error: a required column is missing
  db.insertInto('orders').values({ note: 'x' })
  // @ts-expect-error: a generated column
  db.updateTable('customers').set({ login: 'x' })
}
