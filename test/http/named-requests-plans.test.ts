/**
 * How often named requests are planned: once for what a call gives and its caller sees; afterwards a call binds its
 * values.
 */
import t, { type Test } from 'tap'
import { verbs } from '../../src/verbs/index.ts'
import { numberedId } from '../support/definitions.ts'
import { callerOf, define, optional, param as p } from '../support/named-requests.ts'
import { onEachEngine, type EngineName, type Service } from '../support/service.ts'

let plannings = 0
for (const handler of Object.values(verbs) as Array<{ plan: Function }>) {
  const { plan } = handler
  handler.plan = (...args: unknown[]) => {
    plannings++
    return plan(...args)
  }
}

const schema = (engine: EngineName): string[] => [
  'create table owners (id int primary key, tenant int not null, name varchar(20) not null)',
  `create table things (${numberedId(engine)}, tenant int not null, name varchar(10) null, price decimal(10,2) null,
    doc json null, made datetime null, owner int null, foreign key (owner) references owners(id))`,
  "insert into owners values (1, 1, 'one'), (2, 2, 'two')",
  `insert into things (id, tenant, name, price, doc, made, owner) values
    (1, 1, 'a', 1.50, '{"a": 1}', '2020-01-01 00:00:00', 1), (2, 1, 'b', 2.50, '[1]', null, 1),
    (3, 2, 'c', 3.50, null, '2020-01-01 00:00:00', 2), (4, 1, 'd', 4.50, '0', '2020-01-03 00:00:00', null)`
]
const permissions = ['select' as const, 'insert' as const, 'update' as const, 'delete' as const]
const everything = { for: 'requests' as const, permissions, databases: { shop: '*' as const } }
const tenant = { rows: { tenant: { $claim: '/tenant' } } }
const ofTenant = { for: 'requests' as const, permissions, databases: { shop: { things: tenant, owners: tenant } } }
const on = (table: string | undefined, body: object, parameters = {}, as = 'everything') =>
  define(table, body, { as, parameters })
const letters = ['a', 'b', 'c', 'd', 'e', 'f']
const requests = {
  find: on('things', {
    verb: 'select',
    columns: ['id', 'name', 'price'],
    orderBy: 'price DESC',
    limit: p('size'),
    after: p('after'),
    filters: {
      id: { $in: p('ids') },
      name: { $contains: p('name') },
      price: { $gte: p('price') },
      $or: [{ made: { $gte: p('since') } }, { made: null }]
    }
  }, {
    ids: optional,
    name: optional,
    price: { default: '0.00' },
    since: { default: { $now: { days: -36500 } } },
    size: { default: 20 },
    after: { default: null }
  }),
  skip: on('things', {
    verb: 'select',
    columns: ['id'],
    orderBy: 'id',
    limit: p('size'),
    offset: p('from'),
    include: { mine: { table: 'owners', columns: ['name'] } }
  }),
  owners: on('owners', {
    verb: 'select',
    columns: ['id'],
    orderBy: 'id',
    include: { things: { columns: ['id'], orderBy: 'id DESC', limit: p('most') } }
  }),
  add: on('things', {
    verb: 'insert',
    data: { tenant: 1, name: p('name'), price: p('price'), doc: p('doc') },
    returning: ['name', 'price', 'doc']
  }, { price: optional, doc: { default: null } }),
  change: on('things', {
    verb: 'update', filters: { id: p('id') }, data: { name: p('name') }, returning: ['id', 'name']
  }),
  remove: on('things', { verb: 'delete', filters: { id: { $in: p('ids') } } }),
  both: on(undefined, {
    operations: [
      { table: 'things', verb: 'insert', data: { tenant: 1, name: p('name') } },
      { table: 'things', verb: 'update', filters: { id: { $ref: '/0/id' } }, data: { name: 'both', owner: 1 } },
      {
        table: 'things',
        verb: 'select',
        columns: ['name', 'owner'],
        filters: { id: { $ref: '/0/id' } },
        limit: p('size')
      },
      { table: 'things', verb: 'select', columns: ['id'], filters: { name: { $in: [p('name'), 'a'] } } }
    ]
  }),
  own: on('things', {
    verb: 'select', columns: ['id', 'tenant'], orderBy: 'id', filters: { name: { $ne: p('name') } }
  }, { name: optional }, 'ofTenant'),
  own_add: on('things', { verb: 'insert', data: { name: p('name'), owner: p('owner') }, returning: ['tenant'] }, {
    owner: optional
  }, 'ofTenant'),
  own_members: on('owners', {
    verb: 'select',
    columns: ['id'],
    include: { things: { columns: ['id'], orderBy: 'id', filters: { name: p('name') } } }
  }, { name: optional }, 'ofTenant'),
  many: on('things', {
    verb: 'select', columns: ['id'], filters: { $and: letters.map((name) => ({ id: { $gte: p(name) } })) }
  }, Object.fromEntries(letters.map((name) => [name, optional])))
}
const tokens = [
  callerOf('all'), callerOf('other'), callerOf('one', '*', { tenant: 1 }), callerOf('two', '*', { tenant: 2 })
]

/** Calls a request; returns `data` or the code, and how often bodies were planned for it. */
async function call (
  service: Service, name: string, given: object | string, token = 'all'
): Promise<{ data: any, planned: number }> {
  const before = plannings
  const { json: { data, error } } = typeof given === 'string'
    ? await service.call(name + given, undefined, { token })
    : await service.call(name, given, { token })
  return { data: error?.code ?? data, planned: plannings - before }
}

await onEachEngine(t, 'named requests are planned', {
  schema, tokens, options: { roles: { everything, ofTenant }, requests }
}, async (t, service) => {
  const of = (name: string, parameters: object | string, token?: string) => call(service, name, parameters, token)
  const data = async (name: string, parameters: object
    | string, token?: string) => (await of(name, parameters, token)).data
  /** The first call plans, the second one does not, and both answer. */
  const requireOnce = async (t: Test, name: string, pairs: ReadonlyArray<readonly [parameters: object
    | string, answer: object]>, bodies = 1): Promise<void> => {
    for (const [index, [parameters, answer]] of pairs.entries()) {
      const { data, planned } = await of(name, parameters)
      t.match(data, answer, `${name} ${JSON.stringify(parameters)}`)
      t.equal(planned, index === 0
        ? bodies
        : 0, `${name} ${JSON.stringify(parameters)} is planned ${index === 0 ? 'once' : 'no more'}`)
    }
  }
  const ids = (...list: number[]): object => ({ rows: list.map((id) => ({ id })), count: list.length })

  /** The catalog has been compared with the requests. */
  const settle = async (): Promise<void> => {
    for (let before = -1; before !== plannings;) {
      before = plannings
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  await settle()

  await t.test('the second call with the same parameters plans nothing', async (t) => {
    await requireOnce(t, 'find', [
      [{}, ids(4, 3, 2, 1)], [{ price: '2.00' }, ids(4, 3, 2)], ['?price=4.50', ids(4)], [{ size: 2 }, ids(4, 3)],
      [{ size: 1, price: '3.5' }, { rows: [{ id: 4 }], next: { price: '4.50', id: 4 } }],
      ['?size=3', { count: 3, next: {} }]
    ])
    await requireOnce(t, 'find', [
      [{ ids: [1, 2] }, ids(2, 1)], [{ ids: [4] }, ids(4)], [{ ids: [1, 1, 3, 77] }, ids(3, 1)],
      ['?ids=2&ids=4&size=1', ids(4)]
    ])
    await requireOnce(t, 'find', [[{ name: 'a' }, ids(1)], [{ name: '%' }, ids()], ['?name=c', ids(3)]])
    await requireOnce(t, 'find', [
      [{ after: { price: '3.50', id: 3 } }, ids(2, 1)], [{ after: { id: 2, price: '2.5' }, size: 5 }, ids(1)],
      ['?after=%7B%22price%22%3A%224.50%22%2C%22id%22%3A4%7D', ids(3, 2, 1)]
    ])
    await requireOnce(t, 'find', [
      [{ since: '2020-01-02T00:00:00' }, ids(4, 2)], [{ since: '2021-01-02T00:00:00' }, ids(2)]
    ])
    await requireOnce(t, 'skip', [
      [{ size: 2, from: 1 }, ids(2, 3)], [{ size: 1, from: 0 }, { rows: [{ id: 1, mine: { name: 'one' } }] }],
      ['?size=9&from=3', ids(4)]
    ])
    await requireOnce(t, 'owners', [[{ most: 1 }, { rows: [{ things: [{ id: 2 }] }, { things: [{ id: 3 }] }] }], [
      { most: 2 }, { rows: [{ things: [{ id: 2 }, { id: 1 }] }, {}] }
    ]])
  })

  await t.test('a write, and operations', async (t) => {
    await requireOnce(t, 'add', [
      [{ name: 'x' }, { rows: [{ name: 'x', price: null, doc: null }] }], [{ name: 'y' }, { rows: [{ name: 'y' }] }]
    ])
    await requireOnce(t, 'add', [
      [{ name: 'x', price: '1.00', doc: { $gt: 0 } }, { rows: [{ price: '1.00', doc: { $gt: 0 } }] }],
      [{ name: 'y', price: 2, doc: [{ $param: 'name' }] }, {
        rows: [{ name: 'y', price: '2.00', doc: [{ $param: 'name' }] }]
      }]
    ])
    await requireOnce(t, 'add', [
      [{ name: null }, { rows: [{ name: null }] }], [{ name: null }, { rows: [{ name: null }] }]
    ])
    await requireOnce(t, 'change', [[{ id: 4, name: 'e' }, { rows: [{ id: 4, name: 'e' }] }], [
      { id: '4', name: 'd' }, { rows: [{ id: 4, name: 'd' }] }
    ]])
    await requireOnce(t, 'both', [
      [{ name: 'x', size: 5 }, {
        results: [{ inserted: 1 }, { updated: 1 }, { rows: [{ name: 'both', owner: 1 }] }, {}]
      }],
      [{ name: 'b', size: 1 }, {
        results: [{ inserted: 1 }, { updated: 1 }, { count: 1 }, { rows: [{ id: 1 }, { id: 2 }] }]
      }]
    ], 4)
    const [{ least }] = await service.sql('select min(id) least from things where id > 4')
    await requireOnce(t, 'remove', [
      [{ ids: [least] }, { deleted: 1 }], [{ ids: [] }, { deleted: 0 }], [{ ids: [least, 5000] }, { deleted: 0 }]
    ].map(([parameters, answer]) => [parameters, answer] as [object, object]).filter(
      ([{ ids }]: any) => ids.length > 0
    ))
    await service.sql('delete from things where id > 4')
  })

  await t.test('what a value decides is planned for each call', async (t) => {
    for (let time = 0; time < 2; time++) {
      for (const [name, parameters, answer] of [
        ['find', { ids: [] }, ids()],
        ['find', { ids: ['x'] }, 'INVALID_VALUE'],
        ['find', { name: '' }, 'INVALID_VALUE'],
        ['find', { after: { id: 3 } }, 'INVALID_BODY'],
        ['remove', { ids: [null] }, 'INVALID_VALUE'],
        ...service.engine === 'sqlite' ? [] : [['change', { id: 4, name: 'x'.repeat(11) }, 'INVALID_VALUE'] as const],
        ['own_add', { name: 'x', owner: 2 }, 'FOREIGN_KEY_VIOLATION', 'one']
      ] as const) {
        const called = await of(name, parameters, ...name === 'own_add' ? ['one'] : [])
        t.match(called.data, answer, `${name} ${JSON.stringify(parameters)}`)
        t.ok(called.planned > 0, `${name} ${JSON.stringify(parameters)} is planned`)
      }
    }
    t.match(await data('own_add', { name: 'x', owner: 1 }, 'one'), { inserted: 1 })
    t.match(await data('own_add', { name: 'x', owner: 2 }, 'two'), { inserted: 1 })
    t.match(await data('own_add', { name: 'x', owner: 1 }, 'two'), 'FOREIGN_KEY_VIOLATION')
    await service.sql('delete from things where id > 4')
  })

  await t.test('the limits hold for the values of lists', async (t) => {
    await of('find', { ids: [1] })
    t.match(await of('find', { ids: Array.from({ length: 9999 }, (_, index) => index + 3) }), {
      data: ids(4, 3), planned: 0
    })
    t.match(await data('find', { ids: Array.from({ length: 10_001 }, (_, index) => index) }), 'INVALID_BODY')
  })

  await t.test('callers who see the same share plans; those with other claims do not', async (t) => {
    await of('find', { name: 'a' })
    t.match(await of('find', { name: 'b' }, 'other'), { data: ids(2), planned: 0 })
    const rows = async (token: string) => await of('own', { name: 'zz' }, token)
    t.match([await rows('one'), await rows('two')].map(({ planned }) => planned), [1, 1])
    for (const token of ['two', 'one', 'two', 'one', 'one']) {
      const { data, planned } = await rows(token)
      t.match(data.rows.map((row: any) => row.id), token === 'one' ? [1, 2, 4] : [3])
      t.equal(planned, 0)
    }
    for (const token of ['two', 'one', 'two', 'one']) {
      t.same((await data('own_add', { name: 'x' }, token)).rows, [{ tenant: token === 'one' ? 1 : 2 }])
      t.same((await data('own_members', {}, token)).rows[0].id, token === 'one' ? 1 : 2)
      t.same((await data('own_members', { name: 'c' }, token)).rows[0].things.length, token === 'one' ? 0 : 1)
    }
    t.equal(await data('own', {}), 'PERMISSION_DENIED', 'the claim is missing')
    await service.sql('delete from things where id > 4')
  })

  await t.test('at most 32 calls of a request are kept', async (t) => {
    const sets = Array.from({ length: 33 }, (_, set) =>
      Object.fromEntries(letters.filter((_name, bit) => (set & 2 ** bit) !== 0).map((name) => [name, 2])))
    for (const set of sets) t.match((await of('many', set)).planned, 1)
    t.equal((await of('many', sets[1] as object)).planned, 0, 'the second one is kept')
    t.equal((await of('many', sets[0] as object)).planned, 1, 'the first one is not')
    t.equal((await of('many', sets[0] as object)).planned, 0, 'and is kept again')
  })

  await t.test('they are planned again when the table has changed', async (t) => {
    await of('change', { id: 1, name: 'a' })
    await service.sql('alter table things add extra int null')
    await service.server.rows.refresh()
    await settle()
    t.match(await of('change', { id: 1, name: 'a' }), { data: { rows: [{ id: 1 }] }, planned: 1 })
    t.match(await of('change', { id: 2, name: 'b' }), { data: { rows: [{ id: 2 }] }, planned: 0 })
  })
})
