/** What the page makes of a body and of values, without a browser. */
import * as fc from 'fast-check'
import t from 'tap'
import { writeCall, writeCurl } from '../../page/commands.ts'
import { findSeparator, writeCsv } from '../../page/csv.ts'
import { changeOperator, operatorsOf, readFilters, writeFilters, type Related } from '../../page/filter-rows.ts'
import { parseJson, writeLine, writeLines, type Json, type JsonObject } from '../../page/json.ts'
import { readOrder, toggleOrder, withOrder, writeOrder } from '../../page/order.ts'
import { isOf, readRoute, writeRoute } from '../../page/route.ts'
import { byRelevance, canSearch, readSearch, withFilters, withSearch } from '../../page/search.ts'
import type { Column, Relation } from '../../page/table.ts'
import { fromGiven, fromPicked, fromText, lineEndOf, pickerOf, toGiven, toPicked, toText } from '../../page/values.ts'

const column = (name: string, given: Partial<Column> = {}): Column => ({
  name,
  type: 'INT',
  kind: 'integer',
  isNullable: true,
  isKey: false,
  isGenerated: false,
  isAutoIncrement: false,
  isRequired: false,
  isInsertable: true,
  isUpdatable: true,
  isSortable: true,
  default: undefined,
  members: undefined,
  operators: ['$eq', '$ne', '$gt', '$gte', '$lt', '$in', '$nin', '$between', '$null'],
  pathOperators: [],
  takesNow: { filters: false, data: false },
  description: '',
  references: undefined,
  isBytes: false,
  ...given
})
const columns = [
  column('id'), column('$or'), column('__proto__'),
  column('at', { kind: 'text', takesNow: { filters: true, data: true } }),
  column('doc', {
    kind: 'json',
    operators: ['$eq', '$in', '$null', '$at'],
    pathOperators: [
      '$eq', '$ne', '$gt', '$in', '$between', '$null', '$exists'
    ]
  })
]
const indexes = [['title', 'body']]

t.test('numbers keep their digits, and every name is a name', async (t) => {
  fc.assert(fc.property(fc.json(), (text) => { t.same(JSON.parse(writeLines(parseJson(text))), JSON.parse(text)) }), {
    numRuns: 50
  })
  for (const text of ['9007199254740993', '52.0', '-0', '1E400', '{"__proto__": {"constructor": ' +
    '18446744073709551615}}']) t.equal(writeLine(parseJson(text)), text)
})

const relations: readonly Relation[] = [
  { name: 'orders', table: 'orders', on: [['id', 'customer_id']], isMany: true, isReferring: true, isOnly: true },
  { name: 'orders_by_payer', table: 'orders', on: [['id', 'payer']], isMany: true, isReferring: true, isOnly: false }
]

t.test('filters are the same after they have been rows of the form', async (t) => {
  const same = (text: string, written = text): void => {
    t.equal(writeLine(writeFilters(readFilters(parseJson(text), { columns, relations, indexes })) ?? null), written)
  }
  for (const text of [
    '{"id": 1}', '{"id": null}', '{"id": {"$gte": 1, "$lt": 9007199254740993}}', '{"id": {"$in": [1, 2]}}',
    '{"id": {"$null": false}}', '{"id": {"$between": [1, 2]}}', '{"$$or": 1}', '{"__proto__": 1}',
    '{"$or": [{"id": 1}, {"id": 2}], "id": 3}', '{"at": {"$gte": {"$now": {"days": -7}}}}', '{"at": {"$gte": ' +
      '{"$now": {"days": -7}}, "$lte": {"$now": true}}}', '{"at": {"$gt": {"$now": {"days": -7}}, ' +
        '"$lte": {"$now": true}}}',
    '{"at": {"$lt": {"$now": {"months": -1}}}}', '{"at": {"$gte": {"$now": true}}}', '{"doc": {"$eq": {"$x": 1}}}',
    '{"unknown": 1}', '{"$some": {"orders": {}}}', '{"$some": {"orders": {"filters": {"paid": false, "$none": ' +
      '{"items": {}}}}}, "id": 1}', '{"$none": {"orders_by_payer": {"table": "orders", "on": {"id": ' +
        '"payer"}}, "orders": {}}}',
    '{"$some": {"others": {}}}', '{"$some": {"orders": {"limit": 1}, "others": {}}}', '{"$some": {}}', '{"$some": 1}',
    '{"$some": {"orders": {"filters": {}}}}', '{"$$some": 1}', '{"at": {"$gte": {"$now": {"days": 7}}}}',
    '{"id": {"$eq": 1, "$gt": 0}}'
  ]) same(text)
  const lastDays = { $gte: { $now: { days: -7 } }, $lte: { $now: true } }
  t.same(
    readFilters({ at: lastDays }, { columns, relations, indexes }),
    [{ column: 'at', operator: 'last', operand: { $now: { days: -7 } } }], 'the last days end now'
  )
  const last = { column: 'at', operator: 'last', operand: { $now: { days: -7 } } }
  t.same(writeFilters([last, { column: 'at', operator: '$gt', operand: '2026-01-01' }]), {
    at: lastDays, $and: [{ at: { $gt: '2026-01-01' } }]
  })
  t.same(writeFilters([{ column: 'at', operator: '$gt', operand: '2026-01-01' }, last]), {
    at: { $gt: '2026-01-01' }, $and: [{ at: lastDays }]
  })
  same('{"id": [1, 2]}', '{"id": {"$in": [1, 2]}}')
  same('{"id": {"$eq": 1}}', '{"id": 1}')
  same('{"doc": {"a": 1}}', '{"doc": {"$eq": {"a": 1}}}')
  same('{}', 'null')
  const twice = [{ column: 'id', operator: '$ne', operand: 1 }, { column: 'id', operator: '$ne', operand: 2 }, {
    column: 'id', operator: '$gt', operand: undefined
  }]
  const [orders] = relations as [Relation]
  t.same(readFilters({ $some: { orders: { filters: { paid: true } } }, id: 1 }, { columns, relations, indexes }), [
    { relation: orders, operator: '$some', filters: { paid: true } }, { column: 'id', operator: '$eq', operand: 1 }
  ])
  t.same(readFilters({ $some: { orders: { count: { $gte: 3 } } } }, { columns, relations, indexes }), [
    { relation: orders, operator: '$some', filters: undefined, least: 3 }
  ])
  for (const count of [3, { $gte: 1 }, { $gte: 3, $lte: 5 }, { $gte: '3' }]) {
    t.match(readFilters({
      $some: { orders: { count } }
    } as never, { columns, relations, indexes }), [{ key: '$some' }], 'other numbers stay as they are written')
  }
  t.same(
    writeFilters([{ relation: orders, operator: '$none', filters: undefined, least: 3 }]), { $none: { orders: {} } },
    '$none has no number'
  )
  same('{"$some": {"orders": {"filters": {"paid": true}, "count": {"$gte": 2}}}}')
  t.same(
    readFilters({ $some: { orders: { on: { id: 'customer_id' } } } }, { columns, relations, indexes }),
    [{ key: '$some', value: { orders: { on: { id: 'customer_id' } } } }],
    'what the form would write otherwise stays as it is'
  )
  const related = (filters?: JsonObject): Related => ({ relation: orders, operator: '$some', filters })
  t.same(writeFilters([related({ paid: true }), related({ paid: false }), { key: '$some', value: { others: {} } }]), {
    $some: { orders: { filters: { paid: true } } },
    $and: [{ $some: { orders: { filters: { paid: false } } } }, { $some: { others: {} } }]
  }, 'rows with the same related rows are all kept')
  t.same(
    writeFilters(twice), { id: { $ne: 1 }, $and: [{ id: { $ne: 2 } }] },
    'two conditions with one operator are both kept, and one without a value is none'
  )
})

t.test('paths inside JSON and words are rows of the form, where it can write them', async (t) => {
  const read = (text: string) => readFilters(parseJson(text), { columns, relations, indexes })
  const same = (text: string, written = text): void => { t.equal(writeLine(writeFilters(read(text)) ?? null), written) }
  for (const text of [
    '{"doc": {"$at": {"$.size": {"$gt": 5, "$ne": 7}, "$.tags[0]": "a", "$.\\"odd key\\"": {"$exists": false}}}}',
    '{"doc": {"$null": false, "$at": {"$": 1.50}}, "id": 1}',
    '{"$match": {"columns": ["title", "body"], "text": "red shoes"}}',
    '{"id": 1, "$match": {"columns": ["body", "title"], "text": "red", "mode": "all"}}'
  ]) {
    same(text)
    t.ok(read(text).every((row) => !('key' in row) && !('operator' in row && row.operator === '$at')), text)
  }
  same('{"doc": {"$at": {"$.a": {"$null": true}, "$.b": {"$eq": "x"}}}}', '{"doc": {"$at": {"$.a": null, "$.b": "x"}}}')
  const cased = [column('name', { kind: 'text', operators: ['$eq', '$contains', '$gt', '$case'] })]
  const inAnyCase = (text: string) => readFilters(parseJson(text), { columns: cased, relations, indexes })
  for (const text of [
    '{"name": {"$contains": "bell", "$case": "ignore", "$eq": "x"}}',
    '{"name": {"$eq": "x", "$case": "ignore"}, "$and": [{"name": {"$gt": "a"}}]}'
  ]) t.equal(writeLine(writeFilters(inAnyCase(text)) ?? null), text)
  t.same(operatorsOf(cased[0] as Column), ['$contains', '$eq', '$gt'])
  const dates = [column('due', { operators: ['$eq', '$gt', '$contains'], columnOperators: ['$eq', '$gt'] })]
  const byColumn = (text: string) => readFilters(parseJson(text), { columns: dates, relations, indexes })
  t.same(
    byColumn('{"due": {"$gt": {"$column": "sent"}}}'),
    [{ column: 'due', operator: '$gt', operand: { $column: 'sent' } }], 'a column of the same row'
  )
  for (const text of ['{"due": {"$gt": {"$column": "sent"}}}', '{"due": {"$gt": {"$column": ' +
    '"sent"}, "$eq": 5}}']) t.equal(writeLine(writeFilters(byColumn(text)) ?? null), text)
  t.match(byColumn('{"due": {"$contains": {"$column": "sent"}}}'), [{ key: 'due' }])
  t.same(['$gt', '$contains', '$in'].map((operator) => changeOperator({ $column: 'sent' }, operator)), [
    { $column: 'sent' }, undefined, undefined
  ])
  t.same(writeFilters([{ column: 'name', operator: '$eq', operand: 'x', isInAnyCase: true }, {
    column: 'name', operator: '$gt', operand: 'a'
  }]), { name: { $eq: 'x', $case: 'ignore' }, $and: [{ name: { $gt: 'a' } }] }, 'what follows letter case stands apart')
  t.match(inAnyCase('{"name": {"$gt": "a", "$case": "ignore"}}'), [{ key: 'name' }])
  for (const text of [
    '{"doc": {"$at": {}}}', '{"doc": {"$at": {"$.a": [1]}}}', '{"doc": {"$at": {"a": 1}}}',
    '{"doc": {"$at": {"$.a": {"$new": 1}}}}', '{"doc": {"$at": {"$.a": 1, "$.b": {}}}}', '{"doc": {"$at": 5}}'
  ]) {
    same(text)
    t.match(read(text), [{ operator: '$at' }], `${text} stays as it is written`)
  }
  for (const text of [
    '{"$match": {"columns": ["title"], "text": "red"}}',
    '{"$match": {"columns": ["title", "body"], "text": {"$ref": "/0/id"}}}', '{"$match": 1}',
    '{"$match": {"columns": ["title", "body"], "text": "red", "mode": "any"}}'
  ]) {
    same(text)
    t.match(read(text), [{ key: '$match' }])
  }
  const row = { column: 'doc', operator: '$gt', path: 'size', operand: 5 }
  t.same(
    writeFilters([row, { ...row, path: '', operand: 1 }, { ...row, path: '$.b', operand: undefined }]),
    { doc: { $at: { '$.size': { $gt: 5 } } } }, 'a path without $ is a name, and what is not complete is none'
  )
  t.same(writeFilters([row, { ...row, operand: 6 }]), {
    doc: { $at: { '$.size': { $gt: 5 } } }, $and: [{ doc: { $at: { '$.size': { $gt: 6 } } } }]
  })
  const words = (text: string) => ({ columns: ['title', 'body'], text, mode: 'any' })
  t.same(writeFilters([words('a'), words(''), words('b')]), {
    $match: { columns: ['title', 'body'], text: 'a' }, $and: [{ $match: { columns: ['title', 'body'], text: 'b' } }]
  })
  for (const [text, json] of [
    ['5', '5'], ['true', 'true'], ['"5"', '"5"'], ['red', '"red"'], ['null', '"null"'], ['{', '"{"']
  ] as const) {
    const scalar = { kind: 'scalar', members: undefined } as const
    const value = fromText(scalar, text) as Json
    t.equal(writeLine(value), json)
    t.equal(toText(scalar, value), text)
  }
})

t.test('an operator of the document that has no text of its own is offered by its name', async (t) => {
  t.same(operatorsOf(column('id', { operators: ['$new', '$eq', '$null'] })), ['$eq', 'null', 'notNull', '$new'])
  t.same(writeFilters([{ column: 'id', operator: '$new', operand: 1 }]), { id: { $new: 1 } })
})

t.test('numbers and keys are read exactly, whichever parser reads them', async (t) => {
  for (const text of [
    '0', '-0', '1.0', '[-0]', '{"a": 1e2}', '[0.5, 12]', '{"a": 9007199254740993}', '[18446744073709551615, 1]',
    '{"a": -1234567890123456}', '{"\\u00e9": 1}', '{"a": "1.0", "b": 100}', '[1, 2.50]', '[\n-0.0]', ' 1E5'
  ]) {
    t.equal(writeLine(parseJson(text)).replaceAll(' ', ''), text === '{"\\u00e9": 1}'
      ? '{"é":1}'
      : text.replaceAll(/\s/g, ''), text)
  }
  t.throws(() => parseJson('{"a": 1,}'), SyntaxError)
  t.throws(() => parseJson('{"a": 1.0,}'), SyntaxError)
})

t.test('a search is part of the filters, beside all others', async (t) => {
  const table = {
    columns: [column('name', { kind: 'text', operators: ['$contains'] }), column('$note', {
      kind: 'text', operators: ['$contains']
    }), column('n'), column('b', { kind: 'text', operators: ['$contains'], isBytes: true })],
    indexes,
    primaryKey: []
  }
  const found = withSearch(table, { n: 1 }, { text: 'aB' })
  t.same(found, {
    n: 1,
    $or: ['name', '$$note'].flatMap((key) => ['aB', 'ab', 'AB', 'Ab'].map((text) => ({ [key]: { $contains: text } })))
  })
  t.same(readSearch(table, found), { text: 'aB' })
  t.match(
    withSearch(table, undefined, { text: "niamh o'b" }), { $or: [{}, {}, {}, { name: { $contains: "Niamh O'B" } }] },
    'names have a capital in each word'
  )
  t.same(readSearch(table, withSearch(table, found, { text: '7%' })), { text: '7%' })
  const cased = {
    columns: [column('name', { kind: 'text', operators: ['$contains', '$case'] })], indexes: [], primaryKey: []
  }
  t.same(
    withSearch(cased, undefined, { text: 'aB' }), { $or: [{ name: { $contains: 'aB', $case: 'ignore' } }] },
    'one condition where the service ignores letter case'
  )
  t.same(withSearch(cased, undefined, { text: 'żak' }), {
    $or: [
      'żak', 'ŻAK', 'Żak'
    ].map((text) => ({ name: { $contains: text } }))
  }, 'but for letters that not every database makes lower case')
  for (const text of ['aB', 'żak', '7']) t.same(readSearch(cased, withSearch(cased, undefined, { text })), { text })
  t.same(withSearch(table, found, { text: '' }), { n: 1 })
  t.equal(withSearch(table, withSearch(table, undefined, { text: 'x' }), { text: '' }), undefined)
  const other = { $or: [{ n: 1 }, { n: 2 }], $and: [{ n: 3 }] }
  t.equal(readSearch(table, other), undefined)
  t.same(withSearch(table, other, { text: '' }), other)
  t.match(withSearch(table, other, { text: 'x' }), {
    $or: [{ name: { $contains: 'x' } }], $and: [{ n: 3 }, { $or: other.$or }]
  })
  const [columns] = indexes as [string[]]
  const words = withSearch(table, found, { text: 'red shoes', columns })
  t.same(words, { n: 1, $match: { columns, text: 'red shoes' } }, 'words take the place of texts')
  t.match(readSearch(table, words), { text: 'red shoes', columns })
  t.same(
    withSearch(table, { ...other, $match: { columns, text: 'a', mode: 'all' } }, { text: 'b', columns }),
    { ...other, $match: { columns, text: 'b', mode: 'all' } }, 'the mode stays'
  )
  t.same(withSearch(table, words, { text: 'aB' }), found)
  t.same(withSearch(table, { ...other, ...words }, { text: '' }), { ...other, n: 1 })
  t.equal(canSearch({ columns: [column('n')], indexes: [], primaryKey: [] }), false)
  const keyed = {
    columns: [column('id', { maximum: 127 }), column('name', { kind: 'text', operators: ['$contains'] })],
    indexes: [],
    primaryKey: ['id']
  }
  t.same(
    withSearch(keyed, undefined, { text: '42' }), { $or: [{ name: { $contains: '42' } }, { id: 42 }] },
    'a number may be the key'
  )
  for (const text of ['42', '128', 'a1', '007']) {
    t.same(readSearch(keyed, withSearch(keyed, undefined, { text })), {
      text
    })
  }
  t.same(withSearch(keyed, undefined, { text: '128' }), { $or: [{ name: { $contains: '128' } }] }, 'one that fits it')
  const numbers = { columns: [column('id')], indexes: [], primaryKey: ['id'] }
  t.same(readSearch(numbers, withSearch(numbers, undefined, { text: '7' })), { text: '7' })
  t.equal(canSearch(numbers), true)
  const body = byRelevance({ hasPositions: true }, {
    verb: 'select', filters: words as JsonObject, after: null, limit: 5
  }, true)
  t.same(body, { verb: 'select', filters: words, limit: 5, orderBy: [{ $match: 'DESC' }], offset: 0 })
  t.same(
    withFilters({ hasPositions: true }, body, { n: 1 }), { verb: 'select', filters: { n: 1 }, limit: 5, after: null },
    'an order by relevance ends with the words'
  )
})

t.test('values are the same after they have been text', async (t) => {
  const integer = { kind: 'integer', members: undefined } as const
  fc.assert(fc.property(fc.bigInt(), (value) => {
    t.equal(writeLine(fromText(integer, toText(integer, parseJson(String(value)))) as Json), String(value))
  }), { numRuns: 50 })
  const cases: Array<[kind: Column['kind'], text: string, json: string | undefined, members?: readonly string[]]> = [
    ['integer', ' 007 ', '7'], ['integer', 'seven', '"seven"'], ['integer', '', undefined], ['number', '1.', '"1."'],
    ['number', '1.50', '1.50'], ['decimal', '1.50', '"1.50"'], ['boolean', 'true', 'true'], ['text', '  a ', '"  a "'],
    ['text', '""', '""'], ['text', ' ', undefined], ['json', '{"a": 1.0}', '{"a": 1.0}'], ['json', '{', undefined],
    ['list', 'a, b', '["a", "b"]', ['a', 'b']], ['list', '[1, 2]', '[1, 2]']
  ]
  for (const [kind, text, json, members] of cases) {
    const value = fromText({ kind, members }, text)
    t.equal(value === undefined ? undefined : writeLine(value), json, `${kind} ${text}`)
  }
  t.equal(toText({ kind: 'boolean', members: undefined }, 1), 'true')
})

t.test('what is picked is a value of the column, and the picker begins with the value', async (t) => {
  for (const [type, picked, value] of [
    ['date', '2026-11-20', '2026-11-20'], ['datetime', '2026-11-20T10:15', '2026-11-20T10:15:00'],
    ['DATETIME(6)', '2026-11-20T10:15:07', '2026-11-20T10:15:07'], ['time', '10:15', '10:15:00']
  ] as const) {
    const column = { kind: 'text', type } as const
    t.equal(fromPicked(column, picked), value)
    t.equal(fromPicked(column, toPicked(column, value)), value)
  }
  const timestamp = { kind: 'text', type: 'timestamp' } as const
  t.equal(
    fromPicked(timestamp, toPicked(timestamp, '2026-07-20T10:15:00Z')), '2026-07-20T10:15:00Z',
    'a moment, by the clock of the person'
  )
  t.equal(toPicked(timestamp, 'soon'), '')
  for (const [type, value] of [
    ['date', '0000-00-00'], ['date', '2026-02-31'], ['time', '-838:59:59'], ['time', '24:00:00'], ['datetime', '2026-'],
    ['time', '2026-11-20T10:15:00']
  ] as const) t.equal(toPicked({ kind: 'text', type }, value), '', `no picker has ${value}`)
  t.equal(toPicked({ kind: 'text', type: 'datetime(3)' }, '2026-11-20T10:15:00.125'), '2026-11-20T10:15:00')
  t.equal(pickerOf({ kind: 'text', type: 'varchar(12)' }), undefined)
})

t.test('a JSON value whose keys all begin with $ is not sent as a form', async (t) => {
  const doc = { kind: 'json' } as const
  for (const [value, given] of [
    ['{"$merge": {"a": 1}}', '{"$eq": {"$merge": {"a": 1}}}'], ['{"$eq": 5}', '{"$eq": {"$eq": 5}}'],
    ['{"$eq": {"$eq": 5}}', '{"$eq": {"$eq": {"$eq": 5}}}'], ['{"$a": 1, "$b": 2}', '{"$eq": {"$a": 1, "$b": 2}}'],
    ['{"$a": 1, "b": 2}', '{"$a": 1, "b": 2}'], ['{}', '{}'], ['[{"$a": 1}]', '[{"$a": 1}]'], ['null', 'null'],
    ['52.0', '52.0']
  ] as const) {
    const written = toGiven(doc, parseJson(value))
    t.equal(writeLine(written), given)
    t.equal(writeLine(fromGiven(doc, written).value as Json), value, 'and is the same in the form')
  }
  t.same(fromGiven(doc, { $eq: { a: 1 } }), { value: { a: 1 } })
  for (const form of [{ $merge: { a: 1 } }, { $eq: 1, $merge: {} }]) {
    t.same(
      fromGiven(doc, form), { form }, 'a form that the body has stays one'
    )
  }
  t.same(toGiven({ kind: 'text' }, { $now: true }), { $now: true })
  for (const form of [{ $now: true }, { $eq: 1 }]) t.same(fromGiven({ kind: 'text' }, form), { form })
})

t.test('the line end of a text that can be entered without changing it', async (t) => {
  for (const [text, end] of [
    ['', '\n'], ['a', '\n'], ['a\nb\n', '\n'], ['a\r\n\r\nb', '\r\n'], ['a\rb', undefined], ['a\r\nb\n', undefined],
    ['a\r\r\nb', undefined], ['a\n\rb', undefined]
  ] as const) {
    t.equal(lineEndOf(text), end, JSON.stringify(text))
  }
})

t.test('a click on the head of a column orders by it, descending, and not any more', async (t) => {
  const names = fc.constantFrom('a', 'b', 'c,d', 'e DESC')
  const ofMembers = fc.record({
    name: fc.constantFrom('m.a', 'm.c d', 'm.a.b'), descends: fc.boolean(), member: fc.constant('m')
  })
  const terms = fc.uniqueArray(fc.oneof(fc.record({ name: names, descends: fc.boolean() }), ofMembers), {
    selector: ({ name }) => name
  })
  fc.assert(fc.property(
    terms, (terms) => { t.same(readOrder({ orderBy: writeOrder(terms) ?? [], include: { m: {} } }), terms) }
  ), { numRuns: 100 })
  let order = readOrder({ orderBy: 'a' })
  for (const written of ['a DESC', undefined, 'a']) {
    order = toggleOrder(order, 'a', false)
    t.same(writeOrder(order), written)
  }
  t.same(writeOrder(toggleOrder(order, 'b', true)), 'a, b')
  const inside = [{ meta: { '$.size': 'DESC NULLS LAST' } }, { 'a.b': { '$."x.y"[last]': 'ASC' } }]
  t.same(writeOrder(readOrder({ orderBy: inside })), inside, 'paths inside JSON stay what they are')
  t.same(writeOrder(toggleOrder(order, 'b', false)), 'b')
  const page = { verb: 'select', after: { id: 5 }, limit: 5 }
  t.same(
    withOrder(page, readOrder({ orderBy: 'a DESC NULLS LAST' }), true),
    { verb: 'select', after: null, limit: 5, orderBy: 'a DESC NULLS LAST' }, 'NULL where an index has it'
  )
  const far = withOrder(page, readOrder({ orderBy: 'a ASC NULLS LAST' }), true)
  t.same(
    far, { verb: 'select', limit: 5, orderBy: 'a ASC NULLS LAST', offset: 0 }, 'no positions where no index has it'
  )
  t.same(withOrder(far, [], true), { verb: 'select', limit: 5, after: null }, 'and positions again')
  t.same(readOrder({}), [])
  for (const [orderBy, written] of [['m.a DESC', 'm.a DESC, b'], [[{ m: { a: 'DESC' } }], 'm.a DESC, b'], [
    [{ m: { 'c d': 'ASC' } }], [{ m: { 'c d': 'ASC' } }, { b: 'ASC' }]
  ]] as const) {
    t.same(
      writeOrder(toggleOrder(readOrder({ orderBy, include: { m: {} } }), 'b', true)), written,
      'a click that adds a column keeps the order by a member'
    )
  }
})

t.test('an address keeps names and bodies of any characters', async (t) => {
  fc.assert(fc.property(fc.string({
    minLength: 1, unit: 'grapheme'
  }), fc.string({ unit: 'grapheme' }), fc.string(), (database, table, body) => {
    t.same(readRoute(writeRoute({ database, table, body })), { database, table, body, view: undefined })
  }), { numRuns: 50 })
  t.same(readRoute(writeRoute({ database: 'a', table: 'b', view: 'reference' })), {
    database: 'a', table: 'b', body: undefined, view: 'reference'
  })
  t.equal(readRoute('#/%'), undefined)
  t.equal(isOf('#/a/b?body=%7B%7D', { database: 'a', table: 'b', body: '{}' }), true)
  t.equal(isOf('#/a/b', { database: 'a', table: 'b', body: 'x'.repeat(5000) }), true)
  for (const other of ['#/a/c', '#/a/b?row=1', '']) t.equal(isOf(other, { database: 'a', table: 'b' }), false)
  t.equal(readRoute(''), undefined)
  t.notMatch(writeRoute({ database: 'a', table: 'b', body: 'x'.repeat(5000) }), 'xxx', 'a long body is not part of it')
})

t.test('a request as a line for a shell and for the client', async (t) => {
  t.equal(writeCurl('http://a/api/b/c', '{"verb": "select", "filters": {"name": "O\'Brien"}}').split('\n').length, 4)
  t.match(
    writeCurl('http://a/api/b/c?dryRun=true', '', { file: "it's.csv" }),
    /-H 'Content-Type: text\/csv' \\\n {2}-T '\.\/it'\\''s\.csv'$/, 'and a file'
  )
  const call = (body: string, table = "it's"): string =>
    writeCall({ url: 'http://a/api', database: 'shop', table, body }).split('\n\n').at(-1) as string
  t.equal(
    call('{"verb": "select", "after": null, "filters": {"a b": 9007199254740993, "$or": [{"c": 1.50}]}}'),
    "const { rows, next } = await db.select('it\\'s', { after: null, filters: { 'a b': 9007199254740993n, $or: " +
      '[{ c: 1.50 }] } })'
  )
  t.equal(call('{"verb": "insert", "data": {}}'), "const { inserted, id } = await db.insert('it\\'s', { data: {} })")
  t.equal(
    call('{"verb": "delete", "filters": {"id": 1}, "returning": ["id"]}'),
    "const { deleted, rows } = await db.delete('it\\'s', { filters: { id: 1 }, returning: ['id'] })"
  )
  t.equal(
    call('{"operations": [], "dryRun": true}', ''), 'const { results } = await db.transaction([], { dryRun: true })'
  )
})

t.test('rows as CSV: NULL is nothing, an empty text is two quotes', async (t) => {
  const rows = [
    { a: null, b: '' }, { a: 'x,"y"\n', b: parseJson('9007199254740993') }, { a: [1, { b: 2 }], b: ' ' }
  ] as readonly JsonObject[]
  t.equal(writeCsv(['a', 'b'], rows), 'a,b\r\n,""\r\n"x,""y""\n",9007199254740993\r\n"[1, {""b"": 2}]"," "\r\n')
})

t.test('the separator of a file is the one that its first line has most', async (t) => {
  for (const [text, separator] of [
    ['a,b\n1;2;3;4', ','], ['a;b', ';'], ['a\tb\r\n1,2', 'tab'], ['"a,b,c";d', ';'], ['a', ','], ['', ','],
    ['"a""b\n,,,";c\n', ';']
  ] as const) t.equal(findSeparator(text), separator, JSON.stringify(text))
})
