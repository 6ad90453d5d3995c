// alone: adds an operator to the schemas before they are used
/**
 * An operator that is added to the table of schemas/filters.ts, and its planner, are all that filters, references and
 * documents need.
 */
import t from 'tap'
import { OPERATORS, type FilterOperator } from '../../schemas/filters.ts'
import type { PlannedOperator } from '../../src/plan/filters/operators.ts'
import { readDocument } from '../support/markdown.ts'

const names = Object.keys(OPERATORS)
// before the modules that derive something from the table
Object.assign(OPERATORS, { $outside: { needs: 'order', operand: 'pair' } satisfies FilterOperator })
const { onEachEngine, TOKEN } = await import('../support/service.ts')
const { anyEngine } = await import('../support/rotation.ts')
const { operators } = await import('../../src/plan/filters/operators.ts')
const { negate } = await import('../../src/plan/filters/scope.ts')
const between = operators.get('$between') as PlannedOperator
Object.assign(operators.get(
  '$outside'
) as PlannedOperator, { plan: (operand) => negate(between.plan(operand)) } satisfies Partial<PlannedOperator>)

const create = 'create table steps (id integer not null primary key, word varchar(10) not null, note text null)'
const insert = "insert into steps (id, word) values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')"

await onEachEngine(t, 'a new operator filters rows, takes references in its list, and stands in the document', {
  schema: { sqlite: [create, insert], mysql: [create, insert] }, only: await anyEngine(t)
}, async (t, { post, operate, server }) => {
  const select = (filters: object): object => ({
    table: 'steps', verb: 'select', columns: ['id'], filters, orderBy: 'id'
  })
  const { table, ...body } = select({ id: { $outside: [2, 3] } }) as { table: string }
  t.same((await post(table, body)).json.data, { rows: [{ id: 1 }, { id: 4 }], count: 2 })
  const { json } = await operate([
    select({ id: 2 }), select({ id: { $outside: [{ $ref: '/0/rows/0/id' }, 3] } }),
    select({ $and: [{ $not: { id: { $outside: [{ $ref: '/0/rows/0/id' }, 3] } } }] })
  ])
  t.same(
    json.data.results?.slice(1),
    [{ rows: [{ id: 1 }, { id: 4 }], count: 2 }, { rows: [{ id: 2 }, { id: 3 }], count: 2 }], JSON.stringify(json)
  )
  t.match((await post(table, { ...body, filters: { id: { $outside: [1] } } })).json.error, { code: 'INVALID_VALUE' })

  const { components: { schemas } } = (await server.app.inject({
    url: '/api/shop/openapi.json', headers: { authorization: `Bearer ${TOKEN}` }
  })).json()
  const shown = (column: string): any => schemas[schemas.StepsFilters.properties[column].$ref.split('/').at(
    -1
  )].anyOf.find((each: any) => each.properties?.$between !== undefined).properties
  t.same(shown('id').$outside, shown('id').$between)
  t.match(shown('word').$outside, { type: 'array', minItems: 2, maxItems: 2 })
})

t.test('every operator is documented', async (t) => {
  const documents = ['docs/requests.md', 'docs/values.md'].map(readDocument).join('\n')
  t.same(names.filter((name) => !documents.includes(`\`${name}\``) && !documents.includes(`"${name}"`)), [])
})
