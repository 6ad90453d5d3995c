/**
 * The law of plans with holes over HTTP: what a body with `$ref` or `$param` in place of its values answers is what the
 * values answer.
 */
import fc from 'fast-check'
import Fastify from 'fastify'
import type { Test } from 'tap'
import type { Body } from '../../schemas/body.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { createRowQuery, type RowQuery } from '../../src/index.ts'
import { isPart } from '../../src/named/places.ts'
import { ValueTooLong } from '../../src/types/column-type.ts'
import { type Place, planWithHoles, valueAt, withValue } from '../support/holes.ts'
import type { Schema, Service } from '../support/service.ts'
import { bodiesOf } from './bodies.ts'
import { limits, withOthers } from './holes.ts'
import { read, write } from './json.ts'
import { type FuzzTable, prepareTables, schema as fuzzed } from './tables.ts'

/** The tables of the bodies, and one from whose JSON references take their values. */
export const schema: Schema = (engine) => [
  ...(fuzzed as (engine: string) => string[])(engine), 'create table given (id int primary key, v json)',
  "insert into given values (1, '[]')"
]

/** A body, the places of its values, and another body of its shape. */
interface Case {
  readonly table: FuzzTable, readonly body: Body, readonly other: Body, readonly places: readonly Place[]
}

/** JSON of MySQL keeps neither the text of a number nor a surrogate alone. */
const isKept = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.isWellFormed()
    : typeof value === 'boolean' ||
    (Number.isInteger(value) && !Object.is(value, -0))

/** A definition of a named request is no JSON text, so it has no numbers with their text. */
const hasRawNumber = (value: unknown): boolean =>
  JSON.isRawJSON(value) || (typeof value === 'object' && value !== null && Object.values(value).some(hasRawNumber))

/** A number of the database would be another one each time. */
const withKeys = (data: any): unknown =>
  Array.isArray(data)
    ? data.map((row, index) => ({ ...row, id: row.id ?? 100 + index }))
    : {
        ...data, id: data.id ?? 100
      }

function casesOf (table: FuzzTable, count: number): Case[] {
  const planning = { source: alone(table.catalog), limits }
  const picks = fc.array(fc.nat(), { minLength: 6, maxLength: 6 })
  return fc.sample(fc.tuple(bodiesOf(table), picks), count).flatMap(([json, picked]): Case[] => {
    const { dryRun, ...given } = read(write(json)) as any
    const body = given.verb === 'insert' ? { ...given, data: withKeys(given.data) } : given
    const all = [...planWithHoles(body, planning).every.places.values()]
    const others = withOthers(table, body, all, picked)
    const places = all.filter(({ path }) => isKept(valueAt(body, path)) && isKept(valueAt(others, path)))
    if (places.length === 0) return []
    return [
      { table, body, places, other: replaced(body, places, (index) => valueAt(others, (places[index] as Place).path)) }
    ]
  })
}

const replaced = (body: Body, places: readonly Place[], by: (index: number) => unknown): Body =>
  places.reduce((changed, { path }, index) => withValue(changed, path, by(index)), body)

const valuesOf = (body: Body, places: readonly Place[]): unknown[] => places.map(({ path }) => valueAt(body, path))

interface Answer { readonly status: number, readonly text: string, readonly json: any }

/** A refusal names the place of the value in the definition or in the call, and says in its words what was expected. */
const outcomeOf = ({ status, text, json }: Answer): string => status === 200 ? text : `${status} ${json.error.code}`

/**
 * What is refused besides a value is refused first where the value comes later. Groups that `orderBy` leaves equal come
 * in any order, also from one statement that is sent twice, and a limit leaves any of them out.
 */
const isSame = (outcome: string, plain: string, body: Body): boolean => outcome === plain ||
  (plain === '400 INVALID_VALUE' && !outcome.startsWith('{')) ||
  (hasAnyOrder(body) && outcome.startsWith('{') && plain.startsWith('{') &&
    ('limit' in body || inAnyOrder(outcome) === inAnyOrder(plain)))

/** Rows that an update or a delete returns come as the server finds them, by an index that it chooses each time. */
const hasAnyOrder = (body: Body): boolean =>
  'groupBy' in body ? 'orderBy' in body : body.verb !== 'insert' && 'returning' in body

const inAnyOrder = (text: string): string => [...text].sort().join('')

/** As a parameter, it is refused: it would find every row. */
const hasEmptyPart = (places: readonly Place[], values: readonly unknown[]): boolean =>
  places.some(({ path }, index) => isPart(path.at(-1) as string) && values[index] === '')

/** Of a filter, which is a constant; a reference to such a value is refused. */
const hasTooLong = (places: readonly Place[], values: readonly unknown[]): boolean =>
  places.some(({ path, column }, index) => {
    if (path[0] !== 'filters') return false
    try {
      column.type.read(values[index])
      return false
    } catch (error) {
      return error instanceof ValueTooLong
    }
  })

/** Serves the named requests, and takes those away whose definition is refused, such as with a value of `$like`. */
function createAccepted (url: string, requests: Record<string, unknown>): RowQuery {
  const create = (): RowQuery =>
    createRowQuery({ databases: { shop: { url } }, requests: requests as never, authenticate: () => GRANT })
  try {
    return create()
  } catch (error) {
    for (const [, name] of (error as Error).message.matchAll(/requests\.(r\d+)\./g)) delete requests[name as string]
    return create()
  }
}

/** Returns how many answers were compared, and how many of them were not refusals. */
export async function requireSameAnswers (t: Test, service: Service, count: number): Promise<{
  readonly compared: number, readonly answered: number
}> {
  const tables = await prepareTables(service)
  const cases = tables.flatMap((table) => casesOf(table, Math.ceil(count / tables.length)))
  const requests = Object.fromEntries(cases.flatMap(({ table, body, places }, index) => {
    const parameters = Object.fromEntries(places.map((_, place) => [`p${place}`, {}]))
    const definition = {
      database: 'shop',
      table: table.name,
      parameters,
      body: replaced(
        body, places, (place) => ({ $param: `p${place}` })
      )
    }
    return hasRawNumber(definition) ? [] : [[`r${index}`, definition]]
  }))
  const defined = Object.keys(requests).length
  const rows = createAccepted(service.url, requests)
  const accepted = Object.keys(requests).length
  t.ok(accepted > defined / 2, `${accepted} of ${defined} definitions are accepted`)
  const app = Fastify()
  await app.register(rows.plugin, { prefix: '/api' })
  t.teardown(() => app.close())
  const send = async (path: string, body: unknown): Promise<Answer> => {
    const { statusCode: status, payload: text } = await app.inject({
      method: 'POST',
      url: `/api/${path}`,
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(body)
    })
    return { status, text, json: JSON.parse(text) }
  }
  for (const table of tables) await table.reset()
  let [compared, answered] = [0, 0]
  for (const [index, { table, body, other, places }] of cases.entries()) {
    for (const each of [body, other]) {
      const values = valuesOf(each, places)
      const definition = requests[`r${index}`]
      if (definition !== undefined) {
        const literal = outcomeOf(await send(`shop/${table.name}`, each))
        if (body.verb !== 'select') await table.reset()
        const called = outcomeOf(
          await send(`requests/r${index}`, Object.fromEntries(values.map((value, place) => [`p${place}`, value])))
        )
        if (body.verb !== 'select') await table.reset()
        const isRefused = called === '400 INVALID_VALUE' && hasEmptyPart(places, values)
        if (!isRefused && !isSame(called, literal, body)) {
          t.fail(
          `$param: ${JSON.stringify(each)} by ${JSON.stringify(definition)}: ${called.slice(0, 300)}, not ${literal.slice(0, 300)}`
          )
        }
      }
      await service.sql('update given set v = ?', [JSON.stringify(values)])
      const operate = async (second: object): Promise<Answer> =>
        await send('shop', {
          operations: [{ table: 'given', verb: 'select' }, { table: table.name, ...second }], dryRun: true
        })
      const plain = outcomeOf(await operate(each))
      compared++
      if (plain.startsWith('{')) answered++
      const referring = outcomeOf(await operate(replaced(each, places, (place) => ({ $ref: `/0/rows/0/v/${place}` }))))
      const isRefused = referring === '400 INVALID_VALUE' && hasTooLong(places, values)
      if (!isRefused && !isSame(referring, plain, body)) {
        t.fail(
        `$ref: ${table.name} ${JSON.stringify(each)} with ${places.map(({ path }) => path.join('/')).join(' ')}: ${referring.slice(0, 300)}, not ${plain.slice(0, 300)}`
        )
      }
    }
  }
  return { compared, answered }
}

const GRANT = { name: 'all', permissions: ['select', 'insert', 'update', 'delete'], databases: { shop: '*' } } as const
