/** Full text: `$match`, and the order by relevance. The law is in match-law.test.ts. */
import tap, { type Test } from 'tap'
import { tokenFor } from '../grants/support.ts'
import { fullTextTriggers } from '../support/full-text.ts'
import { onEachEngine, type EngineName, type Service } from '../support/service.ts'

const DOCS: Array<[number, number, string, string]> = [
  [1, 1, 'Red shoes', 'For dry weather'],
  [2, 1, 'Green boots', 'A wet suit is not included'],
  [3, 1, 'Wet suit, red', 'Neoprene'],
  [4, 2, 'Blue hat', 'Suits a wet day'],
  [5, 2, 'Red red red', 'red paint']
]

const MEMBERS = ', tenant int, title varchar(100), body text, secret varchar(20), k int'
const insert = (table: string): string =>
  `insert into ${table} (id, tenant, title, body, secret) values ` +
  DOCS.map(([id, tenant, title, body]) => `(${id}, ${tenant}, '${title}', '${body}', 'word${id}')`).join(', ')

const schema = (engine: EngineName): string[] => engine === 'sqlite'
  ? [
      `create table docs (id integer primary key${MEMBERS})`,
      'create virtual table words using fts5(title, "body", content=\'docs\', content_rowid="id", ' +
        'tokenize=\'unicode61\')',
      ...fullTextTriggers('docs', 'words', ['title', 'body']),
      'create virtual table secrets using fts5(title, secret, content=docs, content_rowid=id)',
      ...fullTextTriggers('docs', 'secrets', ['title', 'secret']),
      'create virtual table unindexed using fts5(title, k unindexed, content=docs, content_rowid=id)',
      insert('docs'),
      `create table notes (id int${MEMBERS})`,
      'create virtual table t using fts5(title, content=notes)',
      ...fullTextTriggers('notes', 't', ['title'], 'rowid'),
      insert('notes')
    ]
  : [
      `create table docs (id int primary key auto_increment${MEMBERS}, fulltext key words (title, body),
        fulltext key (title, secret), key (tenant, id)) engine=innodb default charset=utf8mb4`,
      insert('docs'),
      `create table notes (id int${MEMBERS}, fulltext key (title)) engine=innodb default charset=utf8mb4`,
      insert('notes')
    ]

const [SELLER, READER] = ['a-seller-of-tenant-one', 'a-reader-who-does-not-see-secret']
const tokens = [
  tokenFor(SELLER, { docs: { rows: { tenant: 1 } } }),
  tokenFor(READER, { docs: { columns: { select: ['id', 'title', 'body'] } } })
]

const COLUMNS = ['title', 'body']
const match = (text: unknown, more: object = {}): object => ({ $match: { columns: COLUMNS, text, ...more } })

async function restore ({ sql }: Service): Promise<void> {
  await sql('delete from docs')
  await sql(insert('docs'))
}

const idsOf = ({ status, text, json }: { status: number, text: string, json: any }): unknown =>
  status === 200 ? json.data.rows.map(({ id }: { id: number }) => id) : `${status} ${text}`
const errorOf = ({ status, json: { error } }: { status: number, json: any }): unknown =>
  [status, error?.code, error?.details[0]?.path]

await onEachEngine(tap as Test, '$match', { schema, tokens }, async (t, service) => {
  const { engine, post, operate, statements } = service
  const found = async (filters: object, more: object = {}, options = {}): Promise<unknown> =>
    idsOf(await post('docs', { verb: 'select', filters, columns: ['id'], orderBy: 'id', ...more }, options))

  await t.test('finds rows with one of the words, or with every word', async (t) => {
    t.same(await found(match('shoes boots')), [1, 2])
    t.same(await found(match('shoes boots', { mode: 'any' })), [1, 2])
    t.same(await found(match('wet red', { mode: 'all' })), [3])
    t.same(await found({ $match: { columns: ['body', 'title'], text: 'SHOES' } }), [1], 'the columns in any order')
    t.same(await found(match('wet-suit')), [2, 3], 'a word that is parted is a phrase')
    t.same(await found(match('suit-wet')), [])
    t.same(await found(match('- + red')), [1, 3, 5], 'words without a letter or digit are left out')
  })

  await t.test('a stop word of InnoDB is in no row', async (t) => {
    const rows = engine === 'sqlite' ? [1] : []
    t.same(await found(match('for')), rows)
    t.same(await found(match('for weather', { mode: 'all' })), rows)
    t.same(await found(match('for weather')), [1])
  })

  await t.test('no character of a text is an operator', async (t) => {
    const texts = [
      '+red', '-red', '"red', 'red"', '(red', 'red)', 'red*', '~red', '<red', '>red', '@red', 'red@', "red'", "'red",
      'red\\', '{red}', 'red:', ':red', '^red', 'red;', 'red\u0000', 'red\'; drop table docs; --', 'red%', '`red`',
      'red\n\tred', 'red 😀'
    ]
    for (const text of texts) {
      const ids = await found(match(text))
      t.same(ids, [1, 3, 5], JSON.stringify(text))
    }
    t.same(await found(match('title:red')), [], 'but a part of a phrase')
    t.same(await found(match('NOT AND OR NEAR red')), [1, 2, 3, 5])
    t.same(await found(match('red OR NOT', { mode: 'all' })), [])
  })

  await t.test('combines with other conditions', async (t) => {
    t.same(await found({ ...match('red'), tenant: 1 }), [1, 3])
    t.same(await found({ $and: [match('red'), match('wet')] }), [3])
    t.same(
      await found({ $and: [match('red'), { $match: { columns: ['title', 'secret'], text: 'word3' } }] }), [3],
      'of two indexes'
    )
    t.same(await found({ $or: [match('boots'), { id: 5 }] }), [2, 5])
    t.same(await found({ $not: match('red') }), [2, 4])
    t.same(await found({ ...match('red'), $or: [{ id: 1 }, match('neoprene')] }), [1, 3])
  })

  await t.test('counts the rows that a select returns, also of a transaction that has deleted some', async (t) => {
    const total = async (body: object): Promise<unknown> =>
      (await post('docs', { verb: 'select', filters: match('red'), limit: 1, ...body })).json.data.total
    t.equal(await total({ total: true }), 3)
    t.equal(await total({ total: 2 }), 2)
    const count = {
      aggregates: { n: { $count: '*' }, ids: { $count: 'id' }, titles: { $count: 'title' } }, filters: match('red')
    }
    t.same((await post('docs', { verb: 'select', ...count })).json.data.rows, [{ n: 3, ids: 3, titles: 3 }])
    const one = { verb: 'select', table: 'docs', filters: match('red'), aggregates: { n: { $count: '*' } } }
    const { json } = await operate({
      operations: [
        { verb: 'delete', table: 'docs', filters: { id: [1, 5] } },
        one,
        { ...one, aggregates: { n: { $count: 'id' } } },
        { ...one, groupBy: ['tenant'], having: { n: { $gt: 0 } } },
        { verb: 'select', table: 'docs', filters: match('red'), columns: ['id'], total: true },
        { ...one, filters: match('nothing') }
      ],
      dryRun: true
    })
    t.same(json.data.results.slice(1), [
      { rows: [{ n: 1 }], count: 1 },
      { rows: [{ n: 1 }], count: 1 },
      { rows: [{ tenant: 1, n: 1 }], count: 1 },
      { rows: [{ id: 3 }], count: 1, total: 1 },
      { rows: [{ n: 0 }], count: 1 }
    ])
  })

  await t.test('pages, related rows and streams', async (t) => {
    const page = await post('docs', { verb: 'select', filters: match('red'), columns: ['id'], limit: 2, after: null })
    t.same([page.json.data.rows, page.json.data.next], [[{ id: 1 }, { id: 3 }], { id: 3 }])
    t.same(await found(match('red'), { after: { id: 3 } }), [5])
    t.same(
      await found({ ...match('red'), tenant: 1 }, { orderBy: 'tenant, id', after: { tenant: 1, id: 1 } }), [3],
      'no index is forced'
    )
    t.same(await found(match('boots'), { include: { twin: { table: 'docs', on: { id: 'id' }, columns: ['id'] } } }), [
      2
    ])
    const stream = { headers: { accept: 'text/csv' } }
    t.equal(
      (await post('docs', { verb: 'select', filters: match('boots'), columns: ['id'] }, stream)).text, 'id\r\n2\r\n'
    )
  })

  await t.test('orders by relevance, completed by the key', async (t) => {
    t.same((await found(match('red'), { orderBy: [{ $match: 'DESC' }], limit: 1 })), [5])
    t.same((await found(match('red'), {
      orderBy: [{ $match: 'ASC' }], include: { twin: { table: 'docs', on: { id: 'id' } } }, offset: 2
    })), [5])
    t.match(statements().find((sql) => / desc/.test(sql)), /"id" desc|`id` desc/)
    const refused = async (body: object, options = {}) => errorOf(
      await post('docs', { verb: 'select', filters: match('red'), orderBy: [{ $match: 'DESC' }], ...body }, options)
    )
    const place = [400, 'INVALID_ORDER_BY', '/orderBy/0/$match']
    t.same(await refused({ after: null }), [400, 'INVALID_ORDER_BY', '/orderBy'])
    t.same(await refused({ filters: {} }), place)
    t.same(await refused({ filters: { $or: [match('red'), { id: 1 }] } }), place)
    t.same(await refused({ filters: { $or: [match('red')] } }), place, 'also alone in $or')
    t.same(await refused({ filters: { $and: [match('red'), match('wet')] } }), place)
    t.same(await refused({ groupBy: ['tenant'], aggregates: { n: { $count: '*' } } }), place)
    t.same(await refused({}, { token: SELLER }), place, 'relevance tells of words in other rows')
    t.same(await found(match('red'), { orderBy: [{ $match: 'DESC' }], limit: 1 }, { token: READER }), [5])
  })

  await t.test('a grant sees the indexes of its columns', async (t) => {
    const secret = { $match: { columns: ['title', 'secret'], text: 'word1' } }
    t.same(await found(secret), [1])
    t.same(errorOf(await post('docs', { verb: 'select', filters: secret }, { token: READER })), [
      400, 'COLUMN_NOT_FOUND', '/filters/$match/columns/1'
    ])
    const other = await post('docs', { verb: 'select', filters: { $match: { columns: ['title'], text: 'red' } } }, {
      token: READER
    })
    t.same(errorOf(other), [400, 'INVALID_BODY', '/filters/$match/columns'])
    t.match(other.json.error.message, '["title","body"]')
    t.notMatch(other.text, 'secret')
    t.match(
      (await post('docs', { verb: 'select', filters: { $match: { columns: ['title'], text: 'red' } } })).text,
      'secret'
    )
    t.same(await found(match('red'), {}, { token: SELLER }), [1, 3], 'rows outside of the rules are not found')
    t.same(await found({ $not: match('red') }, {}, { token: SELLER }), [2])
    t.same(await found({ $or: [match('paint'), { id: 1 }] }, {}, { token: SELLER }), [1])
    t.same((await post('docs', { verb: 'update', filters: match('paint hat'), data: { k: 1 } }, {
      token: SELLER
    })).json.data, { updated: 0 }, 'nor written')
    t.same((await post('docs', { verb: 'delete', filters: { $or: [match('paint'), { id: 5 }] } }, {
      token: SELLER
    })).json.data, { deleted: 0 })
    t.equal(
      (await post('docs', { verb: 'select', filters: match('red'), total: true }, { token: SELLER })).json.data.total,
      2
    )
  })

  await t.test('writes the rows that it finds', async (t) => {
    statements()
    t.same(
      (await post('docs', { verb: 'update', filters: match('boots'), data: { secret: 'new' } })).json.data,
      { updated: 1 }, JSON.stringify(service.log)
    )
    const [update = ''] = statements()
    if (engine !== 'sqlite') {
      t.match(
        update,
        /^update \(select `id` from `docs` .*where match\(.*limit \d+ for update\) as `found` straight_join `docs`/
      )
    }
    t.same((await post('docs', {
      verb: 'update', filters: match('boots'), data: { id: 20, secret: 'x' }, returning: ['id', 'secret'], expect: 1
    })).json.data, { updated: 1, rows: [{ id: 20, secret: 'x' }] })
    t.same((await post('docs', {
      verb: 'update', filters: match('red'), data: { secret: 'many' }, expect: { $lte: 2 }
    })).status, 412)
    t.same(
      (await post('docs', { verb: 'update', filters: match('red'), data: { k: 1 }, expect: { $lte: 3 } })).json.data,
      { updated: 3 }
    )
    t.same((await post('docs', { verb: 'delete', filters: match('red'), dryRun: true })).json.data, {
      deleted: 3, dryRun: true
    })
    t.same((await post('docs', { verb: 'delete', filters: match('red'), expect: 1 })).status, 412)
    t.same((await post('docs', { verb: 'delete', filters: { ...match('red') }, returning: ['id'] }, {
      token: SELLER
    })).json.data, { deleted: 2, rows: [{ id: 1 }, { id: 3 }] })
    t.same((await post('docs', { verb: 'delete', filters: { $not: match('red') } })).json.data, { deleted: 2 })
    t.same(await found({}), [5])
    await restore(service)
    const noKey = await post('notes', {
      verb: 'delete', filters: { $match: { columns: ['title'], text: 'red' } }, dryRun: true
    })
    if (engine === 'sqlite') t.same(noKey.json.data, { deleted: 3, dryRun: true })
    else t.same(errorOf(noKey), [422, 'NOT_SUPPORTED', '/filters/$match'])
  })

  await t.test('a search does not see what the same transaction has written on InnoDB, and sees ' +
    'it on other engines', async (t) => {
    const select = { table: 'docs', verb: 'select', filters: match('unheard'), columns: ['id'] }
    const { json } = await operate({
      operations: [
        { table: 'docs', verb: 'insert', data: { id: 30, tenant: 1, title: 'unheard', body: 'of' } },
        select,
        { table: 'docs', verb: 'update', filters: { id: 2 }, data: { title: 'nothing unheard', body: '' } },
        select,
        { ...select, filters: match('boots') },
        { ...select, verb: 'delete', columns: undefined }
      ],
      dryRun: true
    })
    const ids = json.data?.results.map(
      ({ rows, deleted }: { rows?: Array<{ id: number }>, deleted?: number }) => rows?.map(({ id }) => id) ?? deleted
    )
    t.same([ids?.[1], ids?.[3], ids?.[4], ids?.[5]], engine === 'sqlite'
      ? [[30], [2, 30], [], 2]
      : [[], [], [], 0], JSON.stringify(json.error))
  })

  await t.test('a write locks the rows that it finds, and with "$or" in a transaction ' +
    'every row that is read', async (t) => {
    if (engine === 'sqlite') return
    const grant = { permissions: ['select', 'update', 'delete'] }
    const isFree = async (id: number): Promise<boolean> =>
      (await service.sql(`select id from docs where id = ${id} for update skip locked`)).length === 1
    for (const [body, filters, locked, free] of [
      [{ verb: 'update', data: { k: 5 } }, match('boots'), [2], [1, 3, 4, 5]],
      [{ verb: 'delete' }, { $and: [match('boots'), { tenant: 1 }] }, [2], [1, 3, 4, 5]],
      [{ verb: 'update', data: { k: 5 } }, { $or: [match('boots'), { tenant: 9 }] }, [1, 2, 3, 4, 5], []]
    ] as const) {
      const change = service.server.rows.transaction('shop', async (tx) => {
        await tx.execute({ table: 'docs', grant, body: { ...body, filters } } as never)
        t.same(
          await Promise.all([...locked, ...free].map(isFree)), [...locked.map(() => false), ...free.map(() => true)],
          JSON.stringify({ body, filters })
        )
        throw new Error('enough')
      })
      await t.rejects(change, /enough/)
    }
  })

  await t.test('the text may be a reference', async (t) => {
    const select = { verb: 'select', table: 'docs', columns: ['id'] }
    const both = async (text: unknown) => await operate([
      { ...select, filters: { id: 2 }, columns: ['id', 'title', 'k'] }, { ...select, filters: match(text) }
    ])
    t.same((await both({ $ref: '/0/rows/0/title' })).json.data.results[1].rows, [{ id: 2 }])
    for (const path of ['k', 'id']) {
      t.same(errorOf(await both({ $ref: `/0/rows/0/${path}` })), [
        400, 'INVALID_VALUE', '/operations/1/filters/$match/text'
      ])
    }
  })

  await t.test('the operators of the server in boolean mode', async (t) => {
    const boolean = (text: string): object => match(text, { mode: 'boolean' })
    if (engine === 'sqlite') {
      return t.same(errorOf(await post('docs', { verb: 'select', filters: boolean('red') })), [
        422, 'NOT_SUPPORTED', '/filters/$match/mode'
      ])
    }
    t.same(await found(boolean('+red -wet')), [1, 5])
    t.same(await found(boolean('boot*')), [2])
    for (const text of ['c++', '(red', 'red@3', '('.repeat(60) + 'red' + ')'.repeat(60)]) {
      for (const body of [{ verb: 'select' }, { verb: 'select', total: true }, { verb: 'delete' }, {
        verb: 'update', data: { k: 1 }, expect: 1
      }]) {
        t.same(errorOf(await post('docs', { ...body, filters: { $and: [boolean(text)] } })), [
          400, 'INVALID_VALUE', '/filters/$and/0/$match/text'
        ], text)
      }
    }
    t.same(errorOf(await operate([{ verb: 'select', table: 'docs', filters: boolean('c++') }])), [
      400, 'INVALID_VALUE', '/operations/0/filters/$match/text'
    ])
  })

  await t.test('a text that the server refuses', async (t) => {
    const words = Array.from({ length: 249 }, (_, index) => `w${10 + index % 90}`).join('-')
    t.equal((await post('docs', { verb: 'select', filters: match(words) })).status, engine === 'sqlite' ? 200 : 400)
  })

  await t.test('is refused', async (t) => {
    const at = async (filters: object) => errorOf(await post('docs', { verb: 'select', filters }))
    const bad = (path: string) => [400, 'INVALID_BODY', `/filters/$match${path}`]
    t.same(await at({ $match: 'red' }), bad(''))
    t.same(await at({ $match: { columns: COLUMNS } }), bad('/text'))
    t.same(await at({ $match: { columns: [], text: 'red' } }), bad('/columns'))
    t.same(await at({ $match: { columns: ['title', 'title'], text: 'red' } }), bad('/columns'))
    t.same(await at({ $match: { columns: ['title', 'k'], text: 'red' } }), bad('/columns'))
    t.same(await at(match('red', { mode: 'some' })), bad('/mode'))
    t.same(await at(match('red', { limit: 1 })), bad('/limit'))
    t.same(await at({ $match: { columns: ['title', 'nope'], text: 'red' } }), [
      400, 'COLUMN_NOT_FOUND', '/filters/$match/columns/1'
    ])
    for (const text of ['', ' ', '+++', '_', 'a'.repeat(1001), 5, null, '\ud800']) {
      t.same(await at(match(text)), [400, 'INVALID_VALUE', '/filters/$match/text'])
    }
    t.equal(
      (await post('docs', { verb: 'select', filters: match('😀'.repeat(998) + ' a') })).status, 200,
      'characters are code points'
    )
    const refused = async (body: object) => errorOf(await post('docs', { verb: 'select', ...body }))
    const related = { docs: { on: { id: 'id' }, filters: match('red') } }
    t.same(await refused({ filters: { $some: related } }), [
      400, 'INVALID_BODY', '/filters/$some/docs/filters/$match'
    ])
    t.same(await refused({ include: { twin: { table: 'docs', on: { id: 'id' }, filters: match('red') } } }), [
      400, 'INVALID_BODY', '/include/twin/filters/$match'
    ])
    t.same(await refused({ aggregates: { n: { $count: '*', filters: match('red') } } }), [
      400, 'INVALID_BODY', '/aggregates/n/filters/$match'
    ])
    t.same(await refused({ aggregates: { n: { $count: '*' } }, having: match('red') }), [
      400, 'INVALID_BODY', '/having/$match'
    ])
    const many = Array.from({ length: 257 }, () => match('red'))
    t.same(await at({ $and: many }), [400, 'INVALID_BODY', '/filters/$and/256'], 'each is a condition')
  })

  await t.test('on a table whose full-text index knows rows by the bare rowid', async (t) => {
    const body = {
      verb: 'select',
      columns: ['id'],
      orderBy: [{ $match: 'DESC' }],
      filters: { $match: { columns: ['title'], text: 'red' } }
    }
    t.same((idsOf(await post('notes', body)) as number[]).sort(), [1, 3, 5])
    t.same((idsOf(
      await post('notes', { ...body, include: { doc: { table: 'docs', on: { id: 'id' } } } })
    ) as number[]).sort(), [1, 3, 5])
    t.same((await post('notes', { verb: 'select', filters: body.filters, total: true })).json.data.total, 3)
  })
})

/** Words of four letters, which both engines without transactions hold. */
await onEachEngine(tap as Test, '$match on engines without transactions', {
  only: ['mariadb', 'mysql'],
  schema: (engine) => ['myisam', ...engine === 'mariadb' ? ['aria'] : []].flatMap((kind) => [
    `create table ${kind}_docs (id int primary key, title varchar(100), fulltext key (title))
      engine=${kind} default charset=utf8mb4`,
    `insert into ${kind}_docs values (1, 'yellow shoes'), (2, 'yellow hats'), (3, 'wet yellow suits')`
  ])
}, async (t, { engine, post, operate }) => {
  for (const table of engine === 'mariadb' ? ['myisam_docs', 'aria_docs'] : ['myisam_docs']) {
    const match = (text: string, more: object = {}): object => ({ $match: { columns: ['title'], text, ...more } })
    const found = async (filters: object): Promise<unknown> =>
      idsOf(await post(table, { verb: 'select', filters, columns: ['id'], orderBy: 'id' }))
    t.same(await found(match('yellow')), [1, 2, 3], 'also a word of more than half of the rows')
    t.same(await found(match('yellow shoes', { mode: 'all' })), [1])
    t.same(await found(match('hats suits')), [2, 3])
    t.same(await found(match('yellow-suits')), [3])
    t.same(await found(match('wet')), [], 'three letters are too few')
    const { json } = await operate([
      { table, verb: 'insert', data: { id: 9, title: 'purple' } }, {
        table, verb: 'select', filters: match('purple'), columns: ['id']
      }, { table, verb: 'delete', filters: match('purple') }
    ])
    if (json.error === undefined) {
      t.same(json.data.results.slice(1), [{ rows: [{ id: 9 }], count: 1 }, { deleted: 1 }], 'what is written is found')
    } else t.equal(json.error.code, 'NOT_SUPPORTED', JSON.stringify(json.error))
    t.same((await post(table, { verb: 'insert', data: { id: 10, title: 'purple' } })).status, 200)
    t.same((await post(table, { verb: 'update', filters: match('purple'), data: { title: 'orange' } })).json.data, {
      updated: 1
    })
    t.same(await found(match('orange purple')), [10])
  }
})
