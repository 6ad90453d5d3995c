/** Random bodies, and others of their shapes, under the law of plans with holes. */
import fc from 'fast-check'
import type { Body } from '../../schemas/body.ts'
import { getOrCreate } from '../../src/bounded-map.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { parseExactJson } from '../../src/json/exact-json.ts'
import { kindOf, type Outcome, type Place, planWithHoles, requireSame, withValue } from '../support/holes.ts'
import { bodiesOf } from './bodies.ts'
import { type Json, write } from './json.ts'
import type { JsonTexts } from '../support/values.ts'
import type { FuzzTable } from './tables.ts'

export const limits = { depth: 32, conditions: 256, values: 10_000, pattern: 100, offset: 100_000 }

/** As the service reads it. */
export const readBody = (json: Json): any => parseExactJson(write(json))

/** Values that few columns accept. */
const ODD = [
  '', 'zzz', '😀', 'x'.repeat(300), '5', '-1.5', 'AA==', '2024-02-30', '2024-02-29', '%', '\\', 'a\0', '\ud800', 0, -1,
  1.5, 7, 2 ** 40, 1e21, -0, true, false,
  ...['9007199254740993', '1e400', '18446744073709551616', '1.00'].map((text) => JSON.rawJSON(text))
]

export const picks = fc.array(fc.nat(), { minLength: 6, maxLength: 6 })

const ONE: JsonTexts = fc.constant('1')
const SAMPLES = 200
const samples = new WeakMap<JsonTexts, unknown[]>()

/** Samples of a column, drawn once: drawing takes longer than a request. */
const samplesOf = (texts: JsonTexts): unknown[] =>
  getOrCreate(samples, texts, () => fc.sample(texts, { numRuns: SAMPLES, seed: 1 }).map(readBody))

/** The body with other values of the same kinds. */
export function withOthers (
  { values }: FuzzTable, body: Body, places: readonly Place[], picked: readonly number[]
): Body {
  return places.reduce<Body>((changed, { path, column, kind }, index) => {
    const pick = picked[index % picked.length] as number
    if (pick % 5 === 0) return changed
    const own = pick % 3 === 0 ? [] : samplesOf(values.get(column.name) ?? ONE)
    const others = [...own, ...ODD].filter((value) => kindOf(value) === kind)
    return others.length === 0 ? changed : withValue(changed, path, others[pick % others.length])
  }, body)
}

/** How often each outcome occurs with the bodies of some tables. @throws if a plan breaks the law */
export function countOutcomes (tables: readonly FuzzTable[], numRuns: number): ReadonlyMap<Outcome, number> {
  const outcomes = new Map<Outcome, number>()
  for (const table of tables) {
    const planning = { source: alone(table.catalog), limits }
    fc.assert(fc.property(bodiesOf(table), picks, picks, (json, ...picked) => {
      const body = readBody(json) as Body
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
