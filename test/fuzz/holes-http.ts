/**
 * The law of plans with holes over HTTP: a body with `$ref` or `$param` in place of its values answers with the bytes
 * of the body with the values, by the same statements with the same parameters, whoever has sent other values before.
 */
import fc, { type Arbitrary } from 'fast-check'
import Fastify from 'fastify'
import type { Test } from 'tap'
import { VERBS } from '../../schemas/grants.ts'
import type { TokenOptions } from '../../schemas/options.ts'
import type { Body } from '../../schemas/body.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { createRowQuery } from '../../src/index.ts'
import { isPart } from '../../src/named/places.ts'
import { ValueTooLong } from '../../src/types/column-type.ts'
import { recordDrivers } from '../support/driver-recorder.ts'
import { type Place, planWithHoles, valueAt, withValue } from '../support/holes.ts'
import { attempt, type Definition, toConfig, toRequest } from '../support/named-law.ts'
import type { Schema, Service } from '../support/service.ts'
import { bodiesOf } from './bodies.ts'
import { Counterexample } from './campaign.ts'
import { limits, picks, readBody, withOthers } from './holes.ts'
import type { Json } from './json.ts'
import { type FuzzTable, prepareTables, schema as fuzzed } from './tables.ts'

/** The tables of the bodies, and one from whose JSON references take their values. */
export const schema: Schema = (engine) => [
  ...(fuzzed as (engine: string) => string[])(engine), 'create table given (id int primary key, v json)'
]

type Caller = keyof typeof CLAIMS

/** Of callers who see some rows only; `all` sees all. */
const CLAIMS = { all: undefined, low: { from: 0, to: 3 }, high: { from: 2, to: 9 } } as const

/** Who sends the first values, the second and the third ones. */
const CALLERS = [
  ['all', 'all', 'all'], ['low', 'high', 'low'], ['high', 'low', 'all'], ['all', 'low', 'high']
] as const

const tokenOf = (caller: Caller): string => `token-of-${caller}-that-is-long-enough-for-a-token-0123456789`

interface Drawn {
  readonly json: Json,
  readonly second: readonly number[],
  readonly third: readonly number[],
  readonly callers: readonly Caller[]
}

export const drawnOf = (table: FuzzTable): Arbitrary<Drawn> =>
  fc.record({ json: bodiesOf(table), second: picks, third: picks, callers: fc.constantFrom(...CALLERS) })

/** Bodies of one shape with other values in some places. */
interface Shape { readonly bodies: readonly Body[], readonly places: readonly Place[] }

/** Undefined for what has no place for a value. */
interface Case {
  readonly callers: readonly Caller[]
  readonly calls: Shape & { readonly definition: Definition } | undefined
  readonly references: Shape | undefined
}

/** JSON of MySQL keeps neither the text of a number nor a surrogate alone. */
const isKept = (value: unknown): boolean => typeof value === 'string'
  ? value.isWellFormed()
  : typeof value === 'boolean' || (Number.isInteger(value) && !Object.is(value, -0))

/** A number of the database would be another one each time. `others`: what each row must have besides. */
const withKeys = (data: any, others: object): unknown => Array.isArray(data)
  ? data.map((row, index) => ({ ...others, ...row, id: row.id ?? 100 + index }))
  : { ...others, ...data, id: data.id ?? 100 }

/** Within the rules of all callers, who could not insert a row without it. */
const LEVEL = { level: 2 }

const replaced = (body: Body, places: readonly Place[], by: (place: Place, index: number) => unknown): Body =>
  places.reduce((changed, place, index) => withValue(changed, place.path, by(place, index)), body)

function caseOf (table: FuzzTable, { json, second, third, callers }: Drawn): Case {
  const { dryRun, ...given } = readBody(json)
  const others = callers.every((caller) => caller === 'all') ? {} : LEVEL
  const body = given.verb === 'insert' ? { ...given, data: withKeys(given.data, others) } : given
  const all = [...planWithHoles(body, { source: alone(table.catalog), limits }).every.places.values()]
  const every: readonly Body[] = [body, ...[second, third].map((picked) => withOthers(table, body, all, picked))]
  const shapeOf = (places: readonly Place[]): Shape => ({
    places, bodies: every.map((each) => replaced(body, places, ({ path }) => valueAt(each, path)))
  })
  const define = (places: readonly Place[]): Definition | undefined => {
    const definition = attempt((): Definition => ({
      database: 'shop',
      table: table.name,
      parameters: Object.fromEntries(places.map((_, index) => [`p${index}`, {}])),
      body: toConfig(replaced(body, places, (_place, index) => ({ $param: `p${index}` })))
    }))
    return definition !== undefined && toRequest(definition) !== undefined ? definition : undefined
  }
  const whole = define(all)
  const parameters = whole === undefined ? all.filter((place) => define([place]) !== undefined) : all
  const definition = whole ?? define(parameters)
  const kept = all.filter(({ path }) => every.every((each) => isKept(valueAt(each, path))))
  return {
    callers,
    calls: definition === undefined || parameters.length === 0 ? undefined : { ...shapeOf(parameters), definition },
    references: kept.length === 0 ? undefined : shapeOf(kept)
  }
}

interface Answer { readonly status: number, readonly outcome: string, readonly statements: readonly string[] }

/**
 * Groups that `orderBy` leaves equal come in any order, also from one statement that is sent twice, and a limit leaves
 * any of them out.
 */
const isSameOutcome = (outcome: string, plain: string, body: Body): boolean => outcome === plain ||
  (hasAnyOrder(body) && outcome.startsWith('{') && plain.startsWith('{') &&
    ('limit' in body || inAnyOrder(outcome) === inAnyOrder(plain)))

/** Rows that an update or a delete returns come as the server finds them, by an index that it chooses each time. */
const hasAnyOrder = (body: Body): boolean =>
  'groupBy' in body ? 'orderBy' in body : body.verb !== 'insert' && 'returning' in body

const inAnyOrder = (text: string): string => [...text].sort().join('')

/** The present time is another one in each statement. */
function isSame (answer: Answer, plain: Answer, body: Body): boolean {
  if (!isSameOutcome(answer.outcome, plain.outcome, body)) return false
  if (answer.status !== plain.status) return true
  const [one, other] = [answer, plain].map(({ statements }) => statements.join('\n'))
  return one === other || (JSON.stringify(body).includes('"$now"') && withoutDigits(one) === withoutDigits(other))
}

const withoutDigits = (text = ''): string => text.replaceAll(/\d+/g, '0')

/** As a parameter, it is refused: it would find every row. */
const hasEmptyPart = (places: readonly Place[], body: Body): boolean =>
  places.some(({ path }) => isPart(path.at(-1) as string) && valueAt(body, path) === '')

/** Of a filter, which is a constant; a reference to such a value is refused. */
const hasTooLong = (places: readonly Place[], body: Body): boolean => places.some(({ path, column }) => {
  if (path[0] !== 'filters') return false
  try {
    column.type.read(valueAt(body, path))
    return false
  } catch (error) {
    return error instanceof ValueTooLong
  }
})

/** What stands before the data of an answer. */
const ENVELOPE = '{"success":true,"data":'
const NOTHING_WRITTEN = /^\{"success":true,"data":\{"(?:updated|deleted)":0\b/
/** A value of a reference comes later: what is refused besides it, and besides a rule for it, is refused first. */
const isRefusedLater = (outcome: string, plain: string): boolean =>
  !outcome.startsWith('{') && [REFUSED, '403 PERMISSION_DENIED'].includes(plain)

const REFUSED = '400 INVALID_VALUE'

export interface Law {
  readonly tables: readonly FuzzTable[]
  /** How often something has been seen. */
  readonly seen: ReadonlyMap<string, number>
  /** @throws Counterexample */
  hold (table: FuzzTable, drawn: readonly Drawn[]): Promise<void>
}

const ROWS = { level: { $gte: { $claim: '/from' }, $lte: { $claim: '/to' } } }

export async function prepareLaw (t: Test, { proxy, url, ...service }: Service): Promise<Law> {
  const tables = await prepareTables({ proxy, url, ...service })
  for (const table of tables) await table.reset()
  const shop = Object.fromEntries([['given', {}], ...tables.map(({ name }) => [name, { rows: ROWS }])])
  const tokens = Object.entries(CLAIMS).map(([name, claims]): TokenOptions => ({
    name,
    sha256: hashToken(tokenOf(name as Caller)),
    permissions: [...VERBS],
    databases: { shop: claims === undefined ? '*' : shop },
    ...claims !== undefined && { claims }
  }))
  const rows = createRowQuery({
    databases: { shop: { url: proxy?.target ?? url } }, tokens, requests: {}
  })
  const drivers = recordDrivers()
  const app = Fastify()
  await app.register(rows.plugin, { prefix: '/api' })
  t.teardown(async () => {
    await app.close()
    drivers.stop()
  })

  const send = async (path: string, body: unknown, caller: Caller): Promise<Answer> => {
    drivers.take()
    const { statusCode: status, payload } = await app.inject({
      method: 'POST',
      url: `/api/${path}`,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${tokenOf(caller)}` },
      payload: JSON.stringify(body)
    })
    // a refusal names the place of the value in the definition or in the call, and says in its words what was expected
    const outcome = status === 200 ? payload : `${status} ${JSON.parse(payload).error.code}`
    return { status, outcome, statements: drivers.take() }
  }

  const seen = new Map<string, number>()
  const count = (what: string): void => { seen.set(what, (seen.get(what) ?? 0) + 1) }

  /** Sends a body that may write. */
  const sendTo = async (table: FuzzTable, path: string, body: unknown, { verb }: Body, caller: Caller) => {
    const answer = await send(path, body, caller)
    if (verb !== 'select' && answer.status === 200 && !NOTHING_WRITTEN.test(answer.outcome)) await table.reset()
    return answer
  }

  const holdFor = async (table: FuzzTable, { callers, calls, references }: Case, index: number): Promise<void> => {
    const plainAnswers = new Map<string, Answer>()
    /** What the values answer in place. */
    const plainOf = async (body: Body, caller: Caller): Promise<Answer> => {
      const key = caller + JSON.stringify(body)
      const known = plainAnswers.get(key)
      if (known !== undefined) return known
      const plain = await sendTo(table, `shop/${table.name}`, body, body, caller)
      plainAnswers.set(key, plain)
      count('bodies')
      count(plain.status === 200 ? `${body.verb} answered` : 'refused')
      return plain
    }
    const fail = (how: string, body: Body, plain: Answer, { outcome, statements }: Answer): never => {
      throw new Counterexample([
        `${how} of ${table.name} by ${callers.join(' and ')}: ${JSON.stringify(calls?.definition)}`,
        ...(calls ?? references)?.bodies.map((each) => JSON.stringify(each)) ?? [],
        `${JSON.stringify(body)} answers ${plain.outcome}`, ...plain.statements, `not ${outcome}`, ...statements
      ].map((line) => line.slice(0, 4000)).join('\n'))
    }
    if (calls !== undefined) {
      const { bodies, places } = calls
      // planned at the first call, and bound afterwards
      for (const [call, body] of bodies.entries()) {
        const caller = callers[call] as Caller
        const plain = await plainOf(body, caller)
        const values = Object.fromEntries(places.map(({ path }, place) => [`p${place}`, valueAt(body, path)]))
        const answer = await sendTo(table, `requests/r${index}`, values, body, caller)
        count('calls')
        if (answer.outcome === REFUSED && hasEmptyPart(places, body)) continue
        if (answer.statements.length > 0) count('calls compared by statements')
        if (!isSame(answer, plain, body)) fail(`call ${call + 1}`, body, plain, answer)
      }
    }
    if (references !== undefined) {
      const { bodies, places } = references
      for (const [turn, body] of bodies.entries()) {
        const caller = callers[turn] as Caller
        const operate = async (second: object): Promise<Answer> => withoutFirst(await send('shop', {
          operations: [
            { table: 'given', verb: 'select', columns: ['v'], filters: { id: 3 * index + turn } },
            { table: table.name, ...second }
          ],
          dryRun: true
        }, caller))
        const plain = await plainOf(body, caller)
        const referring = await operate(replaced(body, places, (_place, index) => ({ $ref: `/0/rows/0/v/${index}` })))
        count('references')
        if (referring.outcome === REFUSED && hasTooLong(places, body)) continue
        if (isSame(lastOf(referring, plain.outcome), plain, body)) continue
        count('references compared with operations')
        const operated = await operate(body)
        if (isRefusedLater(referring.outcome, operated.outcome)) continue
        if (!isSame(referring, operated, body)) fail('a reference', body, operated, referring)
      }
    }
  }

  return {
    tables,
    seen,
    async hold (table, drawn) {
      const cases = drawn.map((each) => caseOf(table, each))
      rows.replaceGrants({
        tokens,
        requests: Object.fromEntries(cases.flatMap(
          ({ calls }, index) => calls === undefined ? [] : [[`r${index}`, calls.definition]]
        )) as never
      })
      await service.sql('delete from given')
      const given = cases.flatMap(({ references }, index) => (references?.bodies ?? []).flatMap((body, turn) => [
        3 * index + turn, JSON.stringify(references?.places.map(({ path }) => valueAt(body, path)))
      ]))
      if (given.length > 0) {
        const places = Array.from({ length: given.length / 2 }, () => '(?, ?)')
        await service.sql(`insert into given values ${places.join()}`, given)
      }
      for (const [index, each] of cases.entries()) {
        count('shapes')
        await holdFor(table, each, index)
      }
    }
  }
}

/** Without the statement that selects the values of references. */
const withoutFirst = ({ statements, ...answer }: Answer): Answer =>
  ({ ...answer, statements: statements[0]?.includes('given') === true ? statements.slice(1) : statements })

/** The outcome of the body alone, if it is the last one of the operations. */
const lastOf = ({ outcome, ...answer }: Answer, plain: string): Answer => ({
  ...answer,
  outcome: outcome.endsWith(`,${plain.slice(ENVELOPE.length, -1)}],"dryRun":true}}`) ? plain : outcome
})
