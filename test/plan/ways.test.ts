/** How the rows of a write are written is decided once for each form of a request, and documented. */
import t from 'tap'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDocument, FILE } from '../../build/writes-doc.ts'
import type { Body } from '../../schemas/body.ts'
import { alone, type Table } from '../../src/catalog/catalog.ts'
import type { InsertPlan, PlannedRow } from '../../src/plan/plan.ts'
import { knownDecisions, wayOf } from '../../src/plan/writes.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const createTable = (columns = 3): Table => tableOf({
  columns: [
    mysqlColumn('id', 'int', { nullable: false, optional: false }),
    ...Array.from({ length: columns }, (_, index) => mysqlColumn(`column_${index}`, 'int', { defaultText: '1' }))
  ],
  primaryKey: ['id'],
  uniqueKeys: [{ name: 'PRIMARY', columns: ['id'] }]
})

const planOf = (table: Table, data: object, set?: object): InsertPlan =>
  createPlan({
    verb: 'insert', data, onConflict: { key: ['id'], ...(set !== undefined && { set }) }
  } as unknown as Body, alone(table), LIMITS) as InsertPlan

t.test('the document of the writes is what npm run docs writes', async (t) => {
  t.equal(createDocument(), readFileSync(FILE, 'utf8'), 'after a change of a decision: npm run docs')
})

t.test('the document says where it is done: the files that it names have the names beside them', async (t) => {
  const document = readFileSync(FILE, 'utf8')
  const section = ['The way of one upsert', 'Where is it done\\?'].map((heading) =>
    new RegExp(`^## ${heading}\\n\\n([^]*?)\\n\\n`, 'm').exec(document)?.[1]).join('\n')
  const missing = section.split('\n').flatMap((line) => {
    const names = Array.from(line.matchAll(/`([^`]+)`/g), ([, name = '']) => name)
    const files = names.filter((name) => name.endsWith('.ts'))
    const text = files.map((path) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')).join('\n')
    const words = names.filter((name) => !name.includes('/')).flatMap((name) => name.match(/\w+/g) ?? [])
    return words.filter((word) => !new RegExp(`\\b${word}\\b`).test(text))
  })
  t.same(missing, [])
  t.ok(section.split('\n').length >= 11)
})

t.test('requests of one form share the decision, whatever their values; a NULL is asked for each row', async (t) => {
  const table = createTable()
  const plans = [1, null].map((value) => planOf(table, [{ id: 1, column_0: value }]))
  t.equal(...plans.map(({ decisions }) => decisions.values().next().value) as [unknown, unknown])
  t.same(plans.map((plan) => plan.rows.map((row) => wayOf(plan, row).way)), [['guarded'], ['look-up']])
})

t.test('a grant shares the decisions of the table without the values of its rules', async (t) => {
  const base = createTable()
  const shape = { ...base }
  const granted = (): Table => ({
    ...base,
    granted: {
      base,
      shape,
      required: new Set(),
      writable: { insert: base.columns, update: base.columns },
      rules: [],
      parents: [],
      unchecked: []
    }
  })
  const [one, two] = [granted(), granted()].map((table) => planOf(table, { id: 1 }).decisions.values().next().value)
  t.ok(one !== undefined && one === two)
})

t.test('no form of a request gets the decision of another', async (t) => {
  const names = ['a', 'b', 'a,b', '1:a', '"', 'a","b']
  const table = tableOf({
    columns: [
      mysqlColumn('id', 'int', { nullable: false, optional: false }),
      ...names.map((name) => mysqlColumn(name, 'int', { defaultText: '1' }))
    ],
    primaryKey: ['id'],
    uniqueKeys: [{ name: 'PRIMARY', columns: ['id'] }]
  })
  const lists = [
    [], ...names.map((name) => [name]),
    ...names.flatMap((one) => names.filter((other) => other !== one).map((other) => [one, other]))
  ]
  const sets = [
    undefined, ...lists,
    ...names.flatMap((name) => [{ [name]: 1 }, { [name]: { $inc: 1 } }, { [name]: { $default: true } }])
  ]
  for (const set of sets) {
    const decided = lists.map((columns) => {
      const plan = planOf(table, { id: 1, ...Object.fromEntries(columns.map((name) => [name, 1])) }, set)
      const [decision] = plan.decisions.values()
      return [
        decision?.columns.slice(1).map(({ name }) => name), decision?.written.map(({ name }) => name),
        wayOf(plan, plan.rows[0] as PlannedRow).way
      ]
    })
    const isUnknown = set !== undefined && !Array.isArray(set) && typeof Object.values(set)[0] === 'object'
    t.same(decided, lists.map((columns) => [
      columns, set === undefined ? columns : Array.isArray(set) ? set : Object.keys(set),
      isUnknown ? 'look-up' : 'guarded'
    ]))
  }
})

t.test('the decisions that are kept have a limit, whatever columns clients name', async (t) => {
  const table = createTable(200)
  const before = knownDecisions.bytes
  for (let count = 0; count < 1000; count++) {
    const columns = Array.from({ length: 10 }, (_, bit) => bit).filter((bit) => (count >> bit & 1) === 1)
    planOf(table, { id: 1, ...Object.fromEntries(columns.map((index) => [`column_${index}`, 1])) })
  }
  t.ok(knownDecisions.bytes - before < 200_000, `one table: ${knownDecisions.bytes - before} bytes`)
  for (let tables = 0; tables < 60; tables++) {
    const other = createTable(13)
    for (let count = 0; count < 100; count++) {
      planOf(other, {
        id: 1,
        ...Object.fromEntries(Array.from(
          { length: 13 }, (_, index) => [`column_${index}`, 1] as const
        ).filter((_, bit) => (count + 4096 >> bit & 1) === 1))
      })
    }
  }
  t.ok(knownDecisions.bytes <= 4 * 1024 * 1024, `many tables: ${knownDecisions.bytes} bytes`)
})
