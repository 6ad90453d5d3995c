/**
 * A write that is refused has the same answer whether a row before the refused one, or that itself, refers to a row
 * that the grant does not see or to none: every form of write with every reason. By day, each table and reason with one
 * in three of the forms.
 */
import t from 'tap'
import { numberedId, trigger } from '../support/definitions.ts'
import { CSV, load, NDJSON } from '../support/load.ts'
import { oneIn } from '../support/rotation.ts'
import { type EngineName, type Schema, type Service, sharedOnEachEngine } from '../support/service.ts'
import { tokenFor } from './support.ts'

const TABLES = ['plain', 'early', 'ruled', 'fired', 'made', 'hooked', 'moved', 'filled', 'pairs'] as const
/** Tables in which the database computes the key from `half`. */
const COMPUTED: readonly string[] = ['made', 'hooked', 'moved', 'filled']
type Name = typeof TABLES[number]

const forWrites = (create: (event: 'insert' | 'update') => string): string[] => [create('insert'), create('update')]

function triggersOf (engine: EngineName, name: Name): string[] {
  const isSqlite = engine === 'sqlite'
  if (name === 'hooked' || name === 'moved') {
    const set = name === 'hooked'
      ? 'owner_id = half * 2'
      : "owner_id = half * 2, k = iif(note = 'move', k || 'x', k), id = iif(note = 'move', id + 50, id)"
    return forWrites((event) => isSqlite
      ? `create trigger ${name}_${event} after ${event} on ${name} when new.owner_id is not new.half * 2 begin
        update ${name} set ${set} where id = new.id; end`
      : trigger(`${name}_${event}`, `before ${event} on ${name}`, name === 'hooked'
        ? 'set new.owner_id = new.half * 2'
        : `set new.owner_id = new.half * 2;
          if new.note = 'move' then set new.k = concat(new.k, 'x'); set new.id = new.id + 50; end if`))
  }
  if (name !== 'fired') return []
  return isSqlite
    ? [
        ...forWrites((event) => `create trigger ${name}_${event} before ${event} on ${name}
          when new.note = 'raise' begin select raise(abort, 'no'); end`),
        `create trigger ${name}_again after insert on ${name} when new.note = 'again' begin
          update ${name} set n = n where id = new.id; end`
      ]
    : forWrites((event) => trigger(`${name}_${event}`, `before ${event} on ${name}`, `
        if new.note = 'raise' then signal sqlstate '45000' set message_text = 'no'; end if;
        if new.note = 'null' then set new.n = null; end if`))
}

function tableOf (engine: EngineName, name: Name): string[] {
  const isSqlite = engine === 'sqlite'
  const made = (expression: string): string => `generated always as (${expression}) stored`
  const owner = name === 'made' || (name === 'filled' && isSqlite)
    ? made('half * 2')
    : name === 'filled' ? 'default (half * 2)' : ''
  return [
    `create table ${name} (${numberedId(engine)}, tenant int not null, k varchar(10) not null unique,
      half int, owner_id int ${owner}, other_id int, tag_id int, x int, y int, n int not null default 0,
      code varchar(10) unique, small tinyint ${isSqlite ? made('n') : made('n * 10')}, zone int ${made('n % 10')},
      note varchar(4000),
      ${name === 'early' || COMPUTED.includes(name) ? 'unique (owner_id),' : ''}
      ${name === 'pairs' ? 'unique (x, y), foreign key (x, y) references places (x, y),' : ''}
      foreign key (owner_id) references owners (id), foreign key (other_id) references owners (id),
      foreign key (tag_id) references tags (id), check (n >= 0))`,
    `insert into ${name} (id, tenant, k, code, note, x, y) values
      (1, 7, 'a', 'a', '', 1, 1), (2, 7, 'b', 'b', '', 1, 3),
      (3, 7, 'c', 'taken', '', null, 1), (4, 8, 'd', 'theirs', '', null, 2)`,
    ...triggersOf(engine, name)
  ]
}

const schema: Schema = (engine) => [
  'create table owners (id int primary key, tenant int not null)',
  'insert into owners values (2, 7), (4, 7), (6, 8), (8, 8)',
  'create table tags (id int primary key)', 'insert into tags values (1)',
  'create table places (x int, y int, tenant int not null, primary key (x, y))',
  'insert into places values (1, 1, 7), (1, 3, 7), (2, 2, 8), (2, 1, 8), (2, 3, 8)',
  ...TABLES.flatMap((name) => tableOf(engine, name)),
  engine === 'sqlite'
    ? 'create table row_query_keys (k blob not null primary key, request blob not null, answer blob, created text ' +
      'not null default current_timestamp) without rowid'
    : 'create table row_query_keys (k binary(32) not null primary key, request binary(32) not null, answer ' +
      'mediumblob, created timestamp not null default current_timestamp, index (created))'
]

const rows = { tenant: 7 }
const tokens = [tokenFor('child', { plain: {} }), tokenFor('seven', {
  owners: { rows },
  tags: {},
  places: { rows },
  ...Object.fromEntries(TABLES.map((name) => [name, { rows: name === 'ruled' ? { tenant: 7, zone: 0 } : rows }]))
})]

type Part = Record<string, unknown>

/**
 * Columns that refer to a row which is not there, or is not seen. A part of `pairs` refers to it beside the other part
 * of a row that exists.
 */
const parentsOf = (name: Name, isThere: boolean): Part[] => [
  COMPUTED.includes(name) ? { half: isThere ? 3 : 49 } : { owner_id: isThere ? 6 : 98 },
  ...name === 'pairs' ? [{ x: 2, y: isThere ? 2 : 9 }, { x: isThere ? 2 : 9 }] : []
]

const TAKEN = { code: 'taken' }
/** Beyond the size of an answer, where it is returned. */
const LARGE = { 'too large an answer': { note: 'y'.repeat(3900) } }

/** What else a row of each table is refused for. */
const REASONS: Record<Name, Record<string, Part>> = {
  plain: {
    'a missing parent': { other_id: 99 },
    'a hidden parent': { other_id: 8 },
    'a parent without rules': { tag_id: 9 },
    'a value out of range': { n: 1000 },
    'a taken value': TAKEN,
    "another tenant's value": { code: 'theirs' },
    'a CHECK': { n: -10 },
    ...LARGE
  },
  early: { 'a taken value': TAKEN },
  ruled: { 'a taken value': TAKEN, 'a rule after the write': { n: 3 } },
  fired: { 'a taken value': TAKEN, 'a trigger': { note: 'raise' }, 'NULL of a trigger': { note: 'null' }, ...LARGE },
  made: {
    'a taken value': TAKEN,
    'a missing parent': { other_id: 99 },
    'a parent without rules': { tag_id: 9 },
    'a CHECK': { n: -10 },
    ...LARGE
  },
  hooked: { 'a taken value': TAKEN, 'a parent without rules and a taken value': { tag_id: 9, ...TAKEN } },
  moved: { 'a taken value': TAKEN, 'a key that a trigger changes': { note: 'move' }, ...LARGE },
  filled: { 'a taken value': TAKEN },
  pairs: { 'a taken value': TAKEN, 'a CHECK': { n: -10 } }
}

/** Its rows may be written in the order of their keys. */
const ANOTHER_ORDER = 'upsert of rows in another order'

/** Bodies that write rows in some way. A row has an index, which its key is made from. */
const FORMS: Record<string, (parts: Part[]) => object> = {
  insert: (parts) => ({ verb: 'insert', data: listOf(parts, fresh) }),
  'insert returning': (parts) => ({ verb: 'insert', data: listOf(parts, fresh), returning: ['id', 'note'] }),
  upsert: (parts) => ({ verb: 'insert', data: listOf(parts, fresh), onConflict: { key: ['k'] } }),
  'upsert of the number': (parts) => ({
    verb: 'insert', data: listOf(parts, (index) => ({ id: 30 - index, k: `n${index}` })), onConflict: { key: ['id'] }
  }),
  'upsert of rows that exist': (parts) => ({
    verb: 'insert', data: listOf(parts, (index) => ({ k: 'ab'[index] })), onConflict: { key: ['k'] }, returning: ['id']
  }),
  [ANOTHER_ORDER]: (parts) => ({
    verb: 'insert', data: listOf(parts, (index) => ({ k: 'ba'[index] })), onConflict: { key: ['k'] }
  }),
  'update of many': (parts) => ({
    verb: 'update',
    key: ['id'],
    filters: {},
    data: parts.map((part, index) => ({ id: index + 1, ...part, note: part['note'] ?? 'x' }))
  }),
  'update of many by another key': (parts) => ({
    verb: 'update',
    key: ['k'],
    filters: {},
    data: parts.map((part, index) => ({ k: 'ba'[index], ...part, note: part['note'] ?? 'x' })),
    returning: ['id'],
    expect: parts.length
  })
}

const fresh = (index: number): Part => ({ k: `n${index}` })
const listOf = (parts: Part[], key: (index: number) => Part): Part[] =>
  parts.map((part, index) => ({ ...key(index), ...part }))

/** Bodies that write one row, by itself. */
const ALONE: Record<string, (part: Part) => object> = {
  insert: (part) => ({ verb: 'insert', data: { k: 'n', ...part } }),
  'insert returning': (part) => ({ verb: 'insert', data: { k: 'n', ...part }, returning: ['note'] }),
  'dry run': (part) => ({ verb: 'insert', data: { k: 'n', ...part }, dryRun: true }),
  upsert: (part) => ({ verb: 'insert', data: { k: 'a', ...part }, onConflict: { key: ['k'] } }),
  'upsert with set': (part) => ({
    verb: 'insert', data: { k: 'a', ...part }, onConflict: { key: ['k'], set: part }, returning: ['id']
  }),
  update: (part) => ({ verb: 'update', data: part, filters: { id: 1 } }),
  'update of several': (part) => ({
    verb: 'update', data: part, filters: { id: { $lte: 2 } }, expect: 2, returning: ['k', 'note']
  })
}

const isTested = oneIn(3)

const test = sharedOnEachEngine(t, { schema, tokens, keepsRows: true, database: { resultLimit: 3000 } })
const dump = async ({ sql }: Service) => JSON.stringify(
  await Promise.all(TABLES.map((name) => sql(`select * from ${name} order by id`))),
  (_, value) => typeof value === 'bigint' ? Number(value) : value
)

for (const name of TABLES) {
  await test(`what a write of "${name}" is refused for does not tell whether a hidden row exists`, async (
    t, service
  ) => {
    const before = await dump(service)
    const send = async (body: object): Promise<string> => (await service.post(name, body, { token: 'seven' })).text
    const [hidden, missing] = [parentsOf(name, true), parentsOf(name, false)]
    const isSame = async (
      why: string, bodyOf: (parent: Part) => object, [here, gone]: readonly [Part, Part]
    ): Promise<string> => {
      const [a, b] = [await send(bodyOf(here)), await send(bodyOf(gone))]
      if (a !== b || !a.includes('"error"')) t.equal(a, b, `${why}: ${JSON.stringify(bodyOf(here)).slice(0, 300)}`)
      return a
    }
    for (const [index, here] of hidden.entries()) {
      const pair = [here, missing[index] as Part] as const
      for (const [reason, refused] of Object.entries(REASONS[name])) {
        if (service.engine === 'sqlite' && ['a value out of range', 'NULL of a trigger'].includes(reason)) continue
        for (const [form, bodyOf] of Object.entries(FORMS)) {
          if ('x' in here && !('y' in here) && !form.includes('of rows')) continue
          if (!isTested()) continue
          const first = await isSame(`${form} before ${reason}`, (parent) => bodyOf([parent, refused]), pair)
          if (form !== ANOTHER_ORDER && name !== 'filled') {
            t.match(
              JSON.parse(first), { error: { details: [{ path: /^\/data\/0/ }] } }, `${form}: the first row comes first`
            )
          }
          if (name === 'plain') await isSame(`${form} after ${reason}`, (parent) => bodyOf([refused, parent]), pair)
          await isSame(`${form} beside ${reason}`, (parent) => bodyOf([{}, { ...parent, ...refused }]), pair)
        }
        for (const [form, bodyOf] of Object.entries(ALONE)) {
          if ('x' in here && !('y' in here) && !/up/.test(form)) continue
          if (!isTested()) continue
          await isSame(`${form} of one row beside ${reason}`, (parent) => bodyOf({ ...parent, ...refused }), pair)
        }
      }
    }
    t.equal(await dump(service), before, 'nothing was changed')
  })
}

await test('the same for writes of several parts', async (t, service) => {
  const { operate, post } = service
  const before = await dump(service)
  const token = 'seven'
  const insert = (row: Part) => ({ table: 'plain', verb: 'insert', data: { k: 'n', ...row } })
  const importRows = async (query: string, type: string, text: string): Promise<string> =>
    (await load(service, 'plain', text, { query: `?${query}`, type, token })).text
  const ndjson = (list: Part[]): string =>
    list.map((row, index) => JSON.stringify({ k: `n${index}`, ...row }) + '\n').join('')
  const csv = (list: Part[]): string => ['k,owner_id,code,tag_id', ...list.map((
    { owner_id: owner = 2, code = '', tag_id: tag = 1 }, index
  ) => `n${index},${String(owner)},${String(code)},${String(tag)}`)].join('\n')
  let keys = 0
  const ways: Record<string, (rows: [Part, Part]) => Promise<string>> = {
    operations: async ([a, b]) => (await operate([insert(a), insert({ ...b, k: 'm' })], { token })).text,
    'operations that update many': async (list) => (await operate([{
      table: 'plain',
      verb: 'update',
      key: ['id'],
      filters: {},
      data: list.map((row, index) => ({ id: index + 1, ...row }))
    }], { token })).text,
    'a key': async (list) => (await post('plain', { verb: 'insert', data: listOf(list, fresh) }, {
      token, headers: { 'idempotency-key': `k${keys++}` }
    })).text,
    'a dry run': async (list) => (await post('plain', {
      verb: 'update',
      key: ['id'],
      filters: {},
      data: list.map((row, index) => ({ id: index + 1, ...row })),
      dryRun: true
    }, { token })).text,
    'a whole import': async (list) => await importRows('transaction=whole', NDJSON, ndjson(list)),
    'an import in batches': async (list) => await importRows('transaction=batch', NDJSON, ndjson(list)),
    'an import that updates': async (list) => await importRows('onConflict=k&transaction=whole', CSV, csv(list))
  }
  for (const [way, send] of Object.entries(ways)) {
    for (const refused of [TAKEN, { tag_id: 9 }]) {
      const [hidden, missing] = [await send([{ owner_id: 6 }, refused]), await send([{ owner_id: 98 }, refused])]
      t.equal(hidden, missing, `${way}: ${JSON.stringify(refused)}`)
      t.match(JSON.parse(hidden), { error: { code: 'FOREIGN_KEY_VIOLATION' } }, way)
    }
  }
  t.equal(await dump(service), before, 'nothing was changed')
})

await test('a token that sees only the child table learns the key and its column of a missing ' +
  'parent, never its table', async (t, service) => {
  const { post, operate, engine } = service
  const before = await dump(service)
  const key = engine === 'sqlite' ? 'plain_owner_id' : 'plain_ibfk_1'
  const row = { tenant: 7, owner_id: 98 }
  const writes: Array<[body: object, path: string]> = [
    [{ verb: 'insert', data: { ...row, k: 'n' } }, '/data/owner_id'],
    [{ verb: 'insert', data: [{ tenant: 7, k: 'n' }, { ...row, k: 'm' }] }, '/data/1/owner_id'],
    [{ verb: 'insert', data: { ...row, k: 'a' }, onConflict: { key: ['k'] } }, '/data/owner_id'],
    [{ verb: 'update', data: { owner_id: 98 }, filters: { id: 1 } }, '/data/owner_id'],
    [{ verb: 'update', key: ['id'], filters: {}, data: [{ id: 1, owner_id: 98 }] }, '/data/0/owner_id']
  ]
  for (const [body, path] of writes) {
    const { status, json, text } = await post('plain', body, { token: 'child' })
    t.same(
      [status, json.error.code, json.error.details],
      [409, 'FOREIGN_KEY_VIOLATION', [{ path, message: `foreign key "${key}" on "owner_id"` }]], JSON.stringify(body)
    )
    const inOperations = await operate([{ table: 'plain', ...body }], { token: 'child' })
    t.equal(inOperations.json.error.details[0].message, json.error.details[0].message, 'in operations')
    for (const answer of [text, inOperations.text]) t.notMatch(answer, /owners/, 'the other table is not named')
  }
  t.equal(await dump(service), before, 'nothing was changed')
})
