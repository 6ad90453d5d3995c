/** The requests whose statements the golden files show. */
import type { TableGrantOptions } from '../../../src/access/grant.ts'
import type { ServerTraits } from '../../../src/catalog/catalog.ts'
import type { Engine } from '../../../src/catalog/traits.ts'
import type { Sending } from '../../support/sent-statements.ts'

export interface Case extends Pick<Sending, 'table' | 'body' | 'grant' | 'finds' | 'isSecondForm' | 'refused'> {
  /** What is special about the statements. */
  readonly title: string
  /** The only engine that has it. */
  readonly only?: Engine
  /** Of another server than MySQL. */
  readonly traits?: ServerTraits
  /** The statements that confirm the catalog are shown, and not the ones that they confirm. */
  readonly confirms?: true
}

const OF_TENANT: TableGrantOptions = { rows: { tenant: { $claim: '/tenant' } } }
const TENANTS = { orders: OF_TENANT, customers: OF_TENANT, totals: {} }

const select = (title: string, rest: object, table = 'orders'): Case =>
  ({ title, table, body: { verb: 'select', columns: ['id'], ...rest } })
const filtered = (title: string, filters: object, table = 'orders'): Case => select(title, { filters }, table)
const grouped = (title: string, rest: object): Case => ({ title, table: 'orders', body: { verb: 'select', ...rest } })
const write = (verb: string) => (title: string, table: string, rest: object): Case =>
  ({ title, table, body: { verb, ...rest } })
const insert = write('insert')
const update = write('update')
const remove = write('delete')
const within = (grant: NonNullable<Case['grant']>, each: Case): Case =>
  ({ ...each, title: `${each.title}, with rules`, grant })
const findingNone = (each: Case): Case => ({ ...each, title: `${each.title}, no row found`, finds: 0 })
const findingTwo = (each: Case): Case => ({ ...each, finds: 2 })
/** On SQLite the error would name the row, which nothing then writes otherwise. */
const refused = (each: Case, times: 'once' | 'twice'): Case => ({
  ...each, title: `${each.title}, refused ${times} by a unique key`, refused: times === 'once' ? 1 : 2, only: 'mysql'
})
const onSqlite = (each: Case): Case => ({ ...each, only: 'sqlite' })

const guarded = (each: Case): Case =>
  ({ ...each, grant: { ...TENANTS, computed: OF_TENANT, g0: OF_TENANT }, isSecondForm: true, only: 'mysql' })

const MYSQL: ServerTraits = { sharesLocks: true, upsert: 'byVersion', countsFromEnd: true, nestsInAggregates: true }
const withTraits = (traits: Partial<ServerTraits>) => (each: Case): Case =>
  ({ ...each, only: 'mysql', traits: { ...MYSQL, ...traits } })
const onMariadb = withTraits({ nestsInAggregates: false, countsFromEnd: false })

const customer = { customer: { table: 'customers', columns: ['name'] } }
const paid = { orders: { filters: { status: 'paid' } } }
const ONE = { code: 1, n: 2 }
const LIST = [ONE, { code: 2, n: 3 }]
const ODD = { 'x as y': 5, 2: 7, 1: 8, 'a.b': 'd', ['__proto__']: 'p', '"`\'': 'q', t0: 't' }
const ODD_UPDATE = JSON.parse('{"a.b": "c", "__proto__": "p", "1": {"$inc": 1}, "x as y": 3}')

export const cases: Readonly<Record<string, readonly Case[]>> = {
  'Selects: columns, orders, pages': [
    { title: 'every column', table: 'orders', body: { verb: 'select' } },
    select('columns and limit', { columns: ['total', 'ratio', 'meta', 'ordered_at'], limit: 5 }),
    select('orders', { orderBy: 'ordered_at DESC, id' }),
    select('NULLS LAST', { orderBy: 'status ASC NULLS LAST' }),
    select('an order by a value inside JSON', { orderBy: [{ meta: { '$.size': 'DESC' } }] }),
    select('an order by a member', { include: customer, orderBy: [{ customer: { name: 'ASC' } }, { id: 'DESC' }] }),
    select('an order by an aggregate of related rows', {
      include: { orders: { aggregates: { sum: { $sum: 'total' } } } }, orderBy: [{ orders: { sum: 'DESC' } }]
    }, 'customers'),
    select('offset', { orderBy: 'id', offset: 20, limit: 10 }),
    select('the page after a row, by an index', {
      filters: { customer_id: 7 }, orderBy: 'ordered_at, id', after: { ordered_at: '2026-01-01T00:00:00', id: 5 }
    }),
    select('total', { filters: { status: 'paid' }, total: true }),
    select('total up to a number', { filters: { status: 'paid' }, total: 1000 }),
    within(TENANTS, select('a select', { filters: { status: 'paid' } }))
  ],
  Filters: [
    filtered('equal, also to NULL', { status: 'paid', note: null, customer_id: 7, total: '1.50', ratio: 0.5 }),
    filtered('not equal, and bounds', {
      status: { $ne: 'paid' }, total: { $gte: '1', $lt: '2' }, id: { $between: [1, 9] }
    }),
    filtered('NULL and other bounds', { note: { $null: false }, total: { $gt: '1', $lte: '2' }, ratio: { $is: 0.5 } }),
    filtered('lists', { id: [1, 2, 3], status: { $nin: ['new', null] }, total: { $in: ['1', '2'] } }),
    filtered('a list with NULL, and a decimal between two', { note: ['a', null], total: { $between: ['1', '2'] } }),
    filtered('lists without values', { id: { $in: [] } }),
    filtered('what passes each row', { id: { $nin: [], $ne: null }, $and: [], $not: { id: { $in: [] } } }),
    filtered('documents, and NULL or the document null', { $or: [{ meta: { a: 1 } }, { meta: null }] }),
    filtered('byte by byte', { status: { $is: 'paid' } }),
    filtered('patterns', { note: { $like: 'a%', $nlike: 'b%', $startsWith: 'c', $contains: 'd' } }),
    filtered('characters of patterns', { note: { $startsWith: '5%', $contains: '\\_!' } }),
    filtered('in any letter case', {
      status: { $eq: 'PAID', $case: 'ignore' }, note: { $contains: 'X', $case: 'ignore' }
    }),
    filtered('another column', { id: { $gt: { $column: 'customer_id' } } }),
    filtered('the present time', { ordered_at: { $gte: { $now: { days: -7 } } } }),
    filtered('$and, $or, $not', {
      $or: [{ id: 1 }, { $and: [{ id: { $gt: 5 } }, { status: 'new' }] }], $not: { note: 'x' }
    }),
    filtered('a row', { $is: { id: 1, status: 'paid', note: null } }),
    filtered('values inside JSON', { meta: { $at: { '$.a': 'x', '$.b[0]': { $gt: 5 }, '$."c d"': { $in: [1, 2] } } } }),
    filtered('other tests of values inside JSON', {
      meta: { $at: { '$.a': { $exists: true }, '$.b': null, '$.c': { $contains: 'x' }, '$.d': true } }
    }),
    filtered('words', { $match: { columns: ['note'], text: 'one two' } }),
    select('words, the best first', {
      filters: { $match: { columns: ['note'], text: 'one' } }, orderBy: [{ $match: 'DESC' }]
    }),
    filtered('$some', { $some: paid }, 'customers'),
    filtered('$none', { $none: paid }, 'customers'),
    filtered('$some with a count', { $some: { orders: { count: { $gte: 3 } } } }, 'customers'),
    filtered('$some in $some', { $some: { customers: { filters: { $some: paid } } } }),
    filtered('$some of the table itself', {
      $some: { orders: { on: { customer_id: 'customer_id' }, filters: { id: 1 } } }
    }),
    filtered('$some of a view', {
      $some: { totals: { on: { id: 'customer_id' }, filters: { total: { $gt: 5 } } } }
    }, 'customers'),
    filtered('$none of a view, counted', {
      $not: { $some: { totals: { on: { id: 'customer_id' }, count: { $gte: 2 } } } }
    }, 'customers'),
    within(TENANTS, filtered('$some', { $some: paid }, 'customers'))
  ],
  'Selects with members': [
    select('one row', { include: customer }),
    select('one row of one row', {
      include: { customer: { table: 'customers', include: { other: { table: 'plain', on: { id: 'code' } } } } }
    }),
    select('a list', {
      include: { orders: { columns: ['total'], filters: { status: 'paid' }, orderBy: 'ordered_at', limit: 3 } }
    }, 'customers'),
    select('a list of related texts', {
      include: { same: { table: 'customers', on: { status: 'email' }, as: 'list' } }
    }),
    select('the first row of a list', {
      include: { last: { table: 'orders', as: 'object', orderBy: 'id DESC' } }
    }, 'customers'),
    select('aggregates', {
      include: { orders: { aggregates: { n: { $count: '*' }, paid: { $sum: 'total', filters: { status: 'paid' } } } } }
    }, 'customers'),
    select('a list of a view', { include: { totals: { on: { id: 'customer_id' }, orderBy: 'total' } } }, 'customers'),
    select('aggregates of a view', {
      include: { totals: { on: { id: 'customer_id' }, aggregates: { n: { $count: '*' } } } }
    }, 'customers'),
    within(TENANTS, select('one row', { include: customer }))
  ],
  'Groups and aggregates': [
    grouped('aggregates of all rows', {
      aggregates: {
        n: { $count: '*' }, statuses: { $countDistinct: 'status' }, sum: { $sum: 'total' }, average: { $avg: 'ratio' }
      }
    }),
    grouped('the greatest value', { aggregates: { last: { $max: 'ordered_at' } } }),
    grouped('groups', { groupBy: ['status'], aggregates: { n: { $count: '*' } }, filters: { total: { $gt: 5 } } }),
    grouped('having, order, offset', {
      groupBy: ['status'],
      aggregates: { sum: { $sum: 'total' } },
      having: { sum: { $gt: 100 } },
      orderBy: 'sum DESC, status',
      limit: 5,
      offset: 5
    }),
    grouped('parts of time', { groupBy: [{ month: { $month: 'ordered_at' } }], aggregates: { n: { $count: '*' } } }),
    grouped('aggregates of some rows', {
      groupBy: ['status'], aggregates: { large: { $count: '*', filters: { total: { $gt: 100 } } } }
    }),
    grouped('columns of a member', {
      include: customer, groupBy: [{ name: { customer: 'name' } }], aggregates: { sum: { $sum: 'total' } }
    }),
    grouped('words', { aggregates: { n: { $count: '*' } }, filters: { $match: { columns: ['note'], text: 'one' } } })
  ],
  Inserts: [
    insert('one row', 'numbered', { data: ONE }),
    insert('no values', 'numbered', { data: [{ code: 1 }, { code: 2, n: null }] }),
    insert('a list', 'numbered', { data: LIST }),
    insert('returning', 'numbered', { data: ONE, returning: ['id', 'n'] }),
    findingTwo(insert('a list, returning', 'numbered', { data: LIST, returning: '*' })),
    insert('returning, with a member', 'orders', {
      data: { tenant: 7, customer_id: 3, total: '5' }, returning: ['id'], include: customer
    }),
    onSqlite(insert('where the table has an ON CONFLICT clause', 'replacing', { data: ONE })),
    within(TENANTS, insert('one row', 'orders', { data: { customer_id: 3, total: '5' } })),
    within(TENANTS, insert('a list', 'orders', {
      data: [{ customer_id: 3, total: '5' }, { customer_id: 4, total: '6' }]
    }))
  ],
  'Upserts (docs/internals/ways-of-writing.md)': [
    insert('guarded', 'plain', { data: ONE, onConflict: { key: ['code'] } }),
    insert('guarded, a list', 'plain', { data: LIST, onConflict: { key: ['code'] } }),
    insert('guarded, nothing set', 'plain', { data: ONE, onConflict: { key: ['code'], set: [] } }),
    insert('guarded, columns set', 'plain', { data: { ...ONE, m: 5 }, onConflict: { key: ['code'], set: ['m'] } }),
    insert('guarded, values set', 'plain', { data: ONE, onConflict: { key: ['code'], set: { n: { $inc: 1 }, m: 4 } } }),
    insert('guarded, reporting an id', 'numbered', { data: ONE, onConflict: { key: ['code'] } }),
    insert('guarded, reporting an id, nothing set', 'numbered', { data: ONE, onConflict: { key: ['code'], set: [] } }),
    findingTwo(insert('guarded, returning', 'numbered', {
      data: LIST, onConflict: { key: ['code'], set: ['n'] }, returning: '*'
    })),
    insert('guarded, rows with and without their number', 'numbered', {
      data: [{ id: 1, code: 1 }, { code: 2 }], onConflict: { key: ['id'] }
    }),
    refused(insert('guarded', 'numbered', { data: ONE, onConflict: { key: ['code'] } }), 'twice'),
    refused(findingNone(insert('guarded', 'numbered', { data: ONE, onConflict: { key: ['code'] } })), 'twice'),
    refused(insert('guarded, a list', 'numbered', { data: LIST, onConflict: { key: ['code'] } }), 'twice'),
    insert('a list row by row, because columns differ', 'plain', {
      data: [ONE, { code: 2 }], onConflict: { key: ['code'] }
    }),
    insert('looked up', 'watched', { data: ONE, onConflict: { key: ['code'] } }),
    findingNone(insert('looked up', 'watched', { data: ONE, onConflict: { key: ['code'] } })),
    insert('looked up, nothing set', 'watched', { data: ONE, onConflict: { key: ['code'], set: [] } }),
    insert('looked up, NULL over a default', 'defaulted', {
      data: { code: 1, n: null }, onConflict: { key: ['code'] }
    }),
    insert('inserted first', 'filled', { data: { code: 1, n: null }, onConflict: { key: ['code'] } }),
    refused(insert('inserted first', 'filled', { data: { code: 1, n: null }, onConflict: { key: ['code'] } }), 'once'),
    within(TENANTS, insert('guarded', 'customers', {
      data: { email: 'a', name: 'b' }, onConflict: { key: ['email'], set: ['name'] }
    })),
    within(TENANTS, insert('guarded, a list', 'customers', {
      data: [{ email: 'a', name: 'b' }, { email: 'c', name: 'd' }], onConflict: { key: ['email'], set: ['name'] }
    }))
  ],
  Updates: [
    update('by filters', 'orders', { data: { status: 'paid', note: null }, filters: { id: 5 } }),
    update('by one filter or another', 'orders', {
      data: { status: 'paid' }, filters: { $or: [{ id: 1 }, { note: null }] }
    }),
    update('of no row', 'orders', { data: { status: 'paid' }, filters: { id: { $in: [] } } }),
    update('operators', 'orders', {
      data: { total: { $inc: '1.5' }, ratio: { $inc: 1 }, meta: { $merge: { a: 1 } }, status: { $default: true } },
      filters: { id: 5 }
    }),
    update('the present time', 'orders', { data: { ordered_at: { $now: true } }, filters: { id: 5 } }),
    onSqlite(update('where the table has an ON CONFLICT clause', 'replacing', {
      data: { n: 1 }, filters: { code: 1 }
    })),
    update('expect', 'orders', { data: { status: 'paid' }, filters: { id: [5, 6] }, expect: 1 }),
    update('returning', 'orders', {
      data: { status: 'paid' }, filters: { status: 'new' }, returning: ['id', 'status']
    }),
    update('by related rows', 'orders', {
      data: { status: 'paid' }, filters: { $some: { customers: { filters: { name: 'x' } } } }
    }),
    update('by words', 'orders', { data: { status: 'paid' }, filters: { $match: { columns: ['note'], text: 'one' } } }),
    findingTwo(update('many rows by their keys', 'plain', { key: ['code'], filters: {}, data: LIST })),
    findingTwo(update('many rows by their keys, other columns', 'plain', {
      key: ['code'], filters: {}, data: [ONE, { code: 2, m: 3 }]
    })),
    update('many rows by their keys and filters, returning', 'plain', {
      key: ['code'], filters: { m: 1 }, data: [ONE], returning: '*'
    }),
    within(TENANTS, update('by filters', 'orders', { data: { status: 'paid' }, filters: { id: 5 } })),
    within(TENANTS, update('of a foreign key', 'orders', { data: { customer_id: 4 }, filters: { id: 5 } })),
    within({ orders: { ...OF_TENANT, columns: { select: ['id', 'total'], update: ['status'] } } },
      update('of a hidden column', 'orders', { data: { status: 'x' }, filters: { id: 5 } }))
  ],
  Deletes: [
    remove('by filters', 'orders', { filters: { id: 5 } }),
    remove('expect', 'orders', { filters: { status: 'new' }, expect: { $lte: 2 } }),
    remove('returning', 'orders', { filters: { status: 'new' }, returning: ['id'] }),
    remove('returning, with a member', 'orders', { filters: { status: 'new' }, returning: ['id'], include: customer }),
    remove('by related rows', 'orders', { filters: { $none: { customers: {} } } }),
    remove('by words', 'orders', { filters: { $match: { columns: ['note'], text: 'one' } } }),
    within(TENANTS, remove('by filters', 'orders', { filters: { id: 5 } }))
  ],
  'Odd names': [
    { title: 'every column', table: 't0', body: { verb: 'select', orderBy: [{ 'a.b': 'ASC' }, { 'x as y': 'DESC' }] } },
    select('filters, and a page', {
      columns: ['2', '__proto__'],
      filters: JSON.parse('{"a.b": "x", "__proto__": "y", "x as y": {"$gt": 1}, "1": [1, 2]}'),
      orderBy: [{ 'x as y': 'ASC' }, { 2: 'ASC' }],
      after: { 'x as y': '1', 2: 1 }
    }, 't0'),
    select('related rows and members', {
      columns: ['2'], filters: { $some: { t: { filters: { 1: 5 } } } }, include: { t: { columns: ['1'] } }
    }, 't0'),
    select('related rows of the table t, and one row', {
      filters: { $none: { t0: { filters: { 'a.b': 'x' } } } }, include: { one: { table: 't0', columns: ['a.b', '1'] } }
    }, 't'),
    {
      title: 'groups',
      table: 't0',
      body: {
        verb: 'select',
        groupBy: ['a.b', '1'],
        aggregates: { 'x as y': { $sum: 'x as y' } },
        having: { 'x as y': { $gt: 1 } }
      }
    },
    insert('an insert', 't0', { data: ODD }),
    insert('a list of rows with other columns', 't0', { data: [{ 2: 7, 'a.b': 'd' }, { 2: 8, 1: 9 }] }),
    insert('an upsert', 't0', { data: ODD, onConflict: { key: ['2'] } }),
    update('an update', 't0', { data: ODD_UPDATE, filters: { 2: 1 } }),
    update('an update by related rows', 't0', { data: ODD_UPDATE, filters: { $some: { t: {} } } }),
    findingTwo(update('an update of many rows by their keys', 't0', {
      key: ['2'], filters: {}, data: [{ 2: 1, 1: 2, 'a.b': 'x' }, { 2: 2, 1: 3, 'a.b': 'y' }]
    })),
    remove('a delete', 't0', { filters: JSON.parse('{"__proto__": "x", "1": 1}') }),
    insert('an upsert of a table with the name of an alias', 'given', {
      data: { code: 1, v0: 'a' }, onConflict: { key: ['code'] }
    }),
    findingTwo(update('an update of many rows of a table with the name of an alias', 'given', {
      key: ['code'], filters: {}, data: [{ code: 1, v0: 'a' }, { code: 2, v0: 'b' }]
    })),
    update('an update by words of a table with the name of an alias', 'found', {
      data: { v0: 'a' }, filters: { $match: { columns: ['note'], text: 'one' } }
    }),
    {
      title: 'groups of a table with a column that has the name of an alias',
      table: 'given',
      body: { verb: 'select', groupBy: ['v0'], aggregates: { n: { $count: '*' } }, having: { n: { $gt: 1 } } }
    }
  ],
  'Other servers': [
    onMariadb(grouped('MariaDB: aggregates of rows with related rows', {
      groupBy: ['status'],
      aggregates: {
        n: { $count: '*' }, large: { $sum: 'total', filters: { $some: { customers: { filters: { name: 'x' } } } } }
      }
    })),
    withTraits({ upsert: 'values' })(insert('without an alias for the inserted row: guarded', 'plain', {
      data: ONE, onConflict: { key: ['code'] }
    })),
    withTraits({ upsert: 'byKey' })(insert('without a guard: looked up', 'plain', {
      data: ONE, onConflict: { key: ['code'] }
    })),
    withTraits({ sharesLocks: false })(insert('without shared locks: returning', 'plain', {
      data: ONE, returning: '*'
    }))
  ],
  'In tables with virtual columns, under rules: the second form (src/plan/second-form.ts)': [
    filtered('filters', { twice: 4, order_id: 3 }, 'computed'),
    filtered('words', { $match: { columns: ['note'], text: 'one' } }, 'computed'),
    select('total', { filters: { twice: 4 }, total: 10 }, 'computed'),
    filtered('$some', { $some: { computed: { filters: { twice: 4 } } } }),
    select('one row', { include: { of: { table: 'orders', on: { order_id: 'id' }, columns: ['total'] } } }, 'computed'),
    select('a list', { include: { computed: { columns: ['twice'], filters: { twice: 4 } } } }),
    select('an order by an aggregate', {
      include: { computed: { aggregates: { n: { $sum: 'twice' } } } }, orderBy: [{ computed: { n: 'DESC' } }]
    }),
    {
      title: 'groups',
      table: 'computed',
      body: { verb: 'select', groupBy: ['twice'], aggregates: { n: { $count: '*' } } }
    },
    update('an update', 'computed', { data: { note: 'x' }, filters: { twice: 4, id: 5 } }),
    update('an update of a table with the name of an alias', 'g0', { data: { note: 'x' }, filters: { twice: 4 } }),
    remove('a delete', 'computed', { filters: { twice: 4 } }),
    insert('returning', 'computed', { data: { note: 'x' }, returning: ['twice'] })
  ].map(guarded),
  'Confirmations of the catalog': ['orders', 't'].map((table) =>
    ({ title: 'every column', table, body: { verb: 'select' }, only: 'mysql', confirms: true }))
}
