// night: many random cases
/** The statements of rows with members are kept by their shapes too: the kept ones equal those that are compiled for tables that have none yet. */
import fc, { type Arbitrary } from 'fast-check'
import t from 'tap'
import { createCatalog, type Catalog } from '../../src/catalog/catalog.ts'
import { createPlan } from '../../src/plan/create-plan.ts'
import { cellsOf, cellsOfMember, type Cells } from '../../src/plan/cells.ts'
import type { ListMember, SelectPlan } from '../../src/plan/plan.ts'
import { compileStatement } from '../../src/sql/compile.ts'
import { compileFirst, compileLinked, type LinkValues } from '../../src/sql/linked-rows.ts'
import type { Engine, Statement } from '../../src/sql/statement.ts'
import '../support/seed.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, sqliteColumn } from '../support/tables.ts'

const NAMES = ['t?', 't0', 'c1.x']

/** Three tables with the same columns, of which each index of the last one begins with. */
function createTables (engine: Engine): Catalog {
  const column = engine === 'mysql' ? mysqlColumn : sqliteColumn
  const index = (name: string, unique: boolean, ...columns: string[]) => ({ name, unique, ordered: true, parts: columns.map((each) => ({ column: each, descending: false, prefix: false })) })
  return createCatalog(NAMES.map((name) => ({
    name,
    kind: 'table' as const,
    comment: '',
    engine: '',
    transactional: true,
    triggers: { known: true, list: [] },
    columns: [column('id', 'bigint', { nullable: false }), column('p', 'int'), column('s', 'varchar(20)'), column('d', 'decimal(10,2)')],
    primaryKey: ['id'],
    uniqueKeys: [],
    indexes: [index('PRIMARY', true, 'id'), index('by?p', false, 'p', 's'), index('by s', false, 's'), index('both', true, 'p', 's')],
    foreignKeys: [],
    checks: []
  })), 0)
}

const filters = fc.constantFrom<object>({}, {}, { d: '1.50' }, { d: { $gt: 2 } }, { p: 1 }, { s: 'x' }, { s: { $in: ['a', 'b'] } }, { s: { $in: ['c', 'd'] } }, { $or: [{ id: 1 }, { d: null }] }, { id: { $in: [] } })
const columns = fc.shuffledSubarray(['id', 'p', 's', 'd'], { minLength: 1 })
const aggregates = fc.constantFrom<object>({ n: { $count: '*' } }, { n: { $max: 'd' }, m: { $count: 'p', filters: { s: 'x' } } }, { n: { $max: 'd' }, m: { $count: 'p', filters: { s: 'y' } } })
const on = fc.constantFrom<object>({ id: 'id' }, { p: 'id' }, { id: 'p' }, { p: 'p' }, { s: 's' }, { p: 'p', s: 's' }, { s: 's', id: 'p' })

const member = (level: number): Arbitrary<object> => fc.oneof(
  fc.record({ table: fc.constantFrom(...NAMES), on, filters, aggregates }),
  fc.record({ table: fc.constantFrom(...NAMES), on, filters, columns, limit: fc.constantFrom(1, 5), orderBy: fc.constantFrom('s', 'd DESC', 's DESC, id'), ...level < 3 && { include: members(level + 1) } }, { requiredKeys: ['table', 'on'] })
)
const members = (level: number): Arbitrary<object> => fc.dictionary(fc.constantFrom('one', 'm0', 'm1'), fc.memo(member)(level), { minKeys: 1, maxKeys: 2 })

const body = fc.record({
  verb: fc.constant('select'), filters, columns, limit: fc.constantFrom(2, 100), orderBy: fc.constantFrom('id', 's DESC, id'), include: members(1), after: fc.constantFrom(null), offset: fc.constant(3)
}, { requiredKeys: ['verb', 'include'] })

/** All statements of a plan, for the values of so many rows. */
function statementsOf (plan: SelectPlan, engine: Engine, counts: { kept: number, built: number }): Statement[] {
  const rows = [1, 3].map((count) => Array.from({ length: count }, (_, place) => place))
  const ofMember = (each: ListMember): Statement[] => {
    const statements = rows.flatMap((places) => {
      const linked = places.map((place): LinkValues => ({ place, values: each.on.map(({ other }) => other.type.read(other.name === 's' ? `x${place}` : place)) }))
      const first = engine === 'mysql' && each.kind === 'many' && each.on.length === 1 ? [compileFirst(each, linked, 7, counts)] : []
      return [...first, ...compileLinked(each, linked, engine, counts)]
    })
    return [...statements, ...each.kind === 'many' ? ofLinks(cellsOfMember(each)) : []]
  }
  const ofLinks = ({ links }: Cells): Statement[] => links.flatMap(({ member }) => ofMember(member))
  return [compileStatement(plan, engine, counts), ...ofLinks(cellsOf(plan))]
}

const shown = ({ sql, pieces, parameters, columns, sources, confirmation }: Statement): unknown[] =>
  [sql, pieces, parameters.map(String), columns.map(({ name, declaration }) => [name, declaration]), sources?.map(({ name }) => name), confirmation?.sql, confirmation?.sources?.map(({ name }) => name)]

for (const engine of ['mysql', 'sqlite'] as const) {
  t.test(`kept statements of rows with members equal freshly compiled ones (${engine})`, async (t) => {
    const kept = createTables(engine)
    const counts = { kept: 0, built: 0 }
    let refused = 0
    fc.assert(fc.property(fc.constantFrom(...NAMES), body as Arbitrary<any>, (name, request) => {
      const plan = (catalog: Catalog): SelectPlan => createPlan(request, { table: catalog.tables.get(name) as never, see: (other) => catalog.tables.get(other) as never }, { ...LIMITS, include: { levels: 3, members: 10 } }) as SelectPlan
      let mine: SelectPlan
      try {
        mine = plan(kept)
      } catch {
        refused++
        return
      }
      const fresh = statementsOf(plan(createTables(engine)), engine, { kept: 0, built: 0 }).map(shown)
      for (let time = 0; time < 2; time++) {
        const found = statementsOf(mine, engine, counts).map(shown)
        if (JSON.stringify(found) !== JSON.stringify(fresh)) throw new Error(`${JSON.stringify(found)}\n${JSON.stringify(fresh)}`)
      }
    }), { numRuns: 1000 })
    t.comment(JSON.stringify({ ...counts, refused }))
    t.ok(counts.kept > counts.built && refused < 700, JSON.stringify({ ...counts, refused }))
  })
}
