// night: many grants and tables
/**
 * Every verb and every field against rows that a grant does not see. A row outside of the rules and a reference to such
 * a row must have the same answer as a row that does not exist, and nothing of another tenant may change.
 * test/plan/hidden-columns.test.ts has the columns.
 *
 * A field that is added to the bodies must be added here.
 */
import t, { type Test } from 'tap'
import { BODIES } from '../../schemas/body.ts'
import { onEachEngine, type Schema, type Service } from '../support/service.ts'
import { ORDERS, tenants, tokenFor } from './support.ts'

const rows = { tenant: { $claim: '/tenant' } }
const columns = { select: ['id', 'status', 'total', 'sku', 'customer_id', 'words', 'doc'] }
const grants = { orders: { columns, rows }, customers: { rows }, sold: { columns, rows } }
/** Each row has a word and a document of its own. */
const schema: Schema = (engine) => [
  ...tenants(engine),
  ...['words varchar(40)', 'doc json'].map((column) => `alter table orders add column ${column}`),
  `update orders set words = ${engine === 'sqlite' ? "'common word' || id" : "concat('common word', id)"},
    doc = json_object('of', id)`,
  ...engine === 'sqlite'
    ? [
        "create virtual table found using fts5(words, content='orders', content_rowid='id')",
        "insert into found (found) values ('rebuild')"
      ]
    : ['create fulltext index found on orders (words)'],
  'create view sold as select * from orders'
]
const tokens = [tokenFor('acme', grants, { tenant: 'acme' })]

/** What a probe puts in the place of x: something hidden, and something that does not exist. */
const kinds = {
  /** An order of another tenant, and one whose tenant equals the claim in the collation of the column. */
  row: [[4, 99], [7, 99]],
  /** A customer of another tenant. */
  reference: [[3, 99], [4, 99]]
} as const

type Kind = keyof typeof kinds
type Probe = readonly [kind: Kind, body: (x: any) => object]

const row = (body: (x: number) => object): Probe => ['row', body]
const reference = (body: (x: number) => object): Probe => ['reference', body]

const match = (text: string): object => ({ $match: { columns: ['words'], text } })
const ofRow = (x: number): object => ({ doc: { $at: { '$.of': x } } })

const counted = { n: { $count: '*' } }
const byId = { on: { id: 'id' } }
const byStatus = { on: { status: 'status' } }
const byCustomer = { on: { customer_id: 'customer_id' } }
/** Members of an order: itself, and those of the same customer. */
const self = { table: 'orders', ...byId }
const ofCustomer = { table: 'orders', ...byCustomer }

/** The probes of a field of several verbs. */
const filters = (rest: object): Probe[] => [
  row((x) => ({ ...rest, filters: match(`word${x}`) })),
  row((x) => ({ ...rest, filters: { $or: [match(`word${x}`), { id: x }] } })),
  row((x) => ({ ...rest, filters: { $and: [match('common'), match(`word${x}`)] } })),
  row((x) => ({ ...rest, filters: ofRow(x) })),
  row((x) => ({ ...rest, filters: { doc: { $at: { '$.of': { $gte: x } } } } })),
  row((x) => ({ ...rest, filters: { $not: { doc: { $at: { '$.of': { $ne: x } } } } } })),
  row((x) => ({ ...rest, filters: { id: x } })),
  row((x) => ({ ...rest, filters: { id: { $in: [x] } } })),
  row((x) => ({ ...rest, filters: { $or: [{ id: x }, { $and: [{ id: { $gte: x } }, { id: { $lte: x } }] }] } })),
  row((x) => ({ ...rest, filters: { $is: { id: x } } })),
  row((x) => ({ ...rest, filters: { $not: { id: { $ne: x } } } })),
  reference((x) => ({ ...rest, filters: { customer_id: x } }))
]

/** The probes of members beside `returning`. `rest`: a write of row 1, or of a new row. */
const returned = (rest: object): Probe[] => [
  row((x) => ({
    ...rest,
    dryRun: true,
    returning: ['sku'],
    include: { others: { ...ofCustomer, filters: { id: { $gte: x } } } }
  }))
]

const matrix: Record<string, Probe[]> = {
  'select.verb': [row((x) => ({ filters: { id: x } }))],
  'select.filters': [
    ...filters({}), row((x) => ({ filters: { $not: match(`word${x}`) } })),
    row((x) => ({ filters: { $some: { orders: { ...byId, filters: ofRow(x) } } } })),
    row((x) => ({ filters: { $none: { orders: { ...byCustomer, filters: ofRow(x) } } } })),
    ...[1, { $gte: 1 }, { $between: [1, 9] }, 0, { $lt: 2 }].flatMap((count) => [
      row((x) => ({
        filters: { $some: { orders: { ...byCustomer, filters: { id: { $gte: x } }, count } } }
      })), row((x) => ({ filters: { $some: { orders: { ...byId, filters: { id: x }, count } } } })),
      reference(
        (x) => ({ limit: 2, columns: ['sku'], filters: { $some: { customers: { filters: { id: x }, count } } } })
      )
    ]),
    ...['$some', '$none'].flatMap((some) => [
      row((x) => ({ filters: { [some]: { sold: { ...byStatus, filters: { id: x } } } } })),
      row((x) => ({ filters: { $not: { [some]: { sold: { ...byStatus, filters: { id: { $gte: x } } } } } } }))
    ])
  ],
  'select.limit': [row((x) => ({ filters: { id: { $gte: x } }, limit: 1 }))],
  'select.orderBy': [
    row((x) => ({ filters: match(`common word${x}`), orderBy: [{ $match: 'DESC' }] })),
    row((x) => ({
      filters: { ...match('common'), $not: match(`word${x}`) }, orderBy: [{ $match: 'ASC' }, { id: 'ASC' }]
    })),
    row((x) => ({
      orderBy: 'others.n DESC',
      include: { others: { ...ofCustomer, filters: { id: { $gte: x } }, aggregates: counted } }
    })),
    reference((x) => ({
      limit: 2,
      columns: ['sku'],
      orderBy: [{ customer: { name: 'DESC' } }],
      include: { customer: { table: 'customers', filters: { id: x }, aggregates: { name: { $max: 'name' } } } }
    })),
    row((x) => ({ filters: { id: { $gte: x } }, orderBy: 'id DESC' }))
  ],
  'select.groupBy': [
    row((x) => ({ groupBy: ['id'], having: { id: x } })),
    row((x) => ({
      groupBy: [{ of: { same: 'status' } }],
      aggregates: counted,
      include: { same: { ...self, filters: { id: x } } }
    })),
    row((x) => ({ groupBy: [{ of: { same: 'status' } }], include: { same: { ...self, filters: ofRow(x) } } })),
    reference((x) => ({
      limit: 2,
      groupBy: [{ name: { customer: 'name' } }],
      include: { customer: { table: 'customers', filters: { id: x } } }
    })),
    row((x) => ({ filters: { id: x }, groupBy: ['status'] }))
  ],
  'select.aggregates': [
    ...['$count', '$countDistinct', '$sum', '$avg', '$min', '$max'].map(
      (call) => row((x) => ({ filters: { id: { $gte: x } }, aggregates: { a: { [call]: 'total' } } }))
    ),
    row((x) => ({ filters: { id: x }, aggregates: counted })),
    row((x) => ({ filters: match(`word${x}`), aggregates: counted })),
    row((x) => ({ aggregates: { n: { $count: '*', filters: ofRow(x) } } })), ...['$some', '$none'].flatMap((some) => [
      row((x) => ({
        aggregates: {
          n: { $count: '*', filters: { [some]: { orders: { ...byCustomer, filters: { id: { $gte: x } } } } } }
        }
      })),
      row((x) => ({
        aggregates: { n: { $max: 'total', filters: { [some]: { sold: { ...byStatus, filters: { id: x } } } } } }
      })),
      reference(
        (x) => ({ aggregates: { n: { $max: 'sku', filters: { [some]: { customers: { filters: { id: x } } } } } } })
      )
    ]),
    ...['$count', '$sum', '$max'].map(
      (call) => row((x) => ({ aggregates: { a: { [call]: 'total', filters: { id: x } } } }))
    ), row((x) => ({ aggregates: { n: { $count: '*', filters: { id: { $gte: x } } } } }))
  ],
  'select.having': [
    row((x) => ({ groupBy: ['id'], having: { id: x } })),
    row((x) => ({ groupBy: ['id'], aggregates: { a: { $max: 'id' } }, having: { a: { $gte: x } } }))
  ],
  'select.after': [
    row((x) => ({ orderBy: 'id', after: { id: x - 1 } })),
    row((x) => ({ orderBy: 'id DESC', after: { id: x + 1 }, filters: { id: { $gte: x } } }))
  ],
  'select.offset': [row((x) => ({ orderBy: 'id', filters: { id: { $gte: x } }, offset: 0 }))],
  'select.total': [
    row((x) => ({ filters: match(`word${x}`), total: true })),
    row((x) => ({ filters: { $not: ofRow(x) }, total: true })),
    row((x) => ({ filters: { id: x }, total: true })),
    row((x) => ({ filters: { id: { $gte: x } }, total: 5 }))
  ],
  'select.expect': [row((x) => ({ filters: { id: x }, expect: 1 })), row((x) =>
    ({ filters: { id: { $gte: x } }, expect: { $gte: 1 } }))],
  'select.include': [
    row((x) => ({
      include: {
        others: {
          ...ofCustomer,
          include: { same: { ...self, filters: { id: x } } },
          orderBy: [{ same: { total: 'DESC' } }]
        }
      }
    })),
    row((x) => ({
      include: {
        last: { ...ofCustomer, as: 'object', orderBy: 'id DESC', filters: { id: { $gte: x } } },
        same: { ...self, as: 'list', filters: { id: x } }
      }
    })),
    row((x) => ({ filters: { id: x }, include: { customer: { table: 'customers' } } })),
    row((x) => ({ include: { same: { ...self, filters: ofRow(x) } } })),
    row((x) => ({ include: { same: { ...self, filters: { id: x } } } })),
    row((x) => ({
      include: {
        others: {
          ...ofCustomer,
          filters: { id: { $gte: x } },
          aggregates: { n: { $count: '*' }, total: { $sum: 'total' } }
        }
      }
    })),
    row((x) => ({ include: { sold: { ...byStatus, filters: { id: { $gte: x } }, orderBy: 'id', limit: 1 } } })),
    row((x) => ({ include: { sold: { ...byStatus, filters: { id: x }, aggregates: counted } } })),
    reference((x) => ({ filters: { id: 1 }, include: { customer: { table: 'customers', filters: { id: x } } } }))
  ],
  'insert.returning': [reference((x) => ({ data: { sku: 'N', customer_id: x }, returning: '*' }))],
  'insert.include': [...returned({ data: { id: 60, sku: 'N' } }), reference((x) => ({
    data: { sku: 'N', customer_id: x }, returning: ['customer_id'], include: { customer: { table: 'customers' } }
  }))],
  'insert.dryRun': [reference((x) => ({ data: { sku: 'N', customer_id: x }, dryRun: true }))],
  'insert.verb': [reference((x) => ({ data: { sku: 'N', customer_id: x } }))],
  'insert.data': [
    reference((x) => ({ data: { sku: 'A', customer_id: x } })),
    reference((x) => ({ data: [{ sku: 'N' }, { sku: 'A', customer_id: x }] }))
  ],
  'insert.outcomes': [
    reference((x) => ({ data: [{ id: 1, customer_id: x }], onConflict: { key: ['id'] }, outcomes: true }))
  ],
  'insert.onConflict': [
    reference((x) => ({ data: { id: 1, customer_id: x }, onConflict: { key: ['id'] } })),
    reference((x) => ({ data: [{ id: 1, customer_id: x }], onConflict: { key: ['id'], set: [] } })),
    reference((x) => ({ data: { id: 1 }, onConflict: { key: ['id'], set: { customer_id: x } } }))
  ],
  'update.verb': [row((x) => ({ filters: { id: x }, data: { status: 'x' } }))],
  'update.filters': filters({ data: { status: 'x' } }),
  'update.data': [
    row((x) => ({ filters: { id: x }, data: { total: { $inc: 1 } } })),
    reference((x) => ({ filters: { id: 1 }, data: { customer_id: x } })),
    reference((x) => ({ filters: { id: 1 }, data: { sku: 'B', customer_id: x } }))
  ],
  'update.key': [
    row((x) => ({ filters: {}, key: ['id'], data: [{ id: x, status: 'x' }] })),
    row((x) => ({ filters: {}, key: ['id'], data: [{ id: x, status: 'x' }], expect: 1 })),
    reference((x) => ({ filters: {}, key: ['id'], data: [{ id: 1, customer_id: x }] }))
  ],
  'update.returning': [
    row((x) => ({ filters: { id: x }, data: { status: 'x' }, returning: '*' })),
    reference((x) => ({ filters: { id: 1 }, data: { customer_id: x }, returning: ['customer_id'] }))
  ],
  'update.include': [
    ...returned({ filters: { id: 1 }, data: { status: 'x' } }), row((x) => ({
      filters: { id: x }, data: { status: 'x' }, returning: '*', include: { customer: { table: 'customers' } }
    })),
    reference((x) => ({
      filters: { id: 1 },
      data: { customer_id: x },
      returning: ['customer_id'],
      include: { customer: { table: 'customers', as: 'list' } }
    }))
  ],
  'update.expect': [
    row((x) => ({ filters: { id: x }, data: { status: 'x' }, expect: 1 })),
    row((x) => ({ filters: { id: x }, data: { status: 'x' }, expect: { $lte: 0 } })),
    row((x) => ({ filters: { id: { $gte: x } }, data: { status: 'x' }, expect: { $gt: 2 } }))
  ],
  'update.dryRun': [
    row((x) => ({ filters: { id: x }, data: { status: 'x' }, dryRun: true })),
    reference((x) => ({ filters: { id: 1 }, data: { customer_id: x }, dryRun: true }))
  ],
  'delete.returning': [row((x) => ({ filters: { id: x }, returning: '*' }))],
  'delete.include': [
    ...returned({ filters: { id: 1 } }),
    row((x) => ({ filters: { id: x }, returning: '*', include: { customer: { table: 'customers' } } }))
  ],
  'delete.expect': [
    row((x) => ({ filters: { id: x }, expect: 1 })),
    row((x) => ({ filters: { id: { $gte: x } }, expect: { $lt: 1 } }))
  ],
  'delete.dryRun': [row((x) => ({ filters: { id: x }, dryRun: true }))],
  'delete.verb': [row((x) => ({ filters: { id: x } }))],
  'delete.filters': filters({})
}

t.test('the matrix has every field of every verb', async (t) => {
  const fields = Object.entries(BODIES).flatMap(
    ([verb, { properties }]) => Object.keys(properties).map((field) => `${verb}.${field}`)
  )
  t.same([...Object.keys(matrix), 'select.columns'].sort(), fields.sort(), 'a new field needs probes')
  for (const [field, probes] of Object.entries(matrix)) t.ok(probes.length > 0, field)
})

/** The rows of others, and how many rows there are. */
const FOREIGN = "select * from orders where tenant <> 'acme' or id = 7 order by id"

async function probe (t: Test, { post, sql }: Service, field: string, [kind, bodyOf]: Probe): Promise<void> {
  const [verb, name] = field.split('.') as [string, string]
  for (const [hidden, absent] of kinds[kind]) {
    const before = await sql(ORDERS)
    const send = async (x: number) => {
      const { status, text } = await post('orders', { verb, ...bodyOf(x) }, { token: 'acme' })
      // what is hidden is only named where the request names it
      return { status, text: text.replaceAll(new RegExp(`\\b${x}\\b`, 'g'), 'X') }
    }
    const seen = await send(hidden)
    const why = `${field}: ${JSON.stringify({ verb, ...bodyOf(hidden) })}`
    t.same(seen, await send(absent), why)
    t.not(seen.status, 500, why)
    if (kind === 'reference' && verb !== 'select' && name !== 'filters') t.equal(seen.status, 409, why)
    t.same(await sql(ORDERS), before, `${why} changes nothing`)
  }
}

await onEachEngine(t, 'what is hidden is like what does not exist', { schema, tokens }, async (t, service) => {
  const before = await service.sql(FOREIGN)
  for (const [field, probes] of Object.entries(matrix)) for (const each of probes) await probe(t, service, field, each)
  t.same(await service.sql(FOREIGN), before)
})

await onEachEngine(t, 'the probes tell a token that sees everything what the other ' +
  'one must not know', { schema }, async (t, { post }) => {
  let told = 0
  for (const [field, probes] of Object.entries(matrix)) {
    for (const [kind, bodyOf] of probes) {
      const [hidden, absent] = kinds[kind][0]
      const [one, other] = await Promise.all([hidden, absent].map(
        async (x) => (await post('orders', { verb: field.split('.')[0], ...bodyOf(x) })).text.replaceAll(String(x), 'X')
      ))
      if (one !== other) told++
    }
  }
  t.ok(told > 30, `${told} probes`)
})
