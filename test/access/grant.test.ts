import t from 'tap'
import { seesDatabase, seesTable, type Grant } from '../../src/access/grant.ts'

const grant = (databases: Grant['databases']): Grant => ({ name: 'test', permissions: new Set(['select']), databases })

t.test('a grant for every database sees all of them and their tables', async (t) => {
  t.ok(seesDatabase(grant('all'), 'shop'))
  t.ok(seesTable(grant('all'), 'shop', 'orders'))
})

t.test('a grant for named databases and tables sees only those', async (t) => {
  const some = grant(new Map<string, 'all' | Set<string>>([['shop', 'all'], ['staff', new Set(['people', '__proto__'])]]))
  const seen: Array<[database: string, table: string, database_: boolean, table_: boolean]> = [
    ['shop', 'anything', true, true],
    ['staff', 'people', true, true],
    ['staff', '__proto__', true, true],
    ['staff', 'People', true, false],
    ['staff', 'wages', true, false],
    ['staff', 'constructor', true, false],
    ['other', 'people', false, false],
    ['__proto__', 'people', false, false],
    ['constructor', 'name', false, false]
  ]
  for (const [database, table, seesIt, seesTableOfIt] of seen) {
    t.equal(seesDatabase(some, database), seesIt, database)
    t.equal(seesTable(some, database, table), seesTableOfIt, `${database}.${table}`)
  }
})

t.test('a grant for nothing sees nothing', async (t) => {
  t.notOk(seesDatabase(grant(new Map()), 'shop'))
  t.notOk(seesTable(grant(new Map()), 'shop', 'orders'))
})
