/**
 * A model of all writes in memory: rows are written one after the other, in the order of `data`. Random requests over
 * HTTP must leave the rows that the model has, and answer its counts, ids, rows and refusals.
 */
import fc, { type Arbitrary } from 'fast-check'
import type { Test } from 'tap'
import { tokenFor } from '../grants/support.ts'
import { type EngineName, onEachEngine, type Service } from './service.ts'

interface Row {
  tenant: number,
  k: string,
  part: string,
  code: string | null,
  n: number | null,
  note: string | null,
  parent: number | null,
  touched: number
}
type Given = Partial<Omit<Row, 'touched' | 'tenant'>> & { k: string }
type Counts = Record<'inserted' | 'updated' | 'unchanged', number>

interface Kind {
  readonly name: string
  readonly only?: readonly EngineName[]
  /** The type of the column `k`, which the request gives. */
  readonly type: (engine: EngineName) => string
  readonly values: readonly string[]
  /** The columns that `onConflict` names. */
  readonly key: readonly string[]
  /** The definition of one more column. */
  readonly more?: string
  /** Options of the table, on MySQL and MariaDB. */
  readonly options?: string
  readonly triggers?: (engine: EngineName, table: string) => string[]
  /** The value of `k` after the triggers. */
  readonly stored?: (k: string) => string
  /** Values with the same text are equal in the database. */
  readonly folded?: (k: string) => string
  /** Whether a trigger of updates counts the changes of `note`. */
  readonly counts?: true
  /**
   * Whether a row cannot be found by the values of the request: `returning` may be refused, and a row that collides in
   * another key, or with a hidden row.
   */
  readonly computed?: true
  /** Whether the server writes a version, and so counts the row, also where the values stay the same. */
  readonly versioned?: true
  /** Whether requests give values to the other unique key. */
  readonly code?: false
  /** Whether requests refer to rows of `parents`, of which some are of another tenant, and others are not there. */
  readonly parents?: true
  /**
   * Whether the token has no rules: rows whose insert runs a trigger are looked up under rules, by the key that was
   * given.
   */
  readonly open?: true
}

const TEXT = () => 'varchar(20)'
const ASCII = (engine: EngineName): string =>
  engine === 'sqlite' ? 'varchar(20) collate nocase' : 'varchar(20) collate utf8mb4_unicode_ci'

const countsNotes = (engine: EngineName, table: string): string[] => [engine === 'sqlite'
  ? `create trigger ${table}_counts after update of note on ${table} when new.note is not old.note begin update
    ${table} set touched = touched + 1 where id = new.id; end`
  : `create trigger ${table}_counts before update on ${table} for each row set new.touched = old.touched + if(new.note
    <=> old.note, 0, 1)`]

const changesKey = (to: string) => (_: EngineName, table: string): string[] => [
  `create trigger ${table}_key before insert on ${table} for each row set new.k = ${to}`
]

const shout = (k: string): string => k.trim().toUpperCase()

const KINDS: readonly Kind[] = [
  { name: 'plain', type: TEXT, values: ['a', 'b', 'c', 'B', 'ä', 'z z', '10', '9'], key: ['k'] },
  { name: 'children', type: TEXT, values: ['a', 'b', 'c', 'd', 'e'], key: ['k'], parents: true },
  { name: 'counted', type: TEXT, values: ['a', 'b', 'c', 'd'], key: ['k'], triggers: countsNotes, counts: true },
  { name: 'folded', type: ASCII, values: ['a', 'A', 'b', 'B', 'c'], key: ['k'], folded: (k) => k.toLowerCase() },
  {
    name: 'sharp',
    only: ['mariadb', 'mysql'],
    type: ASCII,
    values: ['straße', 'STRASSE', 'Strasse', 'weg', 'WÉG'],
    key: ['k'],
    folded: (k) => k.toLowerCase().replace('ß', 'ss').replace('é', 'e')
  },
  {
    name: 'large',
    type: () => 'bigint',
    values: ['9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993', '1'],
    key: ['k']
  },
  {
    name: 'decimals',
    only: ['mariadb', 'mysql'],
    type: () => 'decimal(30,0)',
    values: ['900719925474099234567890123456', '900719925474099234567890123457', '2', '3'],
    key: ['k']
  },
  { name: 'pairs', type: TEXT, values: ['a', 'b'], key: ['k', 'part'] },
  {
    name: 'computed',
    type: TEXT,
    values: ['a', 'A', 'b', 'B', 'c'],
    key: ['made'],
    more: 'made varchar(20) generated always as (upper(k)) stored',
    folded: (k) => k.toUpperCase(),
    computed: true,
    open: true
  },
  {
    name: 'versioned',
    only: ['mariadb'],
    type: TEXT,
    values: ['a', 'b', 'c', 'd'],
    key: ['k'],
    options: 'with system versioning',
    versioned: true
  },
  {
    name: 'shouted',
    only: ['mariadb', 'mysql'],
    type: TEXT,
    values: ['a', 'A', ' a', 'b', 'B '],
    key: ['k'],
    triggers: changesKey('upper(trim(new.k))'),
    stored: shout,
    computed: true,
    code: false,
    open: true
  },
  {
    name: 'reversed',
    only: ['mariadb', 'mysql'],
    type: TEXT,
    values: ['ab', 'ba', 'c', 'cd', 'dc'],
    key: ['k'],
    triggers: changesKey('reverse(new.k)'),
    stored: (k) => Array.from(k).toReversed().join(''),
    computed: true,
    code: false,
    open: true
  }
]

/** The parents of the tenant; 3 is one of another. */
const SEEN = [1, 2]

function schemaOf (engine: EngineName): string[] {
  const parents = [
    'create table parents (id int primary key, tenant int not null)',
    'insert into parents values (1, 1), (2, 1), (3, 2)'
  ]
  return [...parents, ...kindsOf(engine).flatMap(({ name, type, more, options = '', triggers, key, parents }) => {
    const id = engine === 'sqlite' ? 'integer primary key' : 'int not null auto_increment primary key'
    const columns = [
      `id ${id}`, 'tenant int not null default 1', `k ${type(engine)} not null`,
      "part varchar(5) not null default 'x'", 'code varchar(5) null unique',
      'n int null default 3', 'note varchar(10) null', 'parent int null', 'touched int not null default 0',
      ...more === undefined ? [] : [more], `unique (${key.join()})`,
      ...parents === true ? ['foreign key (parent) references parents (id)'] : []
    ]
    return [
      `create table ${name} (${columns.join(', ')}) ${engine === 'sqlite' ? '' : `collate utf8mb4_bin ${options}`}`,
      ...triggers?.(engine, name) ?? []
    ]
  })]
}

/** TiDB has no triggers, and upserts by computed keys are refused. */
const isOn = (behind: string | undefined, { triggers, computed }: Kind): boolean => behind !== 'TiDB' ||
  (triggers === undefined && computed !== true)

const kindsOf = (engine: EngineName): Kind[] =>
  KINDS.filter((kind) => kind.only?.includes(engine) !== false && isOn(process.env['TEST_BEHIND'], kind))

type SetOf = undefined | Array<'code' | 'n' | 'note'> | { n: { $inc: number } } | { note: string | null }

type Request =
  | { verb: 'insert', data: Given | Given[], set?: SetOf, upsert: boolean, returning: boolean, dryRun: boolean }
  | {
    verb: 'update',
    least: number,
    data: { n: { $inc: number } } | { note: string | null },
    expect: number | undefined,
    returning: boolean,
    dryRun: boolean
  }
  | { verb: 'many', data: Given[], returning: boolean, dryRun: boolean }
  | { verb: 'delete', least: number, expect: number | undefined, returning: boolean, dryRun: boolean }

function requestsFor (kind: Kind): Arbitrary<Request[]> {
  const isFound = kind.computed === true && kind.triggers === undefined
  const row: Arbitrary<Given> = fc.record({
    k: fc.constantFrom(...kind.values),
    ...kind.name === 'pairs' && { part: fc.constantFrom('x', 'y') },
    ...kind.code !== false && { code: fc.option(fc.constantFrom('p', 'q', 'r', 's', 't'), { freq: 2 }) },
    // NULL where the default is another value is miscounted unless the row can be looked up, or is inserted first
    n: isFound ? fc.integer({ min: -5, max: 5 }) : fc.option(fc.integer({ min: -5, max: 5 })),
    note: fc.option(fc.constantFrom('', "it's", '😀')),
    ...kind.parents === true && { parent: fc.option(fc.constantFrom(1, 2, 1, 2, 1, 2, 3, 9), { freq: 5 }) }
  }, { requiredKeys: ['k'] })
  const set: Arbitrary<SetOf> = fc.oneof(
    fc.constant(undefined), fc.subarray<'code' | 'n' | 'note'>(['code', 'n', 'note']),
    ...isFound ? [] : [fc.integer({ min: -3, max: 3 }).map(($inc) => ({ n: { $inc } }))],
    fc.option(fc.constantFrom('p', 'q')).map((note) => ({ note }))
  )
  const flags = { returning: fc.boolean(), dryRun: fc.nat(7).map((n) => n === 0) }
  const filters = {
    least: fc.integer({ min: -5, max: 6 }), expect: fc.option(fc.nat(3), { nil: undefined, freq: 2 }), ...flags
  }
  return fc.array(fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        verb: fc.constant<'insert'>('insert'),
        data: fc.oneof(row, fc.array(row, { minLength: 1, maxLength: 8 })),
        set,
        upsert: fc.nat(4).map((n) => n > 0),
        ...flags
      })
    },
    {
      weight: 1,
      arbitrary: fc.record({
        verb: fc.constant<'update'>('update'),
        data: fc.oneof(
          fc.integer({ min: -3, max: 3 }).map(($inc) => ({ n: { $inc } })),
          fc.option(fc.constantFrom('p', 'q')).map((note) => ({ note }))
        ),
        ...filters
      })
    },
    ...kind.parents === true
      ? [{
          weight: 3,
          arbitrary: fc.record({
            verb: fc.constant<'many'>('many'),
            data: fc.uniqueArray(row, { selector: ({ k }) => k, minLength: 1, maxLength: 5 }),
            ...flags
          })
        }]
      : [],
    { weight: 1, arbitrary: fc.record({ verb: fc.constant<'delete'>('delete'), ...filters }) }
  ), { minLength: 1, maxLength: 10 })
}

interface Expected {
  readonly counts?: Partial<Counts> & { deleted?: number },
  readonly written?: readonly Row[],
  readonly refused?: number,
  readonly unexpected?: true,
  readonly unseen?: number,
  readonly isEmpty?: number
}

const isUnseen = ({ parent }: Partial<Given>): boolean => parent != null && !SEEN.includes(parent)

/** The rows of a table. Those of tenant 2 are there, and the token does not see them. */
class Model {
  rows: Row[]
  readonly #kind: Kind

  constructor (kind: Kind, rows: Row[]) {
    this.#kind = kind
    this.rows = rows
  }

  run (request: Request): Expected {
    const before = this.rows.map((row) => ({ ...row }))
    const expected = request.verb === 'many'
      ? this.#many(request)
      : request.verb === 'insert' ? this.#withParents(request) : this.#change(request)
    const written = expected.written?.map((row) => ({ ...row }))
    if (request.dryRun || expected.refused !== undefined || expected.unseen !== undefined ||
      expected.isEmpty !== undefined || expected.unexpected === true) this.rows = before
    return { ...expected, ...written !== undefined && { written } }
  }

  #keyOf ({ k, part }: Pick<Row, 'k' | 'part'>): string {
    const key = this.#kind.folded?.(k) ?? k
    return this.#kind.key.includes('part') ? `${key}/${part}` : key
  }

  /** The first row up to the refused one that refers to a row which the tenant does not see decides. */
  #withParents (request: Extract<Request, { verb: 'insert' }>): Expected {
    const expected = this.#insert(request)
    const unseen = [request.data].flat().findIndex(isUnseen)
    return unseen >= 0 && unseen <= (expected.refused ?? Infinity) ? { unseen } : expected
  }

  #many ({ data }: Extract<Request, { verb: 'many' }>): Expected {
    const isEmpty = data.findIndex((entry) => Object.keys(entry).length === 1)
    if (isEmpty >= 0) return { isEmpty }
    const written: Row[] = []
    let updated = 0
    let unseen: number | undefined
    for (const [index, { k, ...changes }] of data.entries()) {
      const known = this.rows.find((row) => row.tenant === 1 && row.k === k)
      if (known === undefined) continue
      if (unseen === undefined && isUnseen(changes)) unseen = index
      const isTaken = changes.code != null && this.rows.some((other) => other !== known && other.code === changes.code)
      if (isTaken || (unseen !== undefined &&
        index === data.length - 1)) return unseen === undefined ? { refused: index } : { unseen }
      if (JSON.stringify({ ...known, ...changes }) !== JSON.stringify(known)) updated++
      written.push(Object.assign(known, changes))
    }
    return unseen === undefined ? { counts: { updated }, written } : { unseen }
  }

  #insert ({ data, set, upsert }: Extract<Request, { verb: 'insert' }>): Expected {
    const counts: Counts = { inserted: 0, updated: 0, unchanged: 0 }
    const written: Row[] = []
    for (const [index, given] of (Array.isArray(data) ? data : [data]).entries()) {
      const fresh: Row = {
        tenant: 1,
        part: 'x',
        code: null,
        n: 3,
        note: null,
        parent: null,
        ...given,
        k: this.#kind.stored?.(given.k) ?? given.k,
        touched: 0
      }
      const known = this.rows.find((row) => this.#keyOf(row) === this.#keyOf(fresh))
      if (known !== undefined && (!upsert || known.tenant !== 1)) return { refused: index }
      const changes = known === undefined ? {} : this.#changes(fresh, given, set, known)
      const row = known === undefined ? fresh : this.#touch(known, { ...known, ...changes })
      if (row.code !== null &&
        this.rows.some((other) => other !== known && other.code === row.code)) return { refused: index }
      if (known === undefined) this.rows.push(row)
      const isSame = known !== undefined && (this.#kind.versioned === true
        ? Object.keys(changes).length === 0
        : JSON.stringify(row) === JSON.stringify(known))
      counts[known === undefined ? 'inserted' : isSame ? 'unchanged' : 'updated']++
      written.push(known === undefined ? row : Object.assign(known, row))
    }
    return { counts: upsert ? counts : { inserted: counts.inserted }, written }
  }

  #changes (fresh: Row, given: Given, set: SetOf, known: Row): Partial<Row> {
    if (set === undefined) {
      return Object.fromEntries(
        Object.keys(given).filter((name) => !this.#kind.key.includes(name)).map((name) => [name, fresh[name as 'n']])
      )
    }
    if (Array.isArray(set)) return Object.fromEntries(set.map((name) => [name, fresh[name]]))
    return 'n' in set ? { n: known.n === null ? null : known.n + set.n.$inc } : set
  }

  #touch (known: Row, row: Row): Row {
    return this.#kind.counts === true && known.note !== row.note ? { ...row, touched: row.touched + 1 } : row
  }

  #change (request: Extract<Request, { verb: 'update' | 'delete' }>): Expected {
    const found = this.rows.filter(({ tenant, n }) => tenant === 1 && n !== null && n >= request.least)
    if (request.expect !== undefined && request.expect !== found.length) return { unexpected: true }
    if (request.verb === 'delete') {
      this.rows = this.rows.filter((row) => !found.includes(row))
      return { counts: { deleted: found.length }, written: found }
    }
    let updated = 0
    for (const row of found) {
      const { data } = request
      const changed = this.#touch(row, 'n' in data ? { ...row, n: row.n as number + data.n.$inc } : { ...row, ...data })
      if (this.#kind.versioned === true || JSON.stringify(changed) !== JSON.stringify(row)) updated++
      Object.assign(row, changed)
    }
    return { counts: { updated }, written: found }
  }
}

const columns = ['k', 'part', 'code', 'n', 'note', 'parent', 'touched'] as const
const shown = (row: object): string =>
  ['tenant', ...columns].map((name) => (row as Record<string, unknown>)[name] ?? 'null').join('|')

async function stored ({ sql, engine }: Service, { name }: Kind): Promise<Array<Row & { id: number }>> {
  return await sql(
    `select id, tenant, cast(k as ${engine === 'sqlite' ? 'text' : 'char'}) as k, part, code, n, note, parent,
      touched from ${name} order by id`
  )
}

function bodyOf (request: Request, { key }: Kind): object {
  const options = { ...request.returning && { returning: ['id', ...columns] }, ...request.dryRun && { dryRun: true } }
  if (request.verb === 'many') return { verb: 'update', key, filters: {}, data: request.data, ...options }
  if (request.verb !== 'insert') {
    const { verb, least, expect } = request
    return {
      verb,
      filters: { n: { $gte: least } },
      ...request.verb === 'update' && { data: request.data },
      ...expect !== undefined && { expect },
      ...options
    }
  }
  const { verb, data, set, upsert } = request
  return { verb, data, ...upsert && { onConflict: { key, ...set !== undefined && { set } } }, ...options }
}

const givesCode = (request: Request): boolean => request.verb === 'insert' &&
  [request.data].flat().some(({ code }) => code != null)

async function check (service: Service, kind: Kind, model: Model, request: Request): Promise<void> {
  const before = model.rows.map((row) => ({ ...row }))
  const expected = model.run(request)
  const body = bodyOf(request, kind)
  const post = (body: unknown) => service.post(kind.name, body, kind.open === true ? {} : { token: 'one' })
  const { status, json, text } = await post(body)
  const fail = (what: string, is: unknown, wanted: unknown): never => {
    throw new Error(
      `${kind.name}: ${JSON.stringify(body)}\non ${before.map(shown).join(' ')}\n${what}: ` +
        `${JSON.stringify(is)}\ninstead of ${JSON.stringify(wanted)}`
    )
  }
  const same = (what: string, is: unknown, wanted: unknown): void => {
    if (JSON.stringify(is) !== JSON.stringify(wanted)) fail(what, is, wanted)
  }
  const rows = await stored(service, kind)
  if (kind.computed === true && json.error?.code === 'NOT_SUPPORTED' &&
    (request.returning || expected.refused !== undefined || givesCode(request))) model.rows = before
  else if (expected.unexpected === true) same('refusal', [status, json.error?.code], [412, 'EXPECTATION_FAILED'])
  else if (expected.isEmpty !== undefined) {
    same('refusal', [status, json.error?.code, json.error?.details[0]?.path], [
      400, 'INVALID_BODY', `/data/${expected.isEmpty}`
    ])
  } else if (expected.unseen !== undefined && request.verb !== 'update' && request.verb !== 'delete') {
    same('refusal', [status, json.error?.code, json.error?.details[0]?.path], [
      409, 'FOREIGN_KEY_VIOLATION', Array.isArray(request.data) ? `/data/${expected.unseen}/parent` : '/data/parent'
    ])
    const other = JSON.stringify(body).replace(/"parent":([39])/g, (_, parent) => `"parent":${parent === '3' ? 9 : 3}`)
    same('answer for hidden rows in place of missing ones', (await post(other)).text, text)
  } else if (expected.refused !== undefined && request.verb === 'many') {
    same('refusal', [status, json.error?.code], [409, 'UNIQUE_VIOLATION'])
    if (!json.error.details.every((detail: { path: string }) =>
      detail.path.startsWith(`/data/${expected.refused}`))) fail('refused row', json.error.details, expected.refused)
  } else if (expected.refused !== undefined && request.verb === 'insert') {
    // rows that are sorted are not refused in the order of `data`, and all of their parents are checked
    const path = Array.isArray(request.data) ? /^\/data\/\d+(\/|$)/ : /^\/data(\/|$)/
    const isSorted = request.upsert && [request.data].flat().some(isUnseen)
    same('refusal', [status, json.error?.code], [
      409, isSorted && json.error?.code === 'FOREIGN_KEY_VIOLATION' ? 'FOREIGN_KEY_VIOLATION' : 'UNIQUE_VIOLATION'
    ])
    if (!json.error.details.every((detail: { path: string }) => path.test(detail.path))) {
      fail('refused row', json.error.details, expected.refused)
    }
  } else {
    if (status !== 200) fail('answer', json, expected)
    for (const [name, count] of Object.entries(expected.counts ??
      {})) if (json.data[name] !== count) fail(name, json.data, expected.counts)
    if (request.returning) {
      const order = request.verb === 'insert' ? (list: string[]) => list : (list: string[]) => list.sort()
      const texts = (list: readonly object[]): string[] => order(list.map((row) => shown({ tenant: 1, ...row })))
      if (kind.type(service.engine) !== 'bigint') same('rows', texts(json.data.rows), texts(expected.written ?? []))
    }
    if (request.verb === 'insert' && !request.dryRun) {
      const wanted = rows.find((row) => shown(row) === shown({ ...expected.written?.[0] }))?.id
      if (!request.upsert || !Array.isArray(request.data)) {
        if (json.data.id !== wanted &&
          !(kind.computed === true && json.data.id === null)) fail('id', json.data.id, wanted)
      } else same('id', json.data.id, null)
    }
  }
  same('rows stored', rows.map(shown).sort(), model.rows.map(shown).sort())
}

/** Compares random requests with the model, `runs` sequences of them for each kind of table. */
export async function compareWrites (t: Test, runs: number): Promise<void> {
  const tables = Object.fromEntries(
    ['parents', ...KINDS.map(({ name }) => name)].map((name) => [name, { rows: { tenant: 1 } }])
  )
  await onEachEngine(t, 'writes do what a ' +
    'model in memory does', { schema: schemaOf, tokens: [tokenFor('one', tables)] }, async (t, service) => {
    for (const kind of kindsOf(service.engine)) {
      const [value = ''] = kind.values.slice(-1)
      await fc.assert(fc.asyncProperty(requestsFor(kind), async (requests) => {
        await service.sql(`delete from ${kind.name}`)
        if (kind.open !== true) {
          await service.sql(`insert into ${kind.name} (tenant, k, code) values (2, ?, 's')`, [value])
        }
        const model = new Model(kind, (await stored(service, kind)).map(({ id: _, ...row }) => ({ ...row })))
        for (const request of requests) await check(service, kind, model, request)
      }), { numRuns: runs, endOnFailure: process.env['TEST_SHRINK'] === undefined })
      t.pass(kind.name)
    }
  })
}
