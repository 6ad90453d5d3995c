/** Views as related tables: in `include`, in its aggregates, and in `$some` and `$none`. */
import t from 'tap'
import { plainId } from '../support/definitions.ts'
import { type EngineName, onEachEngine, type Schema, type Service, sharedOnEachEngine } from '../support/service.ts'

const schema: Schema = (engine: EngineName) => {
  const id = plainId(engine)
  const [coarse, fine] = engine === 'sqlite'
    ? ['collate nocase', '']
    : ['character set latin1 collate latin1_swedish_ci', 'character set latin1 collate latin1_bin']
  return [
    `create table customers (${id}, code varchar(10) ${coarse}, exact varchar(10) ${fine}, day date,
      price decimal(8,2))`,
    `create table orders (${id}, customer_id int, code varchar(10) ${coarse}, exact varchar(10) ${fine}, day date,
      price decimal(8,2), total int not null, foreign key (customer_id) references customers (id))`,
    `create table items (${id}, order_id int not null, sku varchar(10) not null)`,
    'create index by_order on items (order_id)',
    'create view sold as select id, customer_id, code, exact, day, price, total from orders where total > 0',
    'create view spent as select customer_id, sum(total) as total, count(*) as n from orders group by customer_id',
    'create view rich as select id, code from customers where id < 3',
    "insert into customers values (1, 'a', 'a', '2020-01-01', 1.5), (2, 'B', 'B', '2020-02-02', 2.5), (3, null, " +
      "null, null, null), (4, 'a', 'A', '2020-01-01', 1.5)",
    "insert into orders values (1, 1, 'A', 'A', '2020-01-01', 1.5, 10), (2, 1, 'a', 'a', '2020-01-01', 1.5, 20), (3, " +
      "2, 'b', 'B', '2020-02-02', 2.5, 30), (4, 2, 'b', 'b', null, null, 0), (5, null, null, null, null, null, 5)",
    "insert into items values (1, 1, 'A'), (2, 1, 'B'), (3, 3, 'A'), (4, 5, 'C')"
  ]
}

const test = sharedOnEachEngine(t, { schema })
const on = { id: 'customer_id' }
const sold = (more: object = {}): object => ({ table: 'sold', on, columns: ['id'], orderBy: 'id', ...more })

/** The sum of integers, as the answer has it. */
const sumOf = ({ engine }: Pick<Service, 'engine'>, sum: number): number
  | string => engine === 'sqlite' ? sum : String(sum)

async function membersOf (
  { post }: Pick<Service, 'post'>, t: { fail: (text: string) => void }, of: object, table = 'customers'
): Promise<unknown[]> {
  const { json, text } = await post(table, { verb: 'select', columns: ['id'], orderBy: 'id', include: { m: of } })
  if (json.data?.rows === undefined) t.fail(text)
  return json.data?.rows?.map(({ m }: { m: unknown }) => m)
}

await test('a view is a list, in the order asked for and with a limit for each row', async (t, service) => {
  const ids = (...lists: number[][]): object[][] => lists.map((list) => list.map((id) => ({ id })))
  t.same(await membersOf(service, t, sold()), ids([1, 2], [3], [], []))
  t.same(await membersOf(service, t, sold({ orderBy: 'total DESC' })), ids([2, 1], [3], [], []))
  t.same(await membersOf(service, t, sold({ orderBy: 'total DESC', limit: 1 })), ids([2], [3], [], []))
  t.same(await membersOf(service, t, sold({ filters: { total: { $gt: 10 } } })), ids([2], [3], [], []))
  const [first] = await membersOf(service, t, { table: 'sold', on, columns: ['total'] }) as [Array<{ total: number }>]
  t.same(first.map(({ total }) => total).sort(), [10, 20], 'in any order')
  t.same(await membersOf(service, t, { table: 'spent', on }), [
    [{ customer_id: 1, total: sumOf(service, 30), n: 2 }], [{ customer_id: 2, total: sumOf(service, 30), n: 2 }], [], []
  ], 'also one row is a list')
  t.same(await membersOf(service, t, { table: 'rich', on: { id: 'id' }, filters: { id: 1 }, columns: ['id'] }), ids(
    [1], [], [], []
  ))
})

await test('any columns of one kind relate the rows of a view, compared as the columns are', async (t, service) => {
  const related = async (pairs: object): Promise<unknown> => (await membersOf(service, t, {
    table: 'sold', on: pairs, columns: ['id'], orderBy: 'id'
  })).map((list) => (list as Array<{ id: number }>).map(({ id }) => id))
  t.same(await related({ code: 'code' }), [[1, 2], [3], [], [1, 2]])
  t.same(await related({ exact: 'exact' }), [[2], [3], [], [1]])
  t.same(await related({ day: 'day' }), [[1, 2], [3], [], [1, 2]])
  t.same(await related({ price: 'price' }), [[1, 2], [3], [], [1, 2]])
  t.same(await related({ id: 'customer_id', code: 'code', day: 'day' }), [[1, 2], [3], [], []])
  t.same(await related({ id: 'total' }), [[], [], [], []])
})

await test('members of the rows of a view, and of rows that have them', async (t, service) => {
  const { post } = service
  t.same(await membersOf(service, t, sold({
    include: {
      items: { on: { id: 'order_id' }, columns: ['sku'] },
      customer: { table: 'customers', on: { customer_id: 'id' }, columns: ['code'] }
    }
  })), [
    [{ id: 1, items: [{ sku: 'A' }, { sku: 'B' }], customer: { code: 'a' } }, {
      id: 2, items: [], customer: { code: 'a' }
    }], [{ id: 3, items: [{ sku: 'A' }], customer: { code: 'B' } }], [], []
  ])
  const { json } = await post('items', {
    verb: 'select',
    columns: ['id'],
    orderBy: 'id',
    include: {
      order: {
        table: 'orders',
        on: { order_id: 'id' },
        columns: [],
        include: { rich: { on: { customer_id: 'id' }, columns: ['id'] } }
      }
    }
  })
  t.equal(json.error?.code, 'INVALID_BODY', 'columns are not empty')
  t.same(await membersOf(service, t, {
    table: 'orders',
    on: { order_id: 'id' },
    columns: ['id'],
    include: { rich: { on: { customer_id: 'id' }, columns: ['id'] } }
  }, 'items'), [
    { id: 1, rich: [{ id: 1 }] }, { id: 1, rich: [{ id: 1 }] }, { id: 3, rich: [{ id: 2 }] }, { id: 5, rich: [] }
  ])
  t.same(
    await membersOf(service, t, { table: 'rich', on: { id: 'id' }, columns: ['id'] }, 'rich'),
    [[{ id: 1 }], [{ id: 2 }]], 'of a view'
  )
})

await test('aggregates of a view, for rows without related ones as well', async (t, service) => {
  const aggregates = {
    n: { $count: '*' },
    sum: { $sum: 'total' },
    many: { $count: 'id', filters: { total: { $gt: 10 } } },
    codes: { $countDistinct: 'code' }
  }
  const sum = (value: number): number | string => sumOf(service, value)
  t.same(await membersOf(service, t, { table: 'sold', on, aggregates }), [
    { n: 2, sum: sum(30), many: 1, codes: 1 }, { n: 1, sum: sum(30), many: 1, codes: 1 },
    { n: 0, sum: null, many: 0, codes: 0 }, { n: 0, sum: null, many: 0, codes: 0 }
  ])
  t.same(await membersOf(service, t, { table: 'sold', on: { code: 'code' }, aggregates: { n: { $count: '*' } } }), [
    { n: 2 }, { n: 1 }, { n: 0 }, { n: 2 }
  ])
})

/** Filters of customers, and the customers that they select. */
const cases: Array<[filters: object, ids: number[]]> = [
  [{ $some: { sold: { on } } }, [1, 2]],
  [{ $none: { sold: { on } } }, [3, 4]],
  [{ $some: { sold: { on, filters: { total: 30 } } } }, [2]],
  [{ $none: { sold: { on, filters: { total: 30 } } } }, [1, 3, 4]],
  [{ $not: { $some: { sold: { on } } } }, [3, 4]],
  [{ $not: { $none: { sold: { on } } } }, [1, 2]],
  [{ $or: [{ $some: { sold: { on, filters: { total: 30 } } } }, { id: 4 }] }, [2, 4]],
  [{ $some: { sold: { on: { code: 'code' } } } }, [1, 2, 4]],
  [{ $some: { sold: { on: { exact: 'exact' } } } }, [1, 2, 4]],
  [{ $none: { sold: { on: { exact: 'exact' }, filters: { id: { $ne: 1 } } } } }, [3, 4]],
  // NULL relates to nothing, on either side
  [{ $none: { sold: { on: { code: 'code' } } } }, [3]],
  [{ $none: { sold: { on: { id: 'customer_id', day: 'day' } } } }, [3, 4]],
  [{ $some: { sold: { on: { id: 'customer_id', code: 'code' } } } }, [1, 2]],
  // counts
  [{ $some: { sold: { on, count: 2 } } }, [1]],
  [{ $some: { sold: { on, count: { $lt: 2 } } } }, [2, 3, 4]],
  [{ $some: { sold: { on, count: 0 } } }, [3, 4]],
  [{ $some: { sold: { on: { code: 'code' }, count: { $gte: 2 } } } }, [1, 4]],
  [{ $some: { sold: { on: { id: 'customer_id', code: 'code' }, count: { $between: [1, 1] } } } }, [2]],
  // levels
  [{ $some: { sold: { on, filters: { $some: { items: { on: { id: 'order_id' }, filters: { sku: 'B' } } } } } } }, [1]],
  [{ $some: { orders: { on, filters: { $none: { rich: { on: { customer_id: 'id' } } } } } } }, []],
  [{
    $some: { orders: { on, filters: { $some: { rich: { on: { customer_id: 'id' }, filters: { code: 'b' } } } } } }
  }, [2]],
  // constants
  [{ $some: { sold: { on, filters: { id: { $in: [] } } } } }, []],
  [{ $none: { sold: { on, filters: { id: { $in: [] } } } } }, [1, 2, 3, 4]]
]

await test('rows are selected by the rows of a view that are related to them', async (t, { post }) => {
  const select = async (filters: object): Promise<{ ids?: number[], text: string }> => {
    const { json, text } = await post('customers', { verb: 'select', columns: ['id'], orderBy: 'id', filters })
    return { ids: json.data?.rows?.map(({ id }: { id: number }) => id), text }
  }
  for (const [filters, wanted] of cases) {
    const { ids, text } = await select(filters)
    t.same(ids, wanted, `${JSON.stringify(filters)}: ${text}`)
  }
})

await test('a view is no part of a stream, or of the filters of a write', async (t, { post, operate, sql }) => {
  const errorOf = ({ status, json }: { status: number, json: any }): unknown => [
    status, json.error?.code, json.error?.details[0]?.path
  ]
  t.same(errorOf(await post('customers', { verb: 'select', include: { sold: { on } } }, {
    headers: { accept: 'application/x-ndjson' }
  })), [400, 'INVALID_BODY', '/include/sold'])
  const before = await sql('select * from customers order by id')
  t.same(errorOf(await operate([{ table: 'customers', verb: 'delete', filters: { $some: { sold: { on } } } }])), [
    422, 'NOT_SUPPORTED', '/operations/0/filters/$some/sold'
  ])
  t.same(await sql('select * from customers order by id'), before)
})

await test('a view in operations, in streams of what it selects, and in a ' +
  'select that locks', async (t, { operate, post }) => {
  const { json } = await operate([
    { table: 'orders', verb: 'select', filters: { id: 3 } },
    {
      table: 'customers',
      verb: 'select',
      columns: ['id'],
      filters: { $some: { sold: { on, filters: { id: { $ref: '/0/rows/0/id' } } } } },
      include: { sold: { on, columns: ['id'], filters: { total: { $ref: '/0/rows/0/total' } } } }
    }
  ])
  t.same(json.data?.results[1].rows, [{ id: 2, sold: [{ id: 3 }] }], JSON.stringify(json.error))
  const locked = await operate([{
    table: 'customers', verb: 'select', columns: ['id'], orderBy: 'id', lock: true, filters: { $some: { sold: { on } } }
  }])
  t.same(locked.json.data?.results[0].rows, [{ id: 1 }, { id: 2 }], JSON.stringify(locked.json))
  const { text } = await post('customers', {
    verb: 'select', columns: ['id'], orderBy: 'id', filters: { $none: { sold: { on } } }
  }, { headers: { accept: 'application/x-ndjson' } })
  t.equal(text, '{"id":3}\n{"id":4}\n')
})

await onEachEngine(t, 'a view whose table is gone is a broken definition', {
  schema: () => [
    'create table parents (id int not null primary key)', 'insert into parents values (1)',
    'create table gone (id int not null primary key, parent_id int)', 'create view broken as select * from gone'
  ]
}, async (t, { post, sql }) => {
  const on = { id: 'parent_id' }
  const bodies = [
    { include: { broken: { on } } }, { include: { broken: { on, aggregates: { n: { $count: '*' } } } } },
    { filters: { $some: { broken: { on } } } },
    { aggregates: { n: { $count: '*', filters: { $none: { broken: { on } } } } } }
  ]
  for (const body of bodies) t.equal((await post('parents', { verb: 'select', ...body })).status, 200)
  await sql('drop table gone')
  for (const body of bodies) {
    t.match(
      await post('parents', { verb: 'select', ...body }),
      { status: 422, json: { error: { code: 'BROKEN_DEFINITION' } } },
      JSON.stringify(body)
    )
  }
})
