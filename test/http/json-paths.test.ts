/** `$at`: filters by values inside JSON columns. The law is in json-paths-law.test.ts. */
import t, { type Test } from 'tap'
import { onEachEngine } from '../support/service.ts'
import { tokenFor } from '../grants/support.ts'

const META = [
  '{"size": 5, "tags": ["a", "b"], "odd key": null}', '{"size": 9007199254740993, "tags": "a"}',
  '{"size": "5", "at": {"x": true}}', '{}', '[{"size": 1}]', 'null', null
]
const literal = (json: string | null): string => json === null ? 'null' : `'${json}'`
const schema = () => [
  'create table things (id integer primary key, tenant int, name varchar(20), meta json, secret json, k int)',
  'insert into things (id, tenant, name, meta) values ' +
    META.map((meta, index) => `(${index + 1}, ${1 + index % 2}, 'n', ${literal(meta)})`).join(', '),
  'create table parts (id integer primary key, thing int, meta json)', 'create index thing on parts (thing)',
  "insert into parts values (1, 1, '{\"n\":1}'), (2, 2, '{\"n\":2}')", 'create view seen as select * from things'
]
const SELLER = 'seller-token-of-tenant-one-0123456789'
const tokens = [tokenFor(SELLER, { things: { columns: { select: ['id', 'meta'] }, rows: { tenant: 1 } } })]

await onEachEngine(t as Test, '$at', { schema, tokens }, async (t, { engine, post, operate, statements }) => {
  const found = async (filters: unknown, more = {}, options = {}): Promise<unknown> => {
    const { status, json, text } = await post('things', {
      verb: 'select', columns: ['id'], orderBy: 'id', filters, ...more
    }, options)
    return status === 200 ? json.data.rows.map(({ id }: { id: number }) => id) : text
  }
  const at = (paths: unknown): object => ({ meta: { $at: paths } })

  await t.test('compares the value at a path by its own type', async (t) => {
    const table: Array<[paths: object, ids: number[]]> = [
      [{ '$.size': 5 }, [1]], [{ '$.size': '5' }, [3]], [{ '$.size': { $gt: 4 } }, [1, 2]],
      [{ '$.size': JSON.rawJSON('9007199254740993') }, [2]], [{ '$.size': 9007199254740992 }, []],
      [{ '$.size': { $ne: 5 } }, [2, 3]], [{ '$.size': { $in: [5, '5', null] } }, [1, 3, 4, 5, 6, 7]], [
        { '$.size': { $nin: [5] } }, [2, 3]
      ], [{ '$.size': { $nin: [5, null] } }, [2, 3]], [{ '$.size': { $between: [5, 6] } }, [1]],
      [{ '$.tags[0]': 'a' }, [1]], [{ '$.tags[1]': { $startsWith: 'b' } }, [1]],
      [{ '$.tags': { $contains: 'a' } }, [2]], [{ '$.tags': 'A' }, []],
      [{ '$.at.x': true }, [3]], [{ '$.at.x': { $is: false } }, []], [{ '$[0].size': 1 }, [5]],
      [{ '$[0]': { $exists: true } }, [5]], [{ $: { $exists: true } }, [1, 2, 3, 4, 5, 6]],
      [{ '$."odd key"': { $exists: true } }, [1]], [{ '$."odd key"': { $null: true } }, [1, 2, 3, 4, 5, 6, 7]],
      [{ '$."odd key"': null }, [1, 2, 3, 4, 5, 6, 7]], [{ '$.size': { $null: false } }, [1, 2, 3]],
      [{ '$.size': { $gt: 4 }, '$.tags': 'a' }, [2]], [{ '$.size': { $gt: 4, $lt: 6 } }, [1]]
    ]
    for (const [paths, ids] of table) t.same(await found(at(paths)), ids, JSON.stringify(paths))
    t.same(await found({ $not: at({ '$.size': 5 }) }), [2, 3], 'without a value it is as NULL')
    t.same(await found({ $not: at({ '$.size': { $is: 5 } }) }), [2, 3, 4, 5, 6, 7], '$is is never unknown')
    t.same(await found({ $or: [at({ '$.size': 5 }), { id: 7 }] }), [1, 7])
  })

  await t.test('wherever filters select or change rows', async (t) => {
    const { json } = await post('things', {
      verb: 'select', filters: at({ '$.size': { $gt: 1 } }), columns: ['id'], limit: 1, total: true
    })
    t.equal(json.data.total, 2)
    t.same((await post('things', {
      verb: 'select',
      aggregates: { n: { $count: '*' }, big: { $count: '*', filters: at({ '$.size': { $gt: 5 } }) } },
      filters: at({ '$.size': { $exists: true } })
    })).json.data.rows, [{ n: 3, big: 1 }])
    t.same(await found({ $some: { parts: { on: { id: 'thing' }, filters: { meta: { $at: { '$.n': 2 } } } } } }), [2])
    const include = await post('things', {
      verb: 'select',
      columns: ['id'],
      filters: { id: [1, 2] },
      include: { parts: { on: { id: 'thing' }, columns: ['id'], filters: { meta: { $at: { '$.n': { $lte: 1 } } } } } }
    })
    t.same(include.json.data.rows, [{ id: 1, parts: [{ id: 1 }] }, { id: 2, parts: [] }])
    const operations = [
      { verb: 'update', table: 'things', filters: at({ '$.size': { $gt: 1 } }), data: { k: 1 }, expect: 2 }, {
        verb: 'delete', table: 'things', filters: at({ '$.at.x': true })
      }, { verb: 'select', table: 'things', filters: { k: 1 }, columns: ['id'] },
      { verb: 'select', table: 'things', filters: at({ '$.size': '5' }) }
    ]
    t.same((await operate({ operations, dryRun: true })).json.data.results, [
      { updated: 2 }, { deleted: 1 }, { rows: [{ id: 1 }, { id: 2 }], count: 2 }, { rows: [], count: 0 }
    ])
    t.same((await post('things', {
      verb: 'update', filters: at({ '$.size': { $nin: [] } }), data: { k: 1 }
    })).json.error.code, 'FILTERS_REQUIRED', 'constants are folded')
  })

  await t.test('a view of MariaDB has no columns of JSON', async (t) => {
    const { status, json } = await post('seen', { verb: 'select', columns: ['id'], filters: at({ '$.size': 5 }) })
    if (engine === 'mariadb') t.match(json.error, { code: 'INVALID_VALUE', details: [{ path: '/filters/meta/$at' }] })
    else t.same([status, json.data.rows], [200, [{ id: 1 }]])
    const related = await post('things', {
      verb: 'select',
      columns: ['id'],
      filters: { $some: { seen: { on: { id: 'id' }, filters: at({ '$.tags[1]': 'b' }) } } }
    })
    if (engine === 'mariadb') {
      t.match(related.json.error, {
        code: 'INVALID_VALUE', details: [{ path: '/filters/$some/seen/filters/meta/$at' }]
      })
    } else t.same(related.json.data?.rows, [{ id: 1 }], related.text)
  })

  await t.test('paths and values are parameters of one statement', async (t) => {
    statements()
    for (const path of ['$.size', '$.tags', "$.\"it's\""]) {
      for (const value of [5, 6]) {
        await found(at({ [path]: { $gt: value } }))
      }
    }
    const texts = statements().filter((sql) => / things|`things`|"things"/.test(sql)).map(
      (sql) => sql.replaceAll(/'(?:[^'\\]|\\.|'')*'|\b[56]\b/g, '?')
    )
    t.equal(new Set(texts).size, 1)
    t.equal(texts.length, 6)
  })

  await t.test('a grant sees its columns and rows', async (t) => {
    t.same(await found({ $or: [at({ '$.size': { $exists: true } }), { id: 2 }] }, {}, { token: SELLER }), [1, 3])
    const hidden = await post('things', { verb: 'select', filters: { secret: { $at: { '$.x': 1, nonsense: 2 } } } }, {
      token: SELLER
    })
    t.match(hidden.json.error, { code: 'COLUMN_NOT_FOUND', details: [{ path: '/filters/secret' }] })
  })

  await t.test('is refused', async (t) => {
    const refused = async (filters: unknown, table = 'things'): Promise<unknown> => {
      const { status, json: { error } } = await post(table, { verb: 'select', filters })
      return [status, error?.code, error?.details[0]?.path]
    }
    const steps = engine === 'mariadb' ? 31 : 100
    const paths = [
      '', 'size', '$size', '$.', '$..a', '$.a.', '$.1', '$.a-b', '$.é', '$[00]', '$[1000000]', '$[-1]', '$[last-0]',
      '$[last-01]', '$[last-1000000]', '$[last+1]', '$[last-]', '$[ last]', '$[last ]', '$[LAST]', '$[last-1', '$[*]',
      '$.*', '$**.a', '$[0 to 1]', '$."', '$."a', '$."\\x"', '$."\\ud800"', '$."a\nb"', '$.a ', ' $.a', '$ .a', '$.a[0',
      '$.a]', '$.' + 'a'.repeat(1000), `$${'.a'.repeat(steps + 1)}`
    ]
    for (const path of paths) {
      t.same(
        await refused(at({ [path]: 1 })),
        [400, 'INVALID_BODY', `/filters/meta/$at/${path.replaceAll('~', '~0').replaceAll('/', '~1')}`],
        path.slice(0, 20)
      )
    }
    for (const none of [{}, [], 5, null, 'x']) {
      t.same(await refused(at(none)), [400, 'INVALID_BODY', '/filters/meta/$at'], JSON.stringify(none))
    }
    t.equal(await found(at({ [`$${'.a'.repeat(steps)}`]: 1, [`$.${'a'.repeat(998)}`]: 1 })).then(String), '')
    const operands: unknown[] = [
      [], [1], {}, { a: 1 }, { $eq: [1] }, { $eq: { a: 1 } }, { $gt: null }, { $in: 5 }, { $in: [[1]] }, {
        $between: [1, '2']
      }, { $between: [true, 1] }, { $between: [1] }, { $between: [null, 1] }, { $null: 1 }, { $exists: 'x' },
      { $startsWith: 5 },
      { $contains: null }, { $like: 'a' }, { $has: 'a' }, { $at: { $: 1 } }, { $foo: 1 }, { $eq: 1, a: 2 },
      { $ref: '/0/id' }, { $eq: { $ref: '/0/id' } }, { $now: true }, { $gte: { $now: true } }, { $eq: '\ud800' },
      JSON.rawJSON('18446744073709551616'), JSON.rawJSON('1e400'), JSON.rawJSON('0.1234567890123456789'),
      ...engine === 'sqlite' ? [JSON.rawJSON('9223372036854775808')] : []
    ]
    for (const operand of operands) {
      t.match(
        await refused(at({ '$.a': operand })), [400, 'INVALID_VALUE', /^\/filters\/meta\/\$at\/\$\.a/],
        JSON.stringify(operand)
      )
    }
    const operation = await operate([{ verb: 'select', table: 'things', columns: ['id'] }, {
      verb: 'select', table: 'things', filters: at({ '$.a': { $ref: '/0/rows/0/id' } })
    }])
    t.match(operation.json.error, { code: 'INVALID_VALUE', details: [{ path: '/operations/1/filters/meta/$at/$.a' }] })
    t.same(await refused({ name: { $at: { '$.a': 1 } } }), [400, 'INVALID_VALUE', '/filters/name/$at'])
    const many = (length: number): object => at(
      Object.fromEntries(Array.from({ length }, (_, index) => [`$.a[${index + 1}]`, 1]))
    )
    t.same(await refused(many(256)), [200, undefined, undefined], 'each operator is a condition')
    t.same(await refused(many(257)), [400, 'INVALID_BODY', '/filters/meta/$at/$.a[257]'])
    const deep = (length: number): object => at(
      Object.fromEntries(Array.from({ length }, (_, index) => [`$.p${index}${'[0]'.repeat(29)}`, 1]))
    )
    t.same(await refused(deep(8)), [200, undefined, undefined], 'so is each step into a list but the first')
    t.same(await refused(deep(9)), [400, 'INVALID_BODY', `/filters/meta/$at/$.p8${'[0]'.repeat(29)}`])
    const keys = Object.fromEntries(Array.from({ length: 256 }, (_, index) => [`$."${index}[[["`, 1]))
    t.same(await refused(at(keys)), [200, undefined, undefined], 'a bracket in a key is no such step')
    t.same(await refused(at({ '$.a': { $in: Array(10_001).fill(1) } })), [
      400, 'INVALID_BODY', '/filters/meta/$at/$.a/$in'
    ])
    t.same(await refused(at({ '$.a': { $contains: 'a'.repeat(1001) } })), [
      400, 'INVALID_BODY', '/filters/meta/$at/$.a/$contains'
    ])
    t.same(await refused(at({ '$.a."-b"': 1 })), engine === 'mariadb'
      ? [422, 'NOT_SUPPORTED', '/filters/meta/$at/$.a."-b"']
      : [200, undefined, undefined])
    t.same(await refused(at({ '$."a\\u0000"': 1 })), engine === 'sqlite'
      ? [422, 'NOT_SUPPORTED', '/filters/meta/$at/$."a\\u0000"']
      : [200, undefined, undefined])
  })
})

const twice = [
  '{"a":{},"a":{"a":3}}', '{"a":{"a":4},"a":{}}', '{"a":[9],"a":{"b":1}}', '{"a":{"b":1},"a":[9]}',
  '{"a":{"b":{"c":1}},"a":{"b":{"c":2}}}', '[{"a":1,"a":[{"b":1}]}]', '{"a":{"b":1}}', '{"a":5}', '{"a":[[5]]}'
]
const ofTwice = `insert into doubled (id, meta) values ${twice.map((doc, id) => `(${id}, '${doc}')`).join(', ')}`

await onEachEngine(t as Test, 'a path leads through the first of two equal keys, of MySQL through the last, and by ' +
  'an index through lists only', {
  schema: () => ['create table doubled (id int primary key, meta json)', ofTwice]
}, async (t, { engine, post }) => {
  const found = async (paths: object) => (await post('doubled', {
    verb: 'select', columns: ['id'], orderBy: 'id', filters: { meta: { $at: paths } }
  })).json.data.rows.map(({ id }: { id: number }) => id)
  /** The value that the paths find, by a model of them. */
  const valueAt = (doc: string, steps: ReadonlyArray<string | number>): unknown => {
    const parsed = engine === 'mysql' ? JSON.parse(doc) : parseFirst(doc)
    return steps.reduce<any>((value, step) => {
      const isList = Array.isArray(value)
      return typeof step === 'number'
        ? (isList ? value[step] : undefined)
        : isList || typeof value !== 'object' || value === null ? undefined : value[step]
    }, parsed)
  }
  const paths: Array<[path: string, steps: ReadonlyArray<string | number>]> = [
    ['$.a.a', ['a', 'a']], ['$.a.b', ['a', 'b']], ['$.a[0]', ['a', 0]], ['$.a[0].b', ['a', 0, 'b']], [
      '$.a.b.c', ['a', 'b', 'c']
    ], ['$[0].a[0].b', [0, 'a', 0, 'b']], ['$.a[0][0]', ['a', 0, 0]], ['$.a[1]', ['a', 1]], ['$[0]', [0]],
    ['$[0].a', [0, 'a']]
  ]
  for (const [path, steps] of paths) {
    const values = twice.map((doc) => valueAt(doc, steps))
    t.same(
      await found({ [path]: { $exists: true } }), values.flatMap((value, id) => value === undefined ? [] : [id]), path
    )
    for (const number of [1, 2, 3, 4, 5, 9]) {
      t.same(
        await found({ [path]: number }), values.flatMap((value, id) => value === number ? [id] : []),
      `${path} is ${number}`
      )
    }
  }
})

/** Parses JSON of lists, objects and numbers, of which the first of equal keys counts. */
function parseFirst (text: string): unknown {
  let copies = 0
  // keys become unlike, in the order of the text
  const parsed: unknown = JSON.parse(text.replace(/"(\w)":/g, (_match, key) => `"${key}${++copies}":`))
  const first = (value: any): unknown => {
    if (Array.isArray(value)) return value.map(first)
    if (typeof value !== 'object' || value === null) return value
    const object: Record<string, unknown> = {}
    for (const [key, each] of Object.entries(value)) object[key.charAt(0)] ??= first(each)
    return object
  }
  return first(parsed)
}

await onEachEngine(t as Test, 'a number with an exponent is exact if a double holds it', {
  schema: () => ['create table large (id int primary key, meta json)']
}, async (t, { post, sql }) => {
  const exponent = '9.223372036854775808e18'
  await sql(`insert into large values (1, '{"n":${exponent}}'), (2, '{"n":9223372036854775807}'), (3, '{"n":9.5}')`)
  const { text, json } = await post(
    'large', `{"verb":"select","columns":["id"],"filters":{"meta":{"$at":{"$.n":${exponent}}}}}`
  )
  t.same(json.data?.rows, [{ id: 1 }], text)
  t.same((await post(
    'large', `{"verb":"select","columns":["id"],"filters":{"meta":{"$at":{"$.n":{"$lt":${exponent}}}}},"orderBy":"id"}`
  )).json.data.rows, [{ id: 2 }, { id: 3 }])
  t.match(await post('large', `{"verb":"insert","data":{"id":4,"meta":{"n":${exponent}}}}`), { status: 200 }, 'in data')
  const [copy] = await sql(
    'select count(*) as n from large a join large b on a.id = 1 and b.id = 4 and a.meta = b.meta'
  )
  t.equal(copy.n, 1)
  t.match(await post('large', '{"verb":"select","filters":{"meta":{"$at":{"$.n":9.223372036854775809e18}}}}'), {
    status: 400, json: { error: { code: 'INVALID_VALUE' } }
  })
})

// each row is one that an engine has taken for another: a scalar or an object for a list, a list that is too short, and
// what a longer list before it leaves to the next row
const LISTS = [
  '{"tags":["a","b","c"]}', '{"tags":["c"]}', '{"tags":[]}', '{"tags":"c"}', '{"tags":5}', '{"tags":{"x":"c"}}',
  '{"tags":null}', '{}', null, '["x",["y","c"]]', '{"tags":["b","c"]}', '{"tags":[["p","q"],["c"]]}',
  '{"tags":["a","b","c"]}', '5', '{"tags":[{"n":1,"n":2},{"n":{"m":[7]},"k":"]"}]}', '{"tags":["a","]","c"]}',
  '{"tags":[1,2,3,4,5,6,7,8,9,"c"]}', '{"tags":["c"]}', '{"tags":["😀","c",null]}', '[[["c"]]]'
]
const lists = (): string[] => [
  'create table lists (id integer not null primary key, kept json not null, meta json)',
  ...LISTS.map((list, id) => `insert into lists values (${id}, '${list ?? 0}', ${literal(list)})`)
]

await onEachEngine(t as Test, '[last] and [last-n] are the elements of a list from ' +
  'its end, of each row', { schema: lists }, async (t, { post, statements }) => {
  type Step = string | number
  /** The value that steps find: a negative number counts from the end. */
  const valueOf = (text: string | null, steps: readonly Step[]): unknown => steps.reduce<any>(
    (value, step) => typeof step === 'number'
      ? Array.isArray(value) ? value.at(step) : undefined
      : Array.isArray(value) ? undefined : value?.[step],
    text === null ? undefined : JSON.parse(text)
  )
  const paths: Array<[path: string, steps: readonly Step[]]> = [
    ['$.tags[last]', ['tags', -1]], ['$.tags[last-1]', ['tags', -2]], ['$.tags[last-2]', ['tags', -3]], [
      '$.tags[last-9]', ['tags', -10]
    ], ['$.tags[last-999999]', ['tags', -1e6]], ['$[last]', [-1]], ['$[last][last]', [-1, -1]],
    ['$[last][0][last]', [-1, 0, -1]],
    ['$.tags[last][last]', ['tags', -1, -1]], ['$.tags[last-1][last]', ['tags', -2, -1]],
    ['$.tags[0][last-1]', ['tags', 0, -2]], [
      '$.tags[last].x', ['tags', -1, 'x']
    ], ['$.tags[last].n.m[last]', ['tags', -1, 'n', 'm', -1]], ['$."tags"[last]', ['tags', -1]],
    ['$.tags.x[last]', ['tags', 'x', -1]]
  ]
  const found = async (filters: unknown): Promise<unknown> => {
    const { json, text } = await post('lists', { verb: 'select', columns: ['id'], orderBy: 'id', filters })
    return json.data?.rows?.map(({ id }: { id: number }) => id) ?? text
  }
  for (const [path, steps] of paths) {
    for (const [column, texts] of [['meta', LISTS], ['kept', LISTS.map((list) => list ?? '0')]] as const) {
      const values = texts.map((text) => valueOf(text, steps))
      const where = (test: (value: unknown) => boolean): number[] =>
        values.flatMap((value, id) => test(value) ? [id] : [])
      t.same(
        await found({ [column]: { $at: { [path]: { $exists: true } } } }), where((value) => value !== undefined),
        `${column} ${path}`
      )
      t.same(
        await found({ [column]: { $at: { [path]: { $exists: false } } } }), where((value) => value === undefined),
        `${column} ${path}`
      )
      t.same(
        await found({ [column]: { $at: { [path]: 'c' } } }), where((value) => value === 'c'), `${column} ${path} is c`
      )
      t.same(
        await found({ [column]: { $at: { [path]: { $ne: 'c' } } } }),
        where((value) => value !== undefined && value !== null && value !== 'c'), `${column} ${path} is not c`
      )
      t.same(
        await found({ [column]: { $at: { [path]: { $in: [7, 'b', null] } } } }),
        where((value) => [7, 'b', null, undefined].includes(value as string)), `${column} ${path} is in`
      )
      t.same(
        await found({ id: { $gt: 3 }, [column]: { $at: { [path]: { $startsWith: 'c' } } } }),
        where((value) => value === 'c').filter((id) => id > 3), `${column} ${path} begins`
      )
    }
  }
  t.same(await found({ meta: { $at: { '$.tags[last]': 'c', '$.tags[last-1]': 'b' } } }), [0, 10, 12], 'both must hold')
  t.match(await post('lists', {
    verb: 'update', filters: { meta: { $at: { '$.tags[last-1]': 'b' } } }, data: { meta: null }, dryRun: true
  }), { json: { data: { updated: 3 } } })
  statements()
  for (const path of ['$.tags[last]', '$.tags[last-7]', '$.x[last]']) await found({ meta: { $at: { [path]: 'c' } } })
  t.equal(new Set(statements().filter((sql) => / lists|`lists`|"lists"/.test(sql)).map(
    (sql) => sql.replaceAll(/'(?:[^'\\]|\\.|'')*'/g, '?')
  )).size, 1, 'one statement')
})
