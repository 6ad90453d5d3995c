import t from 'tap'
import { alone, type Table } from '../../src/catalog/catalog.ts'
import type { InsertPlan } from '../../src/plan/plan.ts'
import { addCounts, countsOf } from '../../src/response/result.ts'
import { toBatch } from '../../src/sql/compile-insert.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const base = tableOf({
  columns: [
    mysqlColumn('id', 'int', { nullable: false, optional: false }), mysqlColumn('seen', 'int'),
    mysqlColumn('secret', 'int')
  ],
  primaryKey: ['id'],
  uniqueKeys: [{ name: 'PRIMARY', columns: ['id'] }]
})
const [, , secret] = base.columnList
const seen = base.columnList.filter((column) => column !== secret)
/** The table of a grant that writes the column `secret` and does not see it. */
const granted: Table = {
  ...base,
  columns: new Map(seen.map((column) => [column.name, column])),
  columnList: seen,
  granted: {
    base,
    shape: base,
    required: new Set(),
    writable: { insert: base.columns, update: base.columns },
    rules: [],
    parents: [],
    unchecked: []
  }
}

const counts = (data: object | object[], changed: number, { table = base, duplicates, onConflict }: {
  table?: Table, duplicates?: number, onConflict?: object
} = {}) => {
  const plan = createPlan(
    { verb: 'insert', data, ...onConflict !== undefined && { onConflict } } as never, alone(table), LIMITS
  ) as InsertPlan
  const { inserted, updated, unchanged } = countsOf(
    toBatch(plan, plan.rows), { rows: 0, changed, ...duplicates !== undefined && { duplicates } }
  )
  return [inserted, updated, unchanged]
}
const byId = { key: ['id'] }
const row = { id: 1, seen: 2 }
const rows = [row, { id: 2, seen: 2 }, { id: 3, seen: 2 }]

t.test('rows of an insert are new', async (t) => {
  t.same(counts(row, 1), [1, 0, 0])
  t.same(counts(rows, 3), [3, 0, 0])
})

t.test('a row of an upsert counts once if it is new, twice or more if it is updated, else not at all', async (t) => {
  for (const [changed, expected] of [[0, [0, 0, 1]], [1, [1, 0, 0]], [2, [0, 1, 0]], [3, [0, 1, 0]]] as const) {
    t.same(counts(row, changed, { onConflict: byId }), expected)
  }
})

t.test('of rows of an upsert, the database says how many it has updated', async (t) => {
  for (const [changed, duplicates, expected] of [
    [3, 0, [3, 0, 0]], [4, 1, [2, 1, 0]], [2, 1, [0, 1, 2]], [6, 3, [0, 3, 0]], [0, 0, [0, 0, 3]]
  ] as const) t.same(counts(rows, changed, { onConflict: byId, duplicates }), expected)
})

t.test('every row that exists counts as updated where a column is written that the grant does not see', async (t) => {
  const hidden = { id: 1, secret: 2 }
  const of = (data: object, changed: number, onConflict: object = byId) => counts(data, changed, {
    table: granted, onConflict
  })
  t.same(of(hidden, 0), [0, 1, 0])
  t.same(of(hidden, 1), [1, 0, 0])
  t.same(of(hidden, 2), [0, 1, 0])
  t.same(of(row, 0, { ...byId, set: { secret: 5 } }), [0, 1, 0])
  t.same(of(row, 0), [0, 0, 1], 'only columns that it sees')
  t.same(of(hidden, 0, { ...byId, set: [] }), [0, 0, 1], 'nothing is written')
  t.same(counts(hidden, 0, { onConflict: byId }), [0, 0, 1], 'a grant that sees all')
})

t.test('counts of several statements are added; the number is that of the first row', async (t) => {
  const first = { inserted: 1, updated: 2, unchanged: 3, insertId: '7' }
  t.equal(addCounts(undefined, first), first)
  t.same(addCounts(first, { inserted: 10, updated: 20, unchanged: 30, insertId: '9' }), {
    inserted: 11, updated: 22, unchanged: 33, insertId: '7'
  })
})
