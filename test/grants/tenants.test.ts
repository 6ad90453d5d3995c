// night: many grants and tables
/**
 * Two tenants with random rules send random bodies to one table. A model in memory says what each of them sees and
 * changes: exactly its own. The grants change with each run, and the statements that are kept for one tenant are used
 * by the other.
 */
import fc from 'fast-check'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import type { HostGrant } from '../../src/access/grant.ts'
import '../support/seed.ts'
import { numberedId } from '../support/definitions.ts'
import { fullTextTriggers } from '../support/full-text.ts'
import { onEachEngine, type EngineName, type Schema, type Service } from '../support/service.ts'

/** Bodies on each engine: together 5,000. */
const RUNS = Number(process.env['TENANT_RUNS'] ?? 42)
const BODIES = 40

interface Row { id: number, tenant: string, n: number, s: string, h: string, w: string, j: { k: number, t?: string } }
type Name = keyof Row
const NAMES: readonly Name[] = ['id', 'tenant', 'n', 's', 'h', 'w', 'j']

/** `w` and `j` have these values, and are never written by requests. */
const WORDS = ['red hat', 'red shoes', 'wet suit', 'green shoes for a wet day', 'Red, wet; and suit']
const DOCUMENTS: ReadonlyArray<Row['j']> = [{ k: 0 }, { k: 1, t: 'a' }, { k: 2, t: 'b' }, { k: 1 }]

const text = (engine: EngineName, length: number): string =>
  engine === 'sqlite' ? `varchar(${length}) collate nocase` : `varchar(${length})`
const schema: Schema = (engine) => [
  `create table items (${engine === 'sqlite' ? 'id integer primary key autoincrement' : numberedId(engine)},
    tenant ${text(engine, 10)} not null, n int not null default 0, s ${text(engine, 10)} not null default 'a',
    h ${text(engine, 10)} not null default 'h', w varchar(40) not null default 'red hat',
    j json not null default ${engine === 'sqlite'
      ? '\'{"k":0}\')'
      : "(json_object('k', 0)), fulltext key (w)) collate utf8mb4_general_ci"}`,
  'create view seen as select * from items',
  ...engine === 'sqlite'
    ? [
        "create virtual table words using fts5(w, content='items', content_rowid='id')",
        ...fullTextTriggers('items', 'words', ['w'])
      ]
    : []
]

const texts = fc.constantFrom('a', 'A', 'b', 'á')
const numbers = fc.integer({ min: 0, max: 4 })
const ids = fc.integer({ min: 1, max: 12 })
const valueOf: Record<Name, fc.Arbitrary<unknown>> = {
  id: ids,
  tenant: fc.constantFrom('t1', 'T1', 't2'),
  n: numbers,
  s: texts,
  h: texts,
  w: fc.constantFrom(...WORDS),
  j: fc.constantFrom(...DOCUMENTS)
}
const columns = (least: readonly Name[]) =>
  fc.subarray([...NAMES]).map((some) => NAMES.filter((name) => least.includes(name) || some.includes(name)))

/** A rule, and whether a value satisfies it. */
const rule = fc.oneof(
  fc.record({
    column: fc.constant<Name>('n'),
    rule: fc.record({ $gte: fc.integer({ min: 0, max: 2 }), $lte: fc.integer({ min: 2, max: 4 }) })
  }),
  fc.record({ column: fc.constant<Name>('n'), rule: numbers }),
  fc.record({ column: fc.constant<Name>('s'), rule: fc.uniqueArray(texts, { minLength: 1 }) }),
  fc.record({ column: fc.constant<Name>('h'), rule: fc.constant({ $null: false }) })
)
const grantOf = (tenant: string) => fc.record({
  tenant: fc.constant(tenant),
  rules: fc.uniqueArray(rule, { maxLength: 2, selector: ({ column }) => column }),
  select: columns(['id']),
  insert: columns([]),
  update: columns(['n'])
})
type TestGrant = typeof grantOf extends (tenant: string) => fc.Arbitrary<infer G> ? G : never

/** Also of views, whose columns of JSON are texts on MariaDB. */
const viewFilter: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  fc.record({ id: ids }), fc.record({ id: fc.record({ $in: fc.array(ids, { maxLength: 4 }) }) }),
  fc.record({ n: fc.record({ $gte: numbers }) }), fc.record({ s: texts }),
  fc.record({ tenant: valueOf.tenant }), fc.record({ h: texts })
)
const plainFilter = fc.oneof({ weight: 5, arbitrary: viewFilter }, {
  weight: 1,
  arbitrary: fc.oneof(
    fc.record({ '$.k': fc.record({ $gte: numbers }) }),
    fc.record({ '$.t': fc.constantFrom({ $exists: true }, { $exists: false }, { $is: 'a' }, { $null: true }) }),
    fc.constant({ '$.k': 1, '$.t': { $is: 'a' } })
  ).map((paths): Record<string, unknown> => ({ j: { $at: paths } }))
})
const search = fc.record({
  columns: fc.constant(['w']),
  text: fc.constantFrom('red', 'wet shoes', 'suit', 'hat day', 'none'),
  mode: fc.constantFrom('any', 'all')
}).map((match): Record<string, unknown> => ({ $match: match }))
/** Rows with a row of the view that has the same number, and rows without one. */
const relatedFilter = fc.tuple(fc.constantFrom('$some', '$none'), viewFilter).map(
  ([some, theirs]): Record<string, unknown> => ({ [some]: { seen: { on: { n: 'n' }, filters: theirs } } })
)
const filters: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  plainFilter, plainFilter, search, fc.record({ $not: search }),
  fc.tuple(search, plainFilter).map((pair) => ({ $or: pair })), fc.tuple(search, plainFilter).map(
    (pair) => ({ $and: pair })
  ), fc.record({ $not: plainFilter }), fc.record({ $or: fc.array(plainFilter, { minLength: 2, maxLength: 3 }) }),
  fc.tuple(plainFilter, plainFilter).map((pair) => ({ $and: pair }))
)
const data = (names: readonly Name[]) => fc.record(Object.fromEntries(names.map((name) => [name, valueOf[name]])), {
  requiredKeys: []
})
const OTHERS: readonly Name[] = ['n', 's', 'n', 's', 'tenant', 'h']
/** At least, at most and exactly so many rows with the same id, of those that the grant sees. */
const counted = fc.record({
  filters: plainFilter,
  count: fc.oneof(
    fc.constantFrom(0, 1, 2), fc.constantFrom({ $gte: 0 }, { $gte: 1 }, { $lte: 0 }, { $between: [1, 2] }, { $gt: 1 })
  )
})
  .map((member) => ({ $some: { same: { table: 'items', on: { id: 'id' }, ...member } } }))
const body = fc.oneof(
  fc.record({
    verb: fc.constant('select'),
    filters: fc.oneof(
      counted, fc.tuple(counted, fc.oneof(plainFilter, search)).map((pair) => ({ $and: pair })),
      counted.map((filter) => ({ $not: filter }))
    )
  }),
  fc.record({ verb: fc.constant('select'), filters }),
  fc.record({ verb: fc.constant('select'), filters: relatedFilter }),
  fc.record({
    verb: fc.constant('select'),
    filters,
    include: viewFilter.map((theirs) => ({
      alike: { table: 'seen', on: { n: 'n' }, filters: theirs, aggregates: { c: { $count: '*' }, m: { $max: 'id' } } }
    }))
  }),
  fc.record({
    verb: fc.constant('select'), filters, aggregates: fc.constant({ c: { $count: '*' }, m: { $max: 'id' } })
  }),
  fc.record({
    verb: fc.constant('select'),
    filters,
    aggregates: plainFilter.map((theirs) => ({ c: { $count: '*', filters: theirs } }))
  }),
  fc.record({
    verb: fc.constant('select'),
    filters,
    groupBy: fc.constant([{ of: { same: 'n' } }]),
    aggregates: fc.constant({ c: { $count: '*' } }),
    orderBy: fc.constant('of'),
    include: plainFilter.map((theirs) => ({ same: { table: 'items', on: { id: 'id' }, filters: theirs } }))
  }),
  fc.record({ verb: fc.constant('select'), filters: search, orderBy: fc.constant([{ $match: 'DESC' }]) }),
  fc.record({
    verb: fc.constant('select'), filters: fc.oneof(search, plainFilter), total: fc.constant(true), limit: fc.constant(1)
  }),
  fc.record({
    verb: fc.constant('select'),
    filters,
    include: fc.constantFrom<'list' | 'object' | undefined>(
      'list', 'object', undefined
    ).map((as) => ({ same: { table: 'items', on: { id: 'id' }, ...as !== undefined && { as } } }))
  }),
  fc.record({ verb: fc.constant('insert'), data: data(OTHERS) }),
  fc.record({ verb: fc.constant('insert'), data: fc.array(data(['n', 's']), { minLength: 1, maxLength: 3 }) }),
  fc.record({
    verb: fc.constant('insert'),
    data: fc.tuple(ids, data(OTHERS)).map(([id, rest]) => ({ id, ...rest })),
    onConflict: fc.constant({ key: ['id'] })
  }),
  fc.record({
    verb: fc.constant('update'), filters, data: data(OTHERS).filter((each) => Object.keys(each).length > 0)
  }),
  fc.record({
    verb: fc.constant('update'),
    filters,
    data: fc.record({ n: numbers }),
    returning: fc.constant(['id']),
    include: fc.constant({ same: { table: 'items', on: { id: 'id' }, as: 'list' } })
  }),
  fc.record({ verb: fc.constant('delete'), filters })
)

/** The collations ignore case and, on MySQL, accents; a rule compares bytes. */
const fold = (engine: EngineName, value: unknown): unknown => typeof value !== 'string'
  ? value
  : engine === 'sqlite'
    ? value.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    : value.toLowerCase().replaceAll('á', 'a')

class Model {
  rows: Row[] = []
  readonly #engine: EngineName

  constructor (engine: EngineName) { this.#engine = engine }

  static satisfies ({ tenant, rules }: TestGrant, row: Row): boolean {
    return row.tenant === tenant && rules.every(({ column, rule }) => {
      const value = row[column]
      if (Array.isArray(rule)) return (rule as unknown[]).includes(value)
      if (typeof rule !== 'object') return value === rule
      return !('$gte' in rule) || (Number(value) >= rule.$gte && Number(value) <= rule.$lte)
    })
  }

  matches (filter: any, row: Row, grant: TestGrant): boolean {
    return Object.entries<any>(filter).every(([key, value]) => {
      if (value?.seen !== undefined) {
        return this.find(grant, value.seen.filters).some(({ n }) => n === row.n) === (key === '$some')
      }
      if (key === '$some') {
        // the row itself is the only one with its id, and the grant sees it
        const { filters, count } = value.same
        const [n, bounds] = [
          Number(this.matches(filters, row, grant)), typeof count === 'number' ? { $between: [count, count] } : count
        ]
        return n >= (bounds.$gte ?? bounds.$between?.[0] ?? 0) && n > (bounds.$gt ?? -1) &&
          n <= (bounds.$lte ?? bounds.$between?.[1] ?? Infinity)
      }
      if (key === '$match') {
        const words = row.w.toLowerCase().match(/\w+/g) as string[]
        const wanted = value.text.split(' ')
        return value.mode === 'all'
          ? wanted.every((word: string) => words.includes(word))
          : wanted.some((word: string) => words.includes(word))
      }
      if (value?.$at !== undefined) {
        return Object.entries<any>(value.$at).every(([path, operand]) => {
          const stored = row.j[path.slice(2) as 'k']
          if (operand.$gte !== undefined) return stored >= operand.$gte
          if (operand.$exists !== undefined) return (stored !== undefined) === operand.$exists
          return operand.$null === true ? stored === undefined : stored === (operand.$is ?? operand)
        })
      }
      if (key === '$not') return !this.matches(value, row, grant)
      if (key === '$or') return value.some((each: unknown) => this.matches(each, row, grant))
      if (key === '$and') return value.every((each: unknown) => this.matches(each, row, grant))
      const stored = row[key as Name]
      if (value?.$in !== undefined) return value.$in.includes(stored)
      if (value?.$gte !== undefined) return stored >= value.$gte
      return fold(this.#engine, stored) === fold(this.#engine, value)
    })
  }

  /** The rows that the grant sees and the filters match. */
  find (grant: TestGrant, filter: unknown): Row[] {
    return this.rows.filter((row) => Model.satisfies(grant, row) && this.matches(filter, row, grant))
  }

  /** The status of data that is written, 200 if it can be. */
  static check (grant: TestGrant, verb: 'insert' | 'update', data: object): number {
    return Object.keys(data).every((name) => grant[verb].includes(name as Name)) ? 200 : 400
  }

  /** The row that an insert stores; undefined if it breaks a rule. */
  static complete (grant: TestGrant, data: Partial<Row>): Row | undefined {
    const filled: Partial<Row> = Object.fromEntries(grant.rules.flatMap(({ column, rule }): Array<[Name, unknown]> => {
      if (Array.isArray(rule)) return rule.length === 1 ? [[column, rule[0]]] : []
      return typeof rule === 'object' ? [] : [[column, rule]]
    }))
    if (grant.rules.some(({ column }) => !(column in data) && !(column in filled))) return undefined
    const row: Row = {
      id: 0, n: 0, s: 'a', h: 'h', w: 'red hat', j: { k: 0 }, tenant: grant.tenant, ...filled, ...data
    }
    return Model.satisfies(grant, row) ? row : undefined
  }
}

const namesIn = (filter: any): string[] => Object.entries<any>(filter)
  .flatMap(([key, value]) => value?.seen !== undefined
    ? ['n', ...namesIn(value.seen.filters)]
    : key === '$match'
      ? value.columns
      : key === '$not'
        ? namesIn(value)
        : key === '$some' ? namesIn(value.same.filters) : key.startsWith('$') ? value.flatMap(namesIn) : [key])

/**
 * The expected answer: its status, and its data if that is known. Changes the model. `told`: what the service has
 * answered, for ids.
 */
function expected (model: Model, grant: TestGrant, sent: any, told: any): [status: number, data?: unknown] {
  const {
    verb, filters: filter, data: given, onConflict, aggregates, groupBy, orderBy, total, include: {
      same, alike
    } = {} as any
  } = sent
  const seen = (row: Row): object => Object.fromEntries(grant.select.map((name) => [name, row[name]]))
  if (alike !== undefined &&
    !['n', ...namesIn(alike.filters)].every((name) => grant.select.includes(name as Name))) return [400]
  if (filter !== undefined && !namesIn(filter).every((name) => grant.select.includes(name as Name))) return [400]
  if (verb === 'select') {
    const found = model.find(grant, filter)
    // relevance tells of words in rows that the rules hide
    if (Array.isArray(orderBy)) return [400]
    const theirs = same?.filters ?? aggregates?.c.filters
    if (theirs !== undefined && !namesIn(theirs).every((name) => grant.select.includes(name as Name))) return [400]
    if (groupBy !== undefined) {
      if (!grant.select.includes('n')) return [400]
      const groups = new Map<number | null, number>()
      for (const row of found) {
        const of = model.matches(theirs, row, grant) ? row.n : null
        groups.set(of, (groups.get(of) ?? 0) + 1)
      }
      const rows = [...groups].sort(([a], [b]) => (a ?? -1) - (b ?? -1)).map(([of, c]) => ({ of, c }))
      return [200, { rows, count: rows.length }]
    }
    if (total === true) {
      return [200, {
        rows: found.sort((a, b) => a.id - b.id).slice(0, 1).map(seen),
        count: Math.min(found.length, 1),
        total: found.length
      }]
    }
    if (theirs !== undefined) {
      return [200, { rows: [{ c: found.filter((row) => model.matches(theirs, row, grant)).length }], count: 1 }]
    }
    if (aggregates !== undefined) {
      return [200, {
        rows: [{ c: found.length, m: found.length === 0 ? null : Math.max(...found.map(({ id }) => id)) }], count: 1
      }]
    }
    const viewed = ({ n }: Row): object => {
      const rows = model.find(grant, alike.filters).filter((other) => other.n === n)
      return { c: rows.length, m: rows.length === 0 ? null : Math.max(...rows.map(({ id }) => id)) }
    }
    const members = (row: Row): object => ({
      ...same !== undefined && { same: same.as === 'list' ? [seen(row)] : seen(row) },
      ...alike !== undefined && { alike: viewed(row) }
    })
    return [200, {
      rows: found.sort((a, b) => a.id - b.id).map((row) => ({ ...seen(row), ...members(row) })), count: found.length
    }]
  }
  if (verb === 'delete' || verb === 'update') {
    // A filter that folds to a constant: $not of an empty list is true.
    if (filter.$not?.id?.$in?.length === 0) return [400]
    const found = model.find(grant, filter)
    if (verb === 'delete') {
      model.rows = model.rows.filter((row) => !found.includes(row))
      return [200, { deleted: found.length }]
    }
    if (Model.check(grant, 'update', given) !== 200) return [400]
    const changed = found.filter((row) => Object.entries(given).some(([name, value]) => row[name as Name] !== value))
    // Written values are tested whatever rows there are.
    const template = { id: 0, tenant: grant.tenant, n: NaN, s: '', h: '', w: '', j: { k: 0 } }
    for (const { column, rule } of grant.rules) {
      if (!(column in given)) {
        Object.assign(template, {
          [column]: Array.isArray(rule) ? rule[0] : typeof rule === 'object' ? ('$gte' in rule ? rule.$gte : 'x') : rule
        })
      }
    }
    if (!Model.satisfies(grant, { ...template, ...given })) return [403]
    for (const row of changed) Object.assign(row, given)
    const rows = sent.returning === undefined
      ? {}
      : { rows: found.sort((a, b) => a.id - b.id).map((row) => ({ id: row.id, same: [seen(row)] })) }
    // the count must not tell whether a column that the grant does not see had the value, unless a rule says which one
    // all rows have
    const isKnown = (name: string): boolean => grant.select.includes(name as Name) ||
      grant.rules.some(({ column, rule }) => column === name && typeof rule !== 'object')
    return [200, { ...rows, updated: Object.keys(given).every(isKnown) ? changed.length : found.length }]
  }
  const list: Array<Partial<Row>> = [given].flat()
  if (list.some((each) => Model.check(grant, 'insert', each) !== 200)) return [400]
  const { id: _id, ...others } = list[0] as Partial<Row>
  if (onConflict !== undefined && Model.check(grant, 'update', others) !== 200) return [400]
  const rows = list.map((each) => Model.complete(grant, each))
  if (rows.includes(undefined)) return [403]
  if (onConflict === undefined) {
    for (const [index, row] of (rows as Row[]).entries()) model.rows.push({ ...row, id: told.id + index })
    return [200]
  }
  const [row] = rows as [Row]
  const existing = model.rows.find(({ id }) => id === row.id)
  if (existing === undefined) model.rows.push(row)
  else if (!Model.satisfies(grant, existing)) return [409]
  else Object.assign(existing, others)
  return [200]
}

const grants = new Map<string, TestGrant>()

/** The grant of a tenant in this run. */
function authenticate (request: FastifyRequest): HostGrant {
  const { tenant, rules, select, insert, update } = grants.get(String(request.headers['x-tenant'])) as TestGrant
  const rows = { tenant: { $claim: '/tenant' }, ...Object.fromEntries(rules.map(({ column, rule }) => [column, rule])) }
  return {
    name: tenant,
    permissions: ['select', 'insert', 'update', 'delete'],
    databases: {
      shop: {
        items: { columns: { select, insert, update }, rows: rows as any },
        seen: { columns: { select, insert: [], update: [] }, rows: rows as any }
      }
    },
    claims: { tenant }
  }
}

async function play (
  { post, sql, engine }: Service, one: TestGrant, two: TestGrant, bodies: ReadonlyArray<readonly [string, any]>
): Promise<void> {
  await sql('delete from items')
  const model = new Model(engine)
  model.rows = Array.from({ length: 9 }, (_, index): Row => ({
    id: index + 1,
    tenant: ['t1', 't2', 'T1'][index % 3] as string,
    n: index % 5,
    s: ['a', 'A', 'b', 'á'][index % 4] as string,
    h: 'h',
    w: WORDS[index % 5] as string,
    j: DOCUMENTS[index % 4] as Row['j']
  }))
  for (const { id, tenant, n, s, h, w, j } of model.rows) {
    await sql(
      'insert into items (id, tenant, n, s, h, w, j) values (?, ?, ?, ?, ?, ?, ?)',
      [id, tenant, n, s, h, w, JSON.stringify(j)]
    )
  }
  await sql("insert into items (id, tenant) values (1000, 't3')")
  await sql('delete from items where id = 1000')
  grants.set('t1', one)
  grants.set('t2', two)
  for (const [tenant, sent] of bodies) {
    const complete = sent.verb === 'select' && sent.aggregates === undefined ? { orderBy: 'id', ...sent } : sent
    const { status, json } = await post('items', complete, { token: null, headers: { 'x-tenant': tenant } })
    const [wanted, data] = expected(model, grants.get(tenant) as TestGrant, sent, json.data)
    const why = JSON.stringify({ engine, grant: grants.get(tenant), sent, answer: json })
    if (status !== wanted) throw new Error(`${status} in place of ${wanted}: ${why}`)
    if (sent.returning !== undefined) json.data?.rows?.sort((a: Row, b: Row) => a.id - b.id)
    if (data !== undefined &&
      JSON.stringify(json.data) !== JSON.stringify(data)) throw new Error(`not ${JSON.stringify(data)}: ${why}`)
  }
  const stored = (await sql('select id, tenant, n, s, h from items order by id')).map(
    (row) => ({ ...row, id: Number(row.id), n: Number(row.n) })
  )
  const wanted = model.rows.map(({ id, tenant, n, s, h }) => ({ id, tenant, n, s, h })).sort((a, b) => a.id - b.id)
  if (JSON.stringify(stored) !== JSON.stringify(wanted)) {
    throw new Error(`${engine}: ${JSON.stringify(stored)} in place of ${JSON.stringify(wanted)}`)
  }
}

await onEachEngine(t, 'each tenant sees and changes exactly its own rows', {
  schema,
  options: { authenticate } as object
}, async (t, service) => {
  const scenario = fc.tuple(grantOf('t1'), grantOf('t2'), fc.array(fc.tuple(fc.constantFrom('t1', 't2'), body), {
    minLength: BODIES, maxLength: BODIES
  }))
  await fc.assert(fc.asyncProperty(scenario, ([one, two, bodies]) => play(service, one, two, bodies)), {
    numRuns: RUNS, endOnFailure: true
  })
  t.pass(`${RUNS * BODIES} bodies`)
})
