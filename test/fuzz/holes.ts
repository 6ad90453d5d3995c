/** Random bodies, and others of their shapes, under the law of plans with holes. */
import fc from 'fast-check'
import type { Body } from '../../schemas/body.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { kindOf, type Outcome, type Place, planWithHoles, requireSame, withValue } from '../support/holes.ts'
import { bodiesOf } from './bodies.ts'
import { read, write } from './json.ts'
import type { FuzzTable } from './tables.ts'

export const limits = { depth: 32, conditions: 256, values: 10_000, pattern: 100, offset: 100_000 }

/** Values that few columns accept. */
const ODD = [
  '', 'zzz', '😀', 'x'.repeat(300), '5', '-1.5', 'AA==', '2024-02-30', '2024-02-29', '%', '\\', 'a\0', '\ud800', 0, -1,
  1.5, 7, 2 ** 40, 1e21, -0, true, false,
  ...['9007199254740993', '1e400', '18446744073709551616', '1.00'].map((text) => JSON.rawJSON(text))
]

const picks = fc.array(fc.nat(), { minLength: 6, maxLength: 6 })

/** The body with other values of the same kinds. */
export function withOthers (
  { values }: FuzzTable, body: Body, places: readonly Place[], picked: readonly number[]
): Body {
  return places.reduce<Body>((changed, { path, column, kind }, index) => {
    const seed = picked[index % picked.length] as number
    const own = fc.sample(values.get(column.name) ?? fc.constant('1'), { numRuns: 3, seed }).map(read)
    const others = [...seed % 3 === 0 ? ODD : own, ...ODD].filter((value) => kindOf(value) === kind)
    return others.length === 0 || seed % 5 === 0 ? changed : withValue(changed, path, others[seed % others.length])
  }, body)
}

/** How often each outcome occurs with the bodies of some tables. @throws if a plan breaks the law */
export function countOutcomes (tables: readonly FuzzTable[], numRuns: number): ReadonlyMap<Outcome, number> {
  const outcomes = new Map<Outcome, number>()
  for (const table of tables) {
    const planning = { source: alone(table.catalog), limits }
    fc.assert(fc.property(bodiesOf(table), picks, picks, (json, ...picked) => {
      const body = read(write(json)) as Body
      const planned = planWithHoles(body, planning)
      const places = [...planned.every.places.values()]
      for (const each of [body, ...picked.map((pick) => withOthers(table, body, places, pick))]) {
        const outcome = requireSame(planned, each, planning)
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }
    }), { numRuns })
  }
  return outcomes
}
