/** The mistakes in the setting `requests` that need no database, each with its line. */
import t from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { ConfigError } from '../../src/config-errors.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { createShop } from '../../src/demo/shop.ts'
import { createServer } from '../../src/server/server.ts'
import { codeBlocks, readDocument } from '../support/markdown.ts'

const role = {
  for: 'requests',
  permissions: ['select', 'insert', 'update', 'delete'],
  databases: { shop: { orders: {}, items: {}, log: { permissions: ['insert'] } } }
}
const roles = {
  front: role, reader: { ...role, permissions: ['select'] }, clerk: { permissions: ['select'], databases: '*' }
}
const select = { verb: 'select', columns: ['id'] }

/** The lines of a configuration with one request. */
function errorsOf (request: object, others: object = {}): readonly string[] {
  try {
    resolveSettings({
      databases: { shop: { url: 'sqlite::memory:' } },
      roles,
      requests: { r: { database: 'shop', table: 'orders', ...request } },
      ...others
    })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.errors
    throw error
  }
}

/** The lines of a request with a body and the parameter `x`, without their beginning. */
const inBody = (body: object, parameter: object = {}, request: object = {}): string[] =>
  errorsOf({ parameters: { x: parameter }, body, ...request }).map((line) => line.replace(/^requests\.r\./, ''))
const x = { $param: 'x' }
const ONLY_LESS = 'a parameter here cannot be optional: without it, the request would be another one'
const HERE = '"$param" is not allowed here'

t.test('a request that is right has no line', async (t) => {
  const bodies: object[] = [
    { ...select, filters: { id: x } },
    { ...select, filters: { id: { $in: x } } },
    { ...select, filters: { id: ['a', x] } },
    { ...select, filters: { id: { $nin: [1, x] } } },
    { ...select, filters: { id: { $between: [x, { $now: true }] } } },
    { ...select, filters: { tags: { $has: x } } },
    { ...select, filters: { $or: [{ id: x }, { $not: { id: { $gt: x } } }] } },
    { ...select, filters: { $is: { id: x } } },
    { ...select, filters: { $some: { items: { filters: { id: x } } } } },
    { ...select, filters: { $match: { columns: ['name'], text: x } } },
    { ...select, limit: x },
    { ...select, after: x },
    { ...select, offset: x },
    { ...select, include: { items: { columns: ['id'], limit: x, filters: { id: x } } } },
    { verb: 'select', aggregates: { n: { $count: '*', filters: { id: x } } } },
    { verb: 'insert', data: { id: x } },
    { verb: 'insert', data: [{ id: 1 }, { id: x }] },
    { verb: 'update', filters: { id: x }, data: { id: 1 } },
    { verb: 'update', filters: {}, key: ['id'], data: [{ id: x, n: 1 }] },
    { verb: 'delete', filters: { id: { $startsWith: x } } }
  ]
  for (const body of bodies) t.same(inBody(body), [], JSON.stringify(body))
  const optional: object[] = [
    { ...select, filters: { id: x } },
    { ...select, filters: { id: { $in: x } } },
    { ...select, filters: { id: { $in: x, $case: 'ignore' } } },
    { ...select, filters: { $and: [{ id: { $gt: x } }] } },
    { ...select, filters: { $match: { columns: ['name'], text: x } } },
    { ...select, limit: x },
    { ...select, include: { items: { columns: ['id'], filters: { id: x } } } },
    { verb: 'insert', data: { id: x } },
    { verb: 'update', filters: { id: 1 }, data: { id: x } }
  ]
  for (const body of optional) t.same(inBody(body, { optional: true }), [], JSON.stringify(body))
  t.same(errorsOf({
    table: undefined, parameters: { x: {} }, body: { operations: [{ ...select, table: 'orders', filters: { id: x } }] }
  }), [])
  const shown: object[] = [
    { verb: 'select', aggregates: { n: { $count: '*' } } },
    { verb: 'select', groupBy: ['status'], aggregates: { n: { $count: '*' } } },
    { ...select, include: { items: { aggregates: { n: { $count: '*' } } } } },
    { verb: 'delete', filters: { id: 1 }, returning: ['id'] },
    { verb: 'delete', filters: { id: 1 } }
  ]
  for (const body of shown) {
    t.same(errorsOf({ as: 'front', body }), [], `all columns are named: ${JSON.stringify(body)}`)
  }
})

t.test('a parameter in another place is a mistake', async (t) => {
  const cases: Array<[object, string]> = [
    [{ ...select, filters: { id: { $like: x } } }, 'body.filters.id.$like'],
    [{ ...select, filters: { id: { $nlike: x } } }, 'body.filters.id.$nlike'],
    [{ ...select, filters: { id: { $null: x } } }, 'body.filters.id.$null'],
    [{ ...select, filters: { id: { $eq: 'a', $case: x } } }, 'body.filters.id.$case'],
    [{ ...select, filters: { id: { $gt: { $column: x } } } }, 'body.filters.id.$gt.$column'],
    [{ ...select, filters: { id: { $between: x } } }, 'body.filters.id.$between'],
    [{ ...select, filters: { id: { $has: ['a', x] } } }, 'body.filters.id.$has.1'],
    [{ ...select, filters: { id: { $at: { '$.a': x } } } }, 'body.filters.id.$at.$.a'],
    [{ ...select, filters: { id: { a: x } } }, 'body.filters.id.a'],
    [{ ...select, filters: { id: { a: 1, $gt: x } } }, 'body.filters.id.$gt'],
    [{ ...select, filters: { id: { $eq: { a: x } } } }, 'body.filters.id.$eq.a'],
    [{ ...select, filters: { id: { $gt: { $now: x } } } }, 'body.filters.id.$gt.$now'],
    [{ ...select, filters: x }, 'body.filters'],
    [{ ...select, filters: { $and: x } }, 'body.filters.$and'],
    [{ ...select, filters: { $and: [x] } }, 'body.filters.$and.0'],
    [{ ...select, filters: { $not: x } }, 'body.filters.$not'],
    [{ ...select, filters: { $is: x } }, 'body.filters.$is'],
    [{ ...select, filters: { $some: x } }, 'body.filters.$some'],
    [{ ...select, filters: { $some: { items: x } } }, 'body.filters.$some.items'],
    [{ ...select, filters: { $some: { items: { count: x } } } }, 'body.filters.$some.items.count'],
    [{ ...select, filters: { $match: x } }, 'body.filters.$match'],
    [{ ...select, filters: { $match: { columns: x, text: 'a' } } }, 'body.filters.$match.columns'],
    [{ ...select, filters: { $match: { columns: ['a'], text: 'a', mode: x } } }, 'body.filters.$match.mode'],
    [{ verb: 'select', columns: x }, 'body.columns'],
    [{ verb: 'select', columns: [x] }, 'body.columns.0'],
    [{ ...select, orderBy: x }, 'body.orderBy'],
    [{ ...select, orderBy: [{ id: x }] }, 'body.orderBy.0.id'],
    [{ ...select, total: x }, 'body.total'],
    [{ ...select, expect: x }, 'body.expect'],
    [{ ...select, expect: { $lte: x } }, 'body.expect.$lte'],
    [{ ...select, include: x }, 'body.include'],
    [{ ...select, include: { items: { on: { id: x } } } }, 'body.include.items.on.id'],
    [{ verb: 'select', groupBy: ['a', x] }, 'body.groupBy.1'],
    [{ verb: 'select', aggregates: { n: { $sum: x } } }, 'body.aggregates.n.$sum'],
    [{ verb: 'select', groupBy: ['a'], having: { a: x } }, 'body.having.a'],
    [{ verb: x, columns: ['id'] }, 'body.verb'],
    [{ verb: 'insert', data: x }, 'body.data'],
    [{ verb: 'insert', data: [x] }, 'body.data.0'],
    [{ verb: 'insert', data: { id: { a: x } } }, 'body.data.id.a'],
    [{ verb: 'insert', data: { id: { $eq: x } } }, 'body.data.id.$eq'],
    [{ verb: 'insert', data: { id: [x] } }, 'body.data.id.0'],
    [{ verb: 'insert', data: { id: 1 }, onConflict: { key: x } }, 'body.onConflict.key'],
    [{ verb: 'insert', data: { id: 1 }, onConflict: { key: ['id'], set: { n: x } } }, 'body.onConflict.set.n'],
    [{ verb: 'insert', data: { id: 1 }, returning: x }, 'body.returning'],
    [{ verb: 'update', filters: { id: 1 }, data: { n: { $inc: x } } }, 'body.data.n.$inc'],
    [{ verb: 'update', filters: { id: 1 }, data: { n: { $merge: { a: x } } } }, 'body.data.n.$merge.a'],
    [{ verb: 'update', filters: { id: 1 }, data: { n: 1 }, expect: x }, 'body.expect']
  ]
  for (const [body, path] of cases) t.same(inBody(body), [`${path}: ${HERE}`], JSON.stringify(body))
  const first = { ...select, table: 'orders', filters: { id: x } }
  const ofWhole: Array<[object, string]> = [
    [{ operations: x }, 'body.operations: "operations" must be'],
    [{ operations: [first, x] }, 'body.operations.1.verb: "verb" must be one of'],
    [{ operations: [first, { ...select, table: x }] }, `body.operations.1.table: ${HERE}`],
    [{ operations: [first, { ...select, table: 'orders', lock: x }] }, `body.operations.1.lock: ${HERE}`],
    [{ operations: [first], isolation: x }, 'body.isolation: "isolation" must be']
  ]
  for (const [body, line] of ofWhole) {
    const lines = inBody(body, {}, { table: undefined })
    t.ok(lines.some((each) => each.startsWith(line)), `${JSON.stringify(body)} ${lines.join()}`)
  }
  const ruled = { ...role, databases: { shop: { orders: { rows: { id: x } } } } }
  t.match(errorsOf({ body: select }, { roles: { ...roles, ruled } }), [/^roles\.ruled\.databases\.shop\.orders\.rows/])
  t.same(inBody({ ...select, filters: { id: { $param: 'x', $ref: '/0/id' } } }), [
    'body.filters.id: "$param" must be the only key'
  ])
  for (const name of ['y', '__proto__', 'constructor', 1, null]) {
    t.same(inBody({ ...select, filters: { id: { $param: name }, n: x } }), [
      'body.filters.id: "$param" must be the name of one of the "parameters"'
    ])
  }
  t.same(inBody({ ...select, filters: { id: x, n: { $in: x } } }), [
    'body.filters.n.$in: "x" is a list in one place and a value in another'
  ])
  t.same(inBody(select), ['parameters.x: stands nowhere in the body'])
})

t.test('what every table refuses is a mistake of the definition', async (t) => {
  const OFFSET = 'expected true, or an offset of years, months, days, hours, minutes, seconds'
  const now = { $now: { dayz: 1 } }
  const cases: Array<[object, string]> = [
    [
      { ...select, filters: { id: { $gtt: 1 } } },
      'body.filters.id.$gtt: "$gtt" is not an operator; did you mean "$gt"?'
    ],
    [
      { ...select, filters: { $or: [{ id: { $claim: '/tenant' } }] } },
      'body.filters.$or.0.id.$claim: "$claim" is not an operator; use one of'
    ],
    [{ ...select, filters: { id: { $ref: '/0/id' } } }, 'body.filters.id.$ref: "$ref" is not an operator'],
    [{ ...select, filters: { id: { $gt: 1, $now: true } } }, 'body.filters.id.$now: "$now" is not an operator'],
    [{ ...select, filters: { id: now } }, `body.filters.id.$now: ${OFFSET}`],
    [{ ...select, filters: { id: { $gte: now } } }, `body.filters.id.$gte.$now: ${OFFSET}`],
    [{ ...select, filters: { id: { $between: [1, now] } } }, `body.filters.id.$between.1.$now: ${OFFSET}`],
    [{ ...select, include: { items: { filters: { id: now } } } }, `body.include.items.filters.id.$now: ${OFFSET}`],
    [{ verb: 'insert', data: { at: now } }, `body.data.at.$now: ${OFFSET}`],
    [{ verb: 'update', filters: { id: 1 }, data: { at: { $now: false } } }, `body.data.at.$now: ${OFFSET}`],
    [{ ...select, filters: { id: { $in: 1 } } }, 'body.filters.id.$in: expected a list of values'],
    [{ ...select, filters: { id: { $between: 1 } } }, 'body.filters.id.$between: expected a list of two values'],
    [{ ...select, filters: { id: { $between: [1] } } }, 'body.filters.id.$between: expected a list of two values'],
    [
      { ...select, filters: { id: { $between: [1, null] } } },
      'body.filters.id.$between: expected a list of two values'
    ],
    [{ ...select, filters: { id: { $null: 1 } } }, 'body.filters.id.$null: expected true or false'],
    [{ ...select, filters: { $and: {} } }, 'body.filters.$and: must be a list of filters'],
    [{ ...select, filters: { $not: [{}] } }, 'body.filters.$not: must be an object of filters'],
    [{ ...select, offset: 100_001 }, 'body.offset: must be from 0 to 100000'],
    ...[
      { id: { $nin: [] } }, { $and: [{ id: { $nin: [] } }, {}] }, { $or: [{ id: 1 }, { id: { $nin: [] } }] }
    ].map((filters): [object, string] => [
      { verb: 'delete', filters }, 'body.filters: delete requires "filters" that restrict the affected rows'
    ]),
    [
      { verb: 'update', data: { n: 1 }, filters: { id: { $nin: [] } } },
      'body.filters: update requires "filters" that restrict the affected rows'
    ]
  ]
  for (const [body, line] of cases) {
    const [found = '', ...others] = inBody(body, {}, { parameters: {} })
    t.ok(found.startsWith(line) && others.length === 0, `${JSON.stringify(body)} ${found} ${others.join(' ')}`)
  }
  const possible: object[] = [
    { ...select, filters: { doc: { $eq: now } } },
    { ...select, filters: { doc: { $in: [now] } } },
    { ...select, filters: { doc: { $gtt: 1, a: 1 } } },
    { ...select, filters: { doc: {} } },
    { ...select, filters: { id: { $now: { days: -1 } }, n: { $gt: { $column: 'id' } }, $$or: 1 } },
    { ...select, filters: { id: { $in: [] } } },
    { ...select, filters: { doc: { $at: { '$.a': { $exists: true } } } } },
    { ...select, filters: { id: { $eq: 'a', $case: 'ignore' } } },
    { verb: 'insert', data: { doc: { $eq: now }, at: { $now: true } } },
    { verb: 'delete', filters: { doc: {} } },
    { verb: 'delete', filters: { $or: [] } },
    { verb: 'update', key: ['id'], filters: { id: { $nin: [] } }, data: [{ id: 1, n: 1 }] }
  ]
  for (const body of possible) t.same(inBody(body, {}, { parameters: {} }), [], JSON.stringify(body))
})

t.test('a mistake of the form has its own line, also above a parameter', async (t) => {
  const cases: Array<[object, string]> = [
    [{ ...select, filter: { id: x } }, 'body.filter: "filter" is not allowed with select; did you mean "filters"?'],
    [{ ...select, lmit: x }, 'body.lmit: "lmit" is not allowed with select; did you mean "limit"?'],
    [{ ...select, filters: { id: { $equals: x } } }, 'body.filters.id.$equals: "$equals" is not an operator; use'],
    [{ ...select, filters: { id: { $GT: x } } }, 'body.filters.id.$GT: "$GT" is not an operator; did you mean "$gt"?'],
    [{ ...select, filters: { id: { gt: x } } }, 'body.filters.id.gt: operators begin with $: write "$gt" instead'],
    [{ ...select, filters: { $or: { id: x } } }, 'body.filters.$or: must be a list of filters'],
    [{ ...select, filters: { $some: [x] } }, 'body.filters.$some: '],
    [{ ...select, filters: [{ id: x }] }, 'body.filters: '],
    [{ ...select, filters: { id: { $between: [x, 1, 2] } } }, 'body.filters.id.$between: expected a list of two'],
    [
      { ...select, include: { items: { columns: ['id'], filter: { id: x } } } },
      'body.include.items.filter: "filter" is not allowed here; did you mean "filters"?'
    ],
    [{ verb: 'insert', dta: { id: x } }, 'body.'],
    [{ verb: 'update', filters: { id: 1 }, set: { id: x } }, 'body.']
  ]
  for (const [body, line] of cases) {
    const [found = '', ...others] = inBody(body)
    t.ok(found.startsWith(line) && others.length === 0, `${JSON.stringify(body)} ${found} ${others.join(' ')}`)
    t.notMatch(found, HERE)
  }
  t.match(inBody({ verb: 'read' }, {}, { as: 'nobody' }), [/^as: /, /^body\.verb: /], 'beside another mistake')
})

t.test('an optional parameter stands only where it is a condition less', async (t) => {
  const cases: Array<[object, string]> = [
    [{ ...select, filters: { $or: [{ id: x }] } }, 'body.filters.$or.0.id'],
    [{ ...select, filters: { $not: { id: x } } }, 'body.filters.$not.id'],
    [{ ...select, filters: { $and: [{ $or: [{ id: x }] }] } }, 'body.filters.$and.0.$or.0.id'],
    [{ ...select, filters: { $some: { items: { filters: { id: x } } } } }, 'body.filters.$some.items.filters.id'],
    [{ ...select, filters: { $none: { items: { filters: { id: x } } } } }, 'body.filters.$none.items.filters.id'],
    [{ ...select, filters: { id: [1, x] } }, 'body.filters.id.1'],
    [{ ...select, filters: { id: { $in: [x] } } }, 'body.filters.id.$in.0'],
    [{ ...select, filters: { id: { $between: [1, x] } } }, 'body.filters.id.$between.1'],
    [
      { ...select, filters: { $match: { columns: ['a'], text: x } }, orderBy: [{ $match: 'DESC' }] },
      'body.filters.$match.text'
    ],
    [{ verb: 'select', aggregates: { n: { $count: '*', filters: { id: x } } } }, 'body.aggregates.n.filters.id'],
    [{ verb: 'update', filters: { id: x }, data: { n: 1 } }, 'body.filters.id'],
    [{ verb: 'update', filters: {}, key: ['id'], data: [{ id: x, n: 1 }] }, 'body.data.0.id'],
    [{ verb: 'delete', filters: { id: x } }, 'body.filters.id'],
    [{ verb: 'insert', data: { id: x }, onConflict: { key: ['id'] } }, 'body.data.id']
  ]
  for (const [body, path] of cases) {
    t.same(inBody(body, { optional: true }), [`${path}: ${ONLY_LESS}`], JSON.stringify(body))
  }
})

t.test('what a parameter says of itself', async (t) => {
  const filters = { ...select, filters: { id: x } }
  const list = { ...select, filters: { id: { $in: x } } }
  const limit = { ...select, limit: x }
  const cases: Array<[object, object, string]> = [
    [filters, { optional: true, default: 1 }, 'parameters.x.default: is not allowed beside "optional"'],
    [filters, { default: { $param: 'x' } }, 'parameters.x.default: must not contain "$param"'],
    [filters, { default: { a: [{ $param: 'x' }] } }, 'parameters.x.default: must not contain "$param"'],
    [
      filters, { default: null },
      'parameters.x.default: must not be null, which is only a value of columns of "data", and of "after"'
    ],
    [list, { default: 1 }, 'parameters.x.default: must be a list'],
    [
      list, { default: [1, null] },
      'parameters.x.default: must not be null, which is only a value of columns of "data", and of "after"'
    ],
    [
      { verb: 'update', filters: {}, key: ['id'], data: [{ id: x, n: 1 }] }, { default: null },
      'parameters.x.default: must not be null, which is only a value of columns of "data", and of "after"'
    ],
    [{ ...select, filters: { id: { $startsWith: x } } }, { default: '' }, 'parameters.x.default: must not be empty'],
    [{ ...select, filters: { id: { $contains: x } } }, { default: '' }, 'parameters.x.default: must not be empty'],
    [{ ...select, after: x }, { default: [] }, 'parameters.x.default: must not be a list'],
    [limit, { default: { $now: {} } }, 'parameters.x.default: must be a whole number from 1 to 1000'],
    [limit, { default: { $now: true } }, 'parameters.x.default: must be a whole number from 1 to 1000'],
    [limit, { default: 0 }, 'parameters.x.default: must be a whole number from 1 to 1000'],
    [limit, { default: 11, maximum: 10 }, 'parameters.x.default: must be a whole number from 1 to 10'],
    [limit, { default: '1' }, 'parameters.x.default: must be a whole number from 1 to 1000'],
    [limit, { maximum: 0 }, 'parameters.x.maximum: must be from 1 to 1000'],
    [limit, { maximum: 1001 }, 'parameters.x.maximum: must be from 1 to 1000'],
    [{ ...select, offset: x }, { maximum: 100_001 }, 'parameters.x.maximum: must be from 0 to 100000'],
    [filters, { maximum: 5 }, 'parameters.x.maximum: is only allowed for a limit or an offset'],
    [{ ...select, after: x }, { default: 1 }, 'parameters.x.default: must be null or a position'],
    ...[5, false, {}, { dayz: 1 }].map((operand): [object, object, string] => [
      filters, { default: { $now: operand } },
      'parameters.x.default.$now: expected true, or an offset of years, months, days, hours, minutes, seconds'
    ]),
    [
      { verb: 'insert', data: { id: x } }, { default: { $now: { days: 1.5 } } },
      'parameters.x.default.$now: the parts of an offset must be whole numbers from -100000 to 100000'
    ]
  ]
  for (const [body, parameter, line] of cases) t.same(inBody(body, parameter), [line], JSON.stringify(parameter))
  for (const rest of [{}, { onConflict: { key: ['id'] } }]) {
    t.same(inBody({ verb: 'insert', data: { id: x }, ...rest }, { default: null }), [])
  }
  t.same(inBody(filters, { default: { $now: { days: -1 } } }), [])
})

t.test('hostile definitions have a line each', async (t) => {
  const nested = (levels: number, wrap: (inner: unknown) => unknown, inner: unknown = 1): unknown =>
    levels === 0 ? inner : wrap(nested(levels - 1, wrap, inner))
  const deep = (levels: number): unknown => nested(levels, (inner) => [inner])
  const circle: { filters: Record<string, unknown> } = { ...select, filters: { id: x } }
  circle.filters['n'] = circle
  const cases: Array<[object, object | undefined, string]> = [
    [
      { ...select, filters: nested(3000, (inner) => ({ $and: [inner] }), { id: x }) }, {},
      'body.filters: is nested deeper than 200 levels'
    ],
    [{ verb: 'insert', data: { id: x, j: deep(3000) } }, {}, 'body.data: is nested deeper than 200 levels'],
    [
      { verb: 'insert', data: { id: x } }, { default: deep(3000) },
      'parameters.x.default: is nested deeper than 200 levels'
    ],
    ...[33, 150].map((levels): [object, object, string] => [
      { ...select, filters: nested(levels, (inner) => ({ $not: inner }), { id: x }) }, {},
      `body.filters${'.$not'.repeat(33)}: is nested deeper than 32 levels`
    ]),
    [
      {
        ...select,
        include: { items: { columns: ['id'], filters: nested(33, (inner) => ({ $or: [inner] }), { id: x }) } }
      },
      {}, `body.include.items.filters${'.$or.0'.repeat(32)}.$or: is nested deeper than 32 levels`
    ],
    [
      {
        verb: 'select',
        groupBy: ['id'],
        filters: { id: x },
        having: nested(33, (inner) => ({ $and: [inner] }), { id: 1 })
      },
      {}, `body.having${'.$and.0'.repeat(32)}.$and: is nested deeper than 32 levels`
    ],
    [circle, {}, 'body.filters: is nested deeper than 200 levels'],
    [{ verb: 'delete', filters: { id: x, n: undefined } }, {}, 'body: "n" is undefined, which JSON does not have'],
    [{ ...select, filters: { id: x, n: NaN } }, {}, 'body: "n" is NaN, which JSON does not have'],
    [{ ...select, filters: { id: x, n: () => 1 } }, {}, 'body: "n" is [Function: n], which JSON does not have'],
    [{ ...select, filters: new Map([['id', x]]) }, {}, 'body: "filters" is [Map], which JSON does not have'],
    [
      { ...select, filters: { id: x } }, { default: undefined },
      'parameters.x: "default" is undefined, which JSON does not have'
    ],
    [{ ...select, filters: x }, {}, `body.filters: ${HERE}`],
    [{ ...select, filters: { $param: { id: 1 } } }, {}, `body.filters: ${HERE}`],
    [{ verb: 'insert', data: { n: 1, ...x } }, {}, `body.data: ${HERE}`],
    [
      { operations: [{ ...select, table: 'orders', filters: { id: x } }] }, {},
      'table: is not allowed with operations, which name their tables'
    ]
  ]
  for (const [body, parameter, line] of cases) t.same(inBody(body, parameter), [line])
  t.same(inBody({ ...select, filters: nested(32, (inner) => ({ $not: inner }), { id: x }) }), [])
  t.same(errorsOf(
    { body: { ...select, filters: { $not: { $not: { id: 1 } } } } }, { limits: { filterDepth: 1 } }
  ), ['requests.r.body.filters.$not.$not: is nested deeper than 1 levels'])
  t.same(inBody({ verb: 'insert', data: { id: x, j: deep(150) } }), [])
  t.same(
    inBody(JSON.parse('{"verb": "insert", "data": {"__proto__": {"$param": "x"}, "constructor": 1}}')), [],
    'columns may have these names'
  )
  t.same(
    errorsOf({ parameters: { constructor: {} }, body: { ...select, filters: { id: { $param: 'constructor' } } } }), []
  )
  t.match(errorsOf({
    parameters: JSON.parse('{"__proto__": {}}'), body: select
  })[0], /^requests\.r\.parameters\.__proto__: is not a valid name/)
  t.same(errorsOf({ table: undefined, parameters: { x: {} }, body: { ...select, filters: { id: x } } }), [
    'requests.r.table: is required for a body with a verb'
  ])
})

t.test('a reference in operations leads to an earlier one', async (t) => {
  const AHEAD = '"$ref" must lead to the result of an earlier operation'
  const NONE = '"$ref" must be a JSON Pointer into the results, such as "/0/id"'
  const cases: Array<[object, string, string]> = [
    [{ verb: 'insert', data: { id: { $ref: '/1/id' } } }, 'data.id', AHEAD],
    [{ verb: 'insert', data: [{}, { id: { $ref: '/9/id' } }] }, 'data.1.id', AHEAD],
    [{ verb: 'insert', data: { id: { $ref: 'id' } } }, 'data.id', NONE],
    [{ verb: 'insert', data: { id: { $ref: { $param: 'x' } } } }, 'data.id', NONE],
    [{ ...select, filters: { id: { $ref: '/1/id' } } }, 'filters.id', AHEAD],
    [{ ...select, filters: { id: ['a', { $ref: '/2/id' }] } }, 'filters.id.1', AHEAD],
    [{ ...select, filters: { $or: [{ id: { $gt: { $ref: '/1/id' } } }] } }, 'filters.$or.0.id.$gt', AHEAD],
    [{ ...select, filters: { id: { $like: { $ref: '/1/id' } } } }, 'filters.id.$like', AHEAD],
    [
      { ...select, include: { items: { columns: ['id'], filters: { id: { $in: [{ $ref: '/1/id' }] } } } } },
      'include.items.filters.id.$in.0', AHEAD
    ]
  ]
  const first = { table: 'orders', verb: 'insert', data: { id: x } }
  const lines = (body: object) => errorsOf({
    table: undefined, parameters: { x: {} }, body: { operations: [first, { table: 'orders', ...body }] }
  })
  for (const [body, path, reason] of cases) t.equal(lines(body)[0], `requests.r.body.operations.1.${path}: ${reason}`)
  t.same(lines({ ...select, filters: { id: { $ref: '/0/id' } } }), [])
  const earlier: object[] = [
    { ...select, filters: { id: x } },
    { verb: 'update', filters: { id: x }, data: { n: 1 } },
    { verb: 'insert', data: { id: x }, returning: ['id'] },
    { ...select, filters: { id: x }, include: { items: { columns: ['id'] } } },
    { verb: 'select', aggregates: { n: { $count: '*', filters: { id: x } } } }
  ]
  const leads = (operation: object | undefined, $ref: string): string[] => [...errorsOf({
    table: undefined,
    parameters: { x: {} },
    body: { operations: [{ table: 'orders', ...operation }, { table: 'orders', ...select, filters: { id: { $ref } } }] }
  })]
  for (const [index, steps] of [
    [0, '/row/0/id'], [0, '/rows/0/n'], [0, '/inserted'], [1, '/rows/0/id'], [1, '/id'], [2, '/rows/0/n']
  ] as const) {
    t.same(leads(earlier[index], `/0${steps}`), [
      'requests.r.body.operations.1.filters.id: "$ref" leads to nothing in any response of operation 0'
    ], `${index} ${steps}`)
  }
  for (const [index, steps] of [
    [0, '/rows/0/id'], [0, '/count'], [1, '/updated'], [2, '/rows/0/id'], [2, '/id'], [3, '/rows/0/items/0/id'],
    [4, '/rows/0/n']
  ] as const) t.same(leads(earlier[index], `/0${steps}`), [], `${index} ${steps}`)
  t.same(
    lines({ verb: 'insert', data: { meta: { $eq: { $ref: '/1/id' } }, other: { a: { $ref: '/1/id' } } } }), [],
    'within a JSON value it is none'
  )
  t.same(inBody({ verb: 'insert', data: { id: x, meta: { $ref: '/1/id' } } }), [], 'nor outside of operations')
})

t.test('the body, the database and the rights of a request', async (t) => {
  const front = (body: object, as = 'front'): string[] =>
    errorsOf({ as, body }).map((line) => line.replace(/^requests\.r\./, ''))
  const cases: Array<[readonly string[], string]> = [
    [
      errorsOf({ database: 'shp', body: select }),
      'requests.r.database: is not a configured database; did you mean "shop"?'
    ],
    [
      errorsOf({ body: { verb: 'read' } }), 'requests.r.body.verb: "verb" must be one of select, insert, update, delete'
    ],
    [
      errorsOf({ body: { verb: 'delete' } }),
      'requests.r.body.filters: delete requires "filters" that restrict the affected rows'
    ],
    [errorsOf({ body: { ...select, limit: 1001 } }), 'requests.r.body.limit: "limit" must be from 1 to 1000'],
    ...[true, x].map((dryRun): [readonly string[], string] => [
      errorsOf({ body: { verb: 'insert', data: {}, dryRun } }),
      'requests.r.body.dryRun: is not allowed in a named request'
    ]),
    [
      errorsOf({ table: undefined, body: { dryRun: true, operations: [{ ...select, table: 'orders' }] } }),
      'requests.r.body.dryRun: is not allowed in a named request'
    ],
    [
      errorsOf({
        table: undefined, body: { operations: [{ verb: 'insert', table: 'orders', data: {}, dryRun: true }] }
      }),
      'requests.r.body.operations.0.dryRun: "dryRun" is not allowed in an operation; it belongs beside "operations"'
    ],
    [
      errorsOf({ table: undefined, maxAge: 1, body: { operations: [{ ...select, table: 'orders', lock: true }] } }),
      'requests.r.maxAge: is only allowed with a request that only selects'
    ],
    [
      errorsOf({ maxAge: 1, body: { verb: 'insert', data: {} } }),
      'requests.r.maxAge: is only allowed with a request that only selects'
    ],
    [front(select, 'frnt'), 'as: is not one of the "roles"; did you mean "front"?'],
    [front(select, 'clerk'), 'as: must be a role with "for": "requests"'],
    [front({ verb: 'select' }), 'body.columns: is required with "as": the columns to show'],
    [
      front({ ...select, include: { items: {} } }),
      'body.include.items.columns: is required with "as": the columns to show'
    ],
    [
      front({ verb: 'delete', filters: { id: 1 }, returning: '*' }),
      'body.returning: must be a list of columns with "as"'
    ],
    [front({ verb: 'insert', data: {} }, 'reader'), 'body: the role "reader" does not have the permission insert'],
    [
      front({ ...select, include: { log: { columns: ['id'] } } }),
      'body: the role "front" may not select from table "log"'
    ],
    [
      front({ ...select, include: { secret: { columns: ['id'] } } }),
      'body: the role "front" may not select from table "secret"'
    ],
    [
      errorsOf({ table: 'secret', as: 'front', body: select }),
      'requests.r.body: the role "front" has no permission on table "secret"'
    ]
  ]
  for (const [lines, line] of cases) t.same(lines, [line])
  t.same(errorsOf({ body: select }, { requests: { select: { database: 'shop', table: 'orders', body: select } } }), [
    'requests.select: is the name of a tool; give the request another name'
  ])
  t.match(
    errorsOf({}, { requests: { '1st': { database: 'shop', body: select } } })[0], /^requests\.1st: is not a valid name/
  )
  const named = { database: 'shop', table: 'orders', as: 'front', body: select }
  t.match(errorsOf({}, {
    requests: { '1st': named, 'a-b': named, r: named, 'a.b': named }, roles: {}, tokens: [{ name: 'x', requests: [] }]
  }).map((line) => line.split(':')[0]), [
    'tokens.0.sha256', 'requests.1st', 'requests.a-b', 'requests.a.b', 'requests.r.as'
  ], 'each invalid name has its line')
  const wrong: Array<[object, string]> = [
    [{ ...role, permissions: ['read'] }, 'roles.front.permissions.0: must be'],
    [{ ...role, for: 'tokens' }, 'roles.front.for: must be'],
    [{ ...role, requests: '*' }, 'roles.front.requests: is not allowed'],
    [{ ...role, databases: { shp: '*' } }, 'roles.front.databases.shp: is not']
  ]
  for (const [front, line] of wrong) {
    const lines = errorsOf({ as: 'front', body: select }, {
      roles: { front }, tokens: [{ name: 'website', sha256: 'a'.repeat(64), requests: ['r'] }]
    })
    t.match(lines, [new RegExp(`^${line}`)], 'what a wrong role causes has no line of its own')
  }
  t.match(errorsOf({ as: 'front', body: select }, { roles: ['front'] }), [/^roles: must be/])
  t.match(errorsOf({
    description: 'x'.repeat(2001), body: select
  })[0], /^requests\.r\.description: must be a string of 0 to 2000 characters/)
  t.match(
    inBody({ ...select, filters: { id: x } }, { description: 'x'.repeat(2001) })[0],
    /^parameters\.x\.description: must be a string of 0 to 2000 characters/
  )
  t.match(errorsOf({ maxAge: 86_401, body: select })[0], /^requests\.r\.maxAge: must be an integer from 1 to 86400/)
  t.match(errorsOf({}, {
    databases: { shop: { url: 'sqlite::memory:' }, requests: { url: 'sqlite::memory:' } }, requests: {}
  }), ['databases.requests: is the path of named requests; give the database another name'])
})

t.test('at most 1,000 requests, each with at most 100 parameters', async (t) => {
  const many = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, {}]))
  const each = (count: number) => ({
    parameters: many(count),
    body: { ...select, filters: { $or: Object.keys(many(count)).map((name) => ({ id: { $param: name } })) } }
  })
  t.same(errorsOf(each(100)), [])
  t.match(errorsOf(each(101)), [/^requests\.r\.parameters: must be an object of at most 100 entries/])
  const all = (count: number): object => ({
    requests: Object.fromEntries(
      Object.keys(many(count)).map((name) => [name, { database: 'shop', table: 'orders', body: select }])
    )
  })
  t.same(errorsOf({}, all(1000)), [])
  t.match(errorsOf({}, all(1001)), [/^requests: must be an object of at most 1000 entries/])
})

t.test('tools name requests, and generic ones may be left out', async (t) => {
  t.same(errorsOf({ body: select }, { mcp: { verbs: [] } }), [])
  for (const requests of ['*', ['r'], []]) t.same(errorsOf({ body: select }, { mcp: { verbs: [], requests } }), [])
  t.same(errorsOf({ body: select }, { mcp: { requests: ['r', 'q'] } }), [
    'mcp.requests.1: is not one of the "requests"'
  ])
  t.match(errorsOf({ body: select }, { mcp: { requests: 'r' } })[0], /^mcp\.requests: must be/)
  t.same(errorsOf({}, { requests: undefined, mcp: { requests: '*' } }), [
    'mcp.requests: is only allowed beside "requests"'
  ])
  t.same(errorsOf({}, { requests: undefined, mcp: { verbs: [] } }), ['mcp.verbs: must not be empty without "requests"'])
})

t.test('grants name requests that they can call', async (t) => {
  const token = { name: 'website', sha256: 'a'.repeat(64) }
  const lines = (requests: unknown, more: object = {}): readonly string[] =>
    errorsOf({ as: 'front', body: select }, { tokens: [{ ...token, requests, ...more }] })
  t.same(lines(['r']), [])
  t.same(lines('*'), [])
  t.same(lines(['s']), ['tokens.0.requests.0: is not one of the "requests"'])
  t.match(errorsOf({ body: select }, {
    tokens: [{ ...token, requests: ['r'] }]
  })[0], /^tokens\.0\.requests\.0: "r" has no "as"/)
  t.match(errorsOf({ body: select }, { tokens: [token] })[0], /^tokens\.0\.permissions: is required/)
  t.match(errorsOf({ body: select }, {
    roles: { ...roles, clerk: { requests: ['q'] } }
  })[0], /^roles\.clerk\.requests\.0: is not one/)
  t.match(errorsOf({ body: select }, {
    roles: { ...roles, clerk: { permissions: ['select'] } }
  })[0], /^roles\.clerk\.databases: is required/)
  t.match(errorsOf({ body: select }, {
    roles: { ...roles, other: { ...role, requests: '*' } }
  })[0], /^roles\.other\.requests: is not allowed with "for"/)
})

t.test('docs/named-requests.md: the page calls two requests of the configuration, with a token that ' +
  'can do nothing else', async (t) => {
  const blocks = codeBlocks(readDocument('docs/named-requests.md'))
  const [config, page] = ['json config', 'js page'].map(
    (kind) => blocks.find((block) => block.kind === kind)?.text as string
  ) as [string, string]
  const path = `${t.testdir()}/shop.db`
  createShop(path)
  const { app } = await createServer({
    options: JSON.parse(config.replace(
      'data/demo.db', path
    ).replace(/"sha256": "\w+"/, `"sha256": "${hashToken('website')}"`)),
    prefix: '/api',
    logLevel: 'silent'
  })
  t.teardown(() => app.close())
  const answers: number[] = []
  const fetch = async (url: string, { method = 'GET', headers = {}, body = '' }: {
    method?: 'GET' | 'POST', headers?: Record<string, string>, body?: string
  } = {}) => {
    const response = await app.inject({
      method, url: url.replace('https://rows.example.com', ''), headers, ...(body !== '' && { payload: body })
    })
    answers.push(response.statusCode)
    return { json: async () => response.json() }
  }
  // eslint-disable-next-line no-new-func
  const run = new Function(
    'token', 'fetch', `return (async () => {${page}; return data })()`
  ) as (token: string, call: typeof fetch) => Promise<any>
  const data = await run('website', fetch)
  t.same(answers, [200, 200])
  t.match(data.rows[0], { name: /mug/i })
  const other = await app.inject({
    method: 'POST', url: '/api/shop/products', headers: { authorization: 'Bearer website' }, payload: { verb: 'select' }
  })
  t.same([other.statusCode, other.json().error.code], [404, 'DATABASE_NOT_FOUND'])
})
