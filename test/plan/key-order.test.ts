import fc from 'fast-check'
import t from 'tap'
import { isAnyOrder, sortByKey } from '../../src/plan/key-order.ts'
import type { Conflict, PlannedRow } from '../../src/plan/plan.ts'
import type { Parameter } from '../../src/types/column-type.ts'
import '../support/seed.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const key = mysqlColumn('k', 'varchar(20)')
const other = mysqlColumn('o', 'int')
const rowsOf = (values: readonly Parameter[]): PlannedRow[] => values.map((value, index) => ({ index, columns: [key], parameters: [value] }))
const sorted = (...values: Parameter[]): unknown[] => sortByKey(rowsOf(values), [key]).map(({ parameters }) => parameters[0])

t.test('rows are sorted by their key, numbers before texts', async (t) => {
  t.same(sorted('b', 'a', 'c'), ['a', 'b', 'c'])
  t.same(sorted(3n, 1n, -2n, 10n), [-2n, 1n, 3n, 10n])
  t.same(sorted('10.00', '9.00', 'x', '-1.00'), ['-1.00', '9.00', '10.00', 'x'])
  t.same(sorted(Buffer.from('b'), Buffer.from('a')), [Buffer.from('a'), Buffer.from('b')])
  t.same(sorted(0.5, 0.25), [0.25, 0.5])
  t.same(sortByKey([{ index: 0, columns: [key], parameters: ['b'] }, { index: 1, columns: [other, key], parameters: [1n, 'a'] }], [key]).map(({ index }) => index), [1, 0])
})

t.test('keys that a collation may consider equal keep their order', async (t) => {
  for (const same of [['a', 'A'], ['a ', 'a'], ['Wv', 'vW'], ['jy', 'ii'], ['ccs', 'cscs'], ['07', '7'], [Buffer.from('a\0'), Buffer.from('a')], [null, null], [0.1, Math.fround(0.1)]]) {
    t.same(sorted(...same), same)
    t.same(sorted(...same.toReversed()), same.toReversed())
  }
  t.same(sorted('b', 'é', 'a'), ['b', 'é', 'a'], 'nothing is known of texts beyond ASCII')
})

t.test('two requests with the same keys write them in the same order', async () => {
  fc.assert(fc.property(fc.uniqueArray(fc.stringMatching(/^[a-h0-9_ -]{1,6}$/), { selector: (text) => text.trimEnd() }), fc.integer(), (keys, seed) => {
    const [first, second] = [keys, keys.toSorted((a, b) => (a.length * 31 + seed) % 7 - (b.length * 31 + seed) % 7)].map((each) => JSON.stringify(sorted(...each.filter((text) => /[a-h]/.test(text)))))
    return first === second
  }))
})

t.test('rows are only sorted if their order makes no difference', async (t) => {
  const uniqueKeys = [{ name: 'k', columns: ['k'] }, { name: 'o', columns: ['o'] }]
  const table = tableOf({ columns: [key, other, mysqlColumn('v', 'int')], uniqueKeys })
  const [, , v] = table.columnList as [unknown, unknown, typeof other]
  const rows: PlannedRow[] = [{ index: 0, columns: [key, v], parameters: ['a', 1n] }, { index: 1, columns: [key, other], parameters: ['b', 1n] }]
  const conflict = (set: Conflict['set']): Conflict => ({ key: [key], set })
  t.notOk(isAnyOrder(rows, conflict({ kind: 'given' }), table), 'a row writes a column of another key')
  t.ok(isAnyOrder(rows.slice(0, 1), conflict({ kind: 'given' }), table))
  t.ok(isAnyOrder(rows, conflict({ kind: 'columns', columns: [v] }), table))
  t.notOk(isAnyOrder(rows, conflict({ kind: 'columns', columns: [key] }), table))
  t.notOk(isAnyOrder(rows, conflict({ kind: 'assignments', assignments: [{ column: other, parameter: 1n }] }), table))
  const foreignKeys = [{ name: 'f', columns: ['v'], referencedTable: 'items', referencedColumns: ['o'] }]
  t.notOk(isAnyOrder(rows, conflict({ kind: 'columns', columns: [] }), tableOf({ columns: [key, other, v], uniqueKeys, foreignKeys })), 'rows may refer to each other')
})
