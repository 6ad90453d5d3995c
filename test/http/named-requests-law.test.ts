/**
 * The law of named requests: without `as`, a call has the plan of its body with the values in place, the first call and
 * each later one.
 */
import fc from 'fast-check'
import t from 'tap'
import type { Body } from '../../schemas/body.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { bindCall } from '../../src/named/call.ts'
import { type NamedRequest, readRequests } from '../../src/named/definition.ts'
import { PlansOfCall } from '../../src/named/plans.ts'
import type { Plan } from '../../src/plan/plan.ts'
import { parseBody } from '../../src/request/check-body.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { bodiesOf } from '../fuzz/bodies.ts'
import { write } from '../fuzz/json.ts'
import { describeTables, type FuzzTable, schema } from '../fuzz/tables.ts'
import { differenceOf, kindOf, type Place, planWithHoles, valueAt, withValue } from '../support/holes.ts'
import '../support/seed.ts'
import { anyEngine } from '../support/rotation.ts'
import { onEachEngine } from '../support/service.ts'
import { LIMITS } from '../support/sql.ts'

const limits = { ...LIMITS, include: { levels: 3, members: 10 }, operations: 10, importRow: 1024 }

/** The request with parameters in these places; undefined where one may not stand there. */
function define (table: string, body: Body, places: readonly Place['path'][]): NamedRequest | undefined {
  const errors: string[] = []
  const inBody = places.reduce<any>((changed, path, index) => withValue(changed, path, { $param: `p${index}` }), body)
  const parameters = Object.fromEntries(places.map((_path, index) => [`p${index}`, {}]))
  const requests = readRequests(errors, { r: { database: 'shop', table, parameters, body: inBody } }, {
    databases: new Set(['shop']), requestRoles: new Map(), otherRoles: new Map(), isInvalidRole: () => false, limits
  })
  return errors.length === 0 ? requests.get('r') : undefined
}

function attempt (plan: () => Plan): Plan | Error {
  try {
    return plan()
  } catch (error) {
    return error as Error
  }
}

/** The whole operand of `$in`, `$nin` and `$has` is a list. */
const listOf = (path: Place['path']): Place['path'] =>
  ['$in', '$nin', '$has'].includes(String(path.at(-2))) ? path.slice(0, -1) : path

/** Compares the plan of a call with that of the body. Returns whether its plan was bound. @throws if they differ */
function requireSame (
  request: NamedRequest, body: Body, places: readonly Place['path'][], source: ReturnType<typeof alone>
): string {
  const values = Object.fromEntries(places.map((path, index) => [`p${index}`, valueAt(body, path)]))
  const planned = attempt(() => createPlan(body, source, limits))
  let isBound = true
  const called = attempt(() => {
    const call = bindCall(request, { values, isText: false }, limits)
    const [found] = new PlansOfCall(call, limits).find([source]) ?? []
    isBound = found !== undefined
    return found?.plan ?? createPlan(call.body as Body, source, { ...limits, standIns: call.parameters })
  })
  const failed = (why: string): never => {
    throw new Error(`${why}: ${write(body as never)} with ${JSON.stringify(places)}`)
  }
  if (planned instanceof Error || called instanceof Error) {
    const [one, other] = [planned, called].map(
      (each) => each instanceof Error ? (each as Error & { code: string }).code : 'planned'
    )
    return one === other
      ? 'refused'
      : failed(
        `the body is ${String(one)}, the call ${String(other)} (${called instanceof Error ? called.message : ''})`
      )
  }
  const difference = differenceOf(called, planned, [])
  return difference === undefined ? isBound ? 'bound' : 'planned' : failed(`differs at ${difference}`)
}

/** Parts of texts may not be empty, and null is no value of filters. */
const isAccepted = (body: Body, path: Place['path']): boolean => {
  const value = valueAt(body, path)
  if (Array.isArray(value)) return value.every((each) => kindOf(each) !== undefined)
  return !(value === '' && ['$startsWith', '$contains'].includes(String(path.at(-1))))
}

function countOutcomes (table: FuzzTable, numRuns: number, outcomes: Map<string, number>): void {
  const { catalog } = table
  const source = alone(catalog)
  fc.assert(fc.property(bodiesOf(table), fc.array(fc.nat(), { minLength: 6, maxLength: 6 }), (json, picks) => {
    const { dryRun: _dryRun, ...body } = parseBody(write(json)) as Body & { dryRun?: boolean }
    const { every } = planWithHoles(body as Body, { source, limits })
    const all = [
      ...new Map([...every.places.values()].map(({ path }) => listOf(path)).map((path) => [path.join(), path])).values()
    ]
    const places = all.filter((path, index) => (picks[index % picks.length] as number) % 3 > 0 &&
      isAccepted(body as Body, path) && define(catalog.name, body as Body, [path]) !== undefined)
    const request = places.length === 0 ? undefined : define(catalog.name, body as Body, places)
    if (request === undefined) return
    // with other values of the same places, then with its own again
    const other = places.reduce<Body>((changed, path, index) => {
      const value = valueAt(body, path)
      const twin = valueAt(body, places[(index + 1) % places.length] as Place['path'])
      return kindOf(twin) === kindOf(value) && kindOf(value) !== undefined ? withValue(changed, path, twin) : changed
    }, body as Body)
    for (const each of [
      body as Body, ...places.every((path) => isAccepted(other, path)) ? [other] : [], body as Body
    ]) {
      const outcome = requireSame(request, each, places, source)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  }), { numRuns })
}

await onEachEngine(t, 'a call has the plan of its body with the values in place', {
  schema, only: await anyEngine(t)
}, async (t, service) => {
  const outcomes = new Map<string, number>()
  for (const table of await describeTables(service)) {
    countOutcomes(table, service.engine === 'sqlite' ? 150 : 40, outcomes)
  }
  t.comment([...outcomes].join(' '))
  t.ok((outcomes.get('bound') ?? 0) > 100 && (outcomes.get('refused') ?? 0) > 10, [...outcomes].join(' '))
})
