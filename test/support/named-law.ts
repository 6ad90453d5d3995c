/**
 * The law of named requests by bytes: without `as`, a call has the answer and the effect of its body with the values in
 * place. Random bodies to one table, with members and as operations; parameters in random places, given, left out with
 * a default, or optional.
 */
import fc, { type Arbitrary } from 'fast-check'
import type { Test } from 'tap'
import type { RequestsOptions } from '../../schemas/options.ts'
import type { Path } from '../../src/errors.ts'
import { type NamedRequest, readRequests } from '../../src/named/definition.ts'
import type { Place } from '../../src/named/places.ts'
import { bodiesOf } from '../fuzz/bodies.ts'
import { read, write } from '../fuzz/json.ts'
import { prepareTables, schema as tables, type FuzzTable } from '../fuzz/tables.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { VERBS } from '../../schemas/grants.ts'
import { valueAt, withValue } from './holes.ts'
import { seed } from './seed.ts'
import { anyEngine } from './rotation.ts'
import { onEachEngine, TOKEN, type Answer, type EngineName, type Service } from './service.ts'
import { LIMITS } from './sql.ts'

const limits = { ...LIMITS, include: { levels: 3, members: 10 }, operations: 10, importRow: 1024 }

/** A value of a parameter, as it is given and as it stands in the body. */
interface Chosen {
  readonly path: Path,
  readonly place: Place,
  readonly value: unknown,
  readonly use: 'given' | 'default' | 'optional' | 'left out'
}

const isTree = (value: unknown): value is object => typeof value === 'object' && value !== null &&
  !JSON.isRawJSON(value)

/** The path of every value within a body. */
const pathsOf = (tree: unknown, path: Path = []): Path[] => isTree(tree)
  ? Object.entries(tree).flatMap(([key, value]) => {
    const inner = [...path, Array.isArray(tree) ? Number(key) : key]
    return [inner, ...pathsOf(value, inner)]
  })
  : []

export type Definition = RequestsOptions[string]

/** As a configuration has it, which reads large integers as bigints; undefined if a number has no such form. */
export function toConfig (tree: unknown): any {
  if (JSON.isRawJSON(tree)) {
    const { rawJSON } = tree as unknown as { rawJSON: string }
    const number = Number(rawJSON)
    if (JSON.stringify(number) === rawJSON) return number
    if (/^(0|-?[1-9]\d*)$/.test(rawJSON)) return BigInt(rawJSON)
    throw new RangeError(`${rawJSON} is no number of a configuration`)
  }
  if (Array.isArray(tree)) return tree.map(toConfig)
  return isTree(tree) ? Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, toConfig(value)])) : tree
}

export function attempt<Value> (run: () => Value): Value | undefined {
  try {
    return run()
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

export function toRequest (definition: Definition): NamedRequest | undefined {
  const errors: string[] = []
  const requests = readRequests(errors, { r: definition }, {
    databases: new Set(['shop']), requestRoles: new Map(), otherRoles: new Map(), isInvalidRole: () => false, limits
  })
  return errors.length === 0 ? requests.get('r') : undefined
}

const define = (table: string
  | undefined, body: object, chosen: ReadonlyArray<Pick<Chosen, 'path' | 'value' | 'use'>>): Definition => ({
  database: 'shop',
  ...table !== undefined && { table },
  parameters: Object.fromEntries(chosen.map(({ use, value }, index) => [
    `p${index}`, use === 'default' ? { default: value } : use === 'given' ? {} : { optional: true }
  ])),
  body: chosen.reduce<any>((changed, { path }, index) => withValue(changed, path, { $param: `p${index}` }), body)
})

const only = (value: object, key: string): boolean => Object.keys(value).length === 1 && Object.hasOwn(value, key)

/** What an operand may be besides a value. */
const FORMS = ['$column', '$now', '$ref']

/** What a call gives for the value in the body; undefined for those that section 20 judges otherwise. */
function givenFor (
  value: unknown, { isList, isData, mayBeNull = false, field, operator }: Place, path: Path
): { readonly value: unknown } | undefined {
  if (isList) return (value as unknown[]).every((each) => each !== null && !isTree(each)) ? { value } : undefined
  if (field === 'after') return { value }
  if (value === null) return mayBeNull ? { value } : undefined
  if (value === '' && ['$startsWith', '$contains'].includes(operator as string)) return undefined
  if (!isTree(value)) return { value }
  if (!isData) {
    return path.at(-1) === '$eq' && operator === '$eq' && !FORMS.some((key) => Object.hasOwn(value, key))
      ? { value }
      : undefined
  }
  if (only(value, '$eq')) {
    return (value as { $eq: unknown }).$eq === null ? undefined : { value: (value as { $eq: unknown }).$eq }
  }
  return Object.keys(value).some((key) => key.startsWith('$')) ? undefined : { value }
}

const OPERATOR = /^\$(?!case$)/

/** The body without the value, as a call that leaves out an optional parameter has it. */
function without (body: any, path: Path, { isData, operator }: Place): object {
  const take = (tree: any, [step, ...rest]: Path): any => {
    if (rest.length > 0) return withValue(tree, [step as string], take(tree[step as string], rest))
    const { [step as string]: _taken, ...others } = tree
    return others
  }
  const taken = take(body, operator === '$match' ? path.slice(0, -1) : path)
  const holder = path.slice(0, -1)
  const isEmptied = !isData && operator === path.at(-1) && operator !== undefined && operator !== '$match' &&
    !Object.keys(valueAt(taken, holder) as object).some((key) => OPERATOR.test(key))
  return isEmptied ? take(taken, holder) : taken
}

const isWithin = (inner: Path, outer: Path): boolean => outer.every((step, index) => inner[index] === step)

/** Chooses places of a body for parameters. `picks`: two numbers for each. */
function choose (table: string | undefined, body: object, picks: ReadonlyArray<readonly [number, number]>): Chosen[] {
  const paths = pathsOf(body)
  const chosen: Chosen[] = []
  for (const [index, way] of picks) {
    const path = paths[index % paths.length] as Path
    if (chosen.some((other) => isWithin(path, other.path) || isWithin(other.path, path))) continue
    const value = valueAt(body, path)
    const place = toRequest(define(table, body, [{ path, value: 1, use: 'given' }]))?.list[0]?.places[0]
    if (place === undefined || (place.isList && !Array.isArray(value))) continue
    const given = givenFor(value, place, path)
    if (given === undefined) continue
    const uses = (['given', 'default', 'optional', 'left out'] as const).filter((use) => use === 'given' ||
      (!(place.isData && place.column === 'id') &&
        toRequest(define(table, body, [{ path, value: given.value, use }])) !== undefined))
    chosen.push({ path, place, value: given.value, use: uses[way % uses.length] as Chosen['use'] })
  }
  return chosen
}

/** The value in the query string; undefined if it has none there. */
function toQuery ({ catalog }: FuzzTable, { place, value }: Chosen): string[] | undefined {
  const { isList, field, column = '', operator } = place
  const texts = (isList ? value as unknown[] : [value]).map((each): string | undefined => {
    if (each === null && field !== 'after') return undefined
    const isJson = field === 'after' || (operator !== '$has' && catalog.columns.get(column)?.type.structured === true)
    const text = !isJson && typeof each === 'string' ? each : JSON.stringify(each)
    return text.isWellFormed() ? encodeURIComponent(text) : undefined
  })
  return texts.length > 0 && texts.every((text) => text !== undefined) ? texts : undefined
}

/** The body with a member, or as one of several operations. */
interface Shape {
  readonly body: any, readonly other: any, readonly form: 'one' | 'one row' | 'list' | 'some' | 'operations'
}

/** Rows without an id would get others the next time. */
function withIds (body: any): any {
  if (body.verb !== 'insert') return body
  const withId = (row: any, index = 0): object => ({ ...row, id: row.id ?? 100 + index })
  return { ...body, data: Array.isArray(body.data) ? body.data.map(withId) : withId(body.data) }
}

const isGrouped = ({ groupBy, aggregates }: any): boolean => groupBy !== undefined || aggregates !== undefined

/** Groups that are equal in `orderBy` come in any order. */
const withoutPage = ({ limit: _limit, offset: _offset, orderBy: _orderBy, ...body }: any): object => body

/** The text of an answer with groups in one order. */
const inOrder = (text: string): string => JSON.stringify(
  read(text), (_key, value) => Array.isArray(value) ? value.map((each) => JSON.stringify(each)).sort() : value
)

function shape ({ name }: FuzzTable, { body, other, form }: Shape): {
  readonly table: string | undefined, readonly body: any
} {
  const [one, another] = [body, other].map(
    ({ dryRun: _dryRun, ...each }) => withIds(isGrouped(each) ? withoutPage(each) : each)
  )
  if (form === 'operations') {
    return {
      table: undefined,
      body: {
        operations: [
          one, another, { verb: 'select', orderBy: 'id', filters: { id: { $lt: 9 } } }
        ].map((each) => ({ table: name, ...each }))
      }
    }
  }
  if (form === 'one' || one.verb !== 'select' || isGrouped(one)) return { table: name, body: one }
  const { filters, columns, limit, orderBy } = another
  const fields = { filters: filters ?? {}, columns: columns ?? ['id', 'n'] }
  const member = { table: name, on: form === 'one row' ? { level: 'id' } : { level: 'level' } }
  if (form === 'some') {
    return {
      table: name,
      body: { ...one, filters: { $and: [one.filters ?? {}, { $some: { m: { ...member, filters: fields.filters } } }] } }
    }
  }
  return {
    table: name,
    body: {
      ...one,
      include: {
        m: {
          ...member,
          ...fields,
          ...form === 'list' && {
            limit: another.verb === 'select' ? limit ?? 3 : 3,
            ...typeof orderBy === 'string' && another.groupBy === undefined && { orderBy }
          }
        }
      }
    }
  }
}

const shapesOf = (table: FuzzTable): Arbitrary<Shape> => fc.record({
  body: bodiesOf(table).map((json) => read(write(json))),
  other: bodiesOf(table).map((json) => read(write(json))),
  form: fc.constantFrom('one', 'one', 'one row', 'list', 'some', 'operations')
})

const token = { name: 'test', sha256: hashToken(TOKEN), permissions: [...VERBS], databases: '*' as const }

/** Sends one body, and calls it. @throws if the answers or the rows differ */
async function compare (
  { server, post, operate }: Service, table: FuzzTable, shaped: Shape, picks: ReadonlyArray<readonly [number, number]>,
  seen: Map<string, number>
): Promise<void> {
  const { table: name, body } = shape(table, shaped)
  const chosen = choose(name, body, picks)
  const definition = attempt((): Definition => toConfig(define(name, body, chosen)))
  const request = chosen.length === 0 || definition === undefined ? undefined : toRequest(definition)
  if (request === undefined || definition === undefined) return
  const inPlace = chosen.filter(({ use }) => use === 'left out').reduce<object>(
    (left, { path, place }) => without(left, path, place), body
  )
  // the check of bodies wants a column in each update
  if (JSON.stringify(inPlace).includes('"data":{}') && !JSON.stringify(body).includes('"data":{}')) return
  server.rows.replaceGrants({ tokens: [token], requests: { r: definition } })
  const given = chosen.map((each, index) => [`p${index}`, each] as const).filter(
    ([, { use }]) => use === 'given' || use === 'optional'
  )
  const call = async (method: 'GET' | 'POST', query = ''): Promise<Pick<Answer, 'status' | 'text'>> => {
    const payload = JSON.stringify(Object.fromEntries(given.map(([parameter, { value }]) => [parameter, value])))
    const response = await server.app.inject({
      method,
      url: `/api/requests/r${query}`,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...method === 'POST' && { payload }
    })
    return { status: response.statusCode, text: response.body }
  }
  const effect = async (run: () => Promise<Pick<Answer, 'status' | 'text'>>) => {
    if (!request.isRead) await table.reset()
    const { status, text } = await run()
    return {
      status,
      text,
      rows: request.isRead ? '' : (await post(table.name, { verb: 'select', orderBy: 'id', limit: 1000 })).text
    }
  }
  const send = async (json: string) => name === undefined ? await operate(json) : await post(name, json)
  // a definition is refused if its body with all parameters is, as a limit beside an optional key of a member
  const whole = inPlace === body ? undefined : await effect(async () => await send(JSON.stringify(body)))
  if (whole?.text.includes('"INVALID_BODY"') === true) return
  const expected = await effect(async () => await send(JSON.stringify(inPlace)))
  const hasGroups = request.parts.some((part) => isGrouped(part.body))
  const requireSame = (found: typeof expected, how: string): void => {
    const isSameText = found.text === expected.text || (hasGroups && inOrder(found.text) === inOrder(expected.text))
    const isSame = expected.status === 200
      ? isSameText && found.rows === expected.rows
      : found.status === expected.status
    if (!isSame) {
      throw new Error(
      `${how}: ${JSON.stringify(request.body)} ${JSON.stringify(chosen.map(({ use }) => use))}\n` +
        `${JSON.stringify(given.map(([, { value }]) => value))}\n${JSON.stringify(inPlace)}\n${expected.text} ` +
        `${found.text}`
      )
    }
  }
  const isFound = expected.status === 200
  for (const use of ['first', 'again']) requireSame(await effect(async () => await call('POST')), use)
  const queries = given.map(([parameter, each]) => toQuery(table, each)?.map((text) => `${parameter}=${text}`))
  const hasQuery = request.isRead && isFound && queries.every((query) => query !== undefined)
  if (hasQuery) requireSame(await effect(async () => await call('GET', `?${queries.flat().join('&')}`)), 'GET')
  const verbs = request.parts.map((part) => part.body.verb)
  for (const kind of [isFound ? 'same' : 'refused', ...isFound
    ? [
        name === undefined ? 'operations' : verbs[0], ...body.include === undefined ? [] : ['member'],
        ...hasQuery ? ['GET'] : [], ...chosen.map(({ use }) => use)
      ]
    : []]) {
    seen.set(kind as string, (seen.get(kind as string) ?? 0) + 1)
  }
}

/**
 * Holds the law on every engine. `runs`: the number of bodies for each; `most`: the number of tables; `kinds`: what
 * must have been seen.
 */
export async function holdLaw (t: Test, { runs, most, kinds }: {
  readonly runs: number, readonly most: number, readonly kinds: readonly string[]
}): Promise<void> {
  // each table has a twin with its initial rows
  const schema = (engine: EngineName): string[] => {
    const create = typeof tables === 'function' ? tables(engine) : []
    const start = 2 * (seed % (create.length / 2))
    return [...create.slice(start), ...create.slice(0, start)].slice(0, 2 * most).flatMap((statement) => {
      const name = /create table (\w+)/.exec(statement)?.[1] as string
      return [statement, `create index ${name}_level on ${name} (level)`]
    })
  }
  await onEachEngine(t, 'a call has the bytes and the effect of its body with ' +
    'the values in place', { schema, only: await anyEngine(t), options: { requests: {} } }, async (t, service) => {
    const prepared = await prepareTables(service)
    const seen = new Map<string, number>()
    for (const table of prepared) {
      await table.reset()
      await fc.assert(fc.asyncProperty(shapesOf(table), fc.array(fc.tuple(fc.nat(), fc.nat()), {
        minLength: 12, maxLength: 12
      }), async (shaped, picks) => {
        await compare(service, table, shaped, picks, seen)
      }), { numRuns: Math.ceil(runs / prepared.length) })
    }
    const counts = [...seen].map((each) => each.join(' ')).join(', ')
    t.comment(counts)
    t.same(kinds.filter((kind) => !seen.has(kind)), [], counts)
  })
}
