/** Plans with holes: a value that is not known while a body is planned moves nothing but its own holes. */
import fc from 'fast-check'
import t from 'tap'
import type { Body } from '../../schemas/body.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { bodiesOf } from '../fuzz/bodies.ts'
import { read, write } from '../fuzz/json.ts'
import { describeTables, schema } from '../fuzz/tables.ts'
import { kindOf, type Outcome, type Place, planWithHoles, requireSame, withValue } from '../support/holes.ts'
import '../support/seed.ts'
import { onEachEngine } from '../support/service.ts'

const limits = { depth: 32, conditions: 256, values: 10_000, pattern: 100, offset: 100_000 }

/** Values that few columns accept. */
const ODD = ['', 'zzz', '😀', 'x'.repeat(300), '5', '-1.5', 'AA==', '2024-02-30', '2024-02-29', '%', '\\', 'a\0', '\ud800', 0, -1, 1.5, 7, 2 ** 40, 1e21, -0, true, false, ...['9007199254740993', '1e400', '18446744073709551616', '1.00'].map((text) => JSON.rawJSON(text))]

await onEachEngine(t, 'a plan with holes that is bound equals the plan with the values, and binding refuses what planning refuses', { schema }, async (t, service) => {
  const outcomes = new Map<Outcome, number>()
  for (const table of await describeTables(service)) {
    const planning = { source: alone(table.catalog), limits }
    const other = (body: Body, places: readonly Place[], pick: readonly number[]): Body => places.reduce<Body>((changed, { path, column, kind }, index) => {
      const seed = pick[index % pick.length] as number
      const own = fc.sample(table.values.get(column.name) ?? fc.constant('1'), { numRuns: 3, seed }).map(read)
      const values = [...seed % 3 === 0 ? ODD : own, ...ODD].filter((value) => kindOf(value) === kind)
      return values.length === 0 || seed % 5 === 0 ? changed : withValue(changed, path, values[seed % values.length])
    }, body)
    fc.assert(fc.property(bodiesOf(table), fc.array(fc.nat(), { minLength: 6, maxLength: 6 }), fc.array(fc.nat(), { minLength: 6, maxLength: 6 }), (json, ...picks) => {
      const body = read(write(json)) as Body
      const planned = planWithHoles(body, planning)
      const places = [...planned.every.places.values()]
      for (const each of [body, ...picks.map((pick) => other(body, places, pick))]) {
        const outcome = requireSame(planned, each, planning)
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }
    }), { numRuns: 150 })
  }
  t.comment([...outcomes].join(' '))
  t.ok((outcomes.get('bound') ?? 0) > 100 && (outcomes.get('refused') ?? 0) > 20)
})
