/** Packets of an answer, byte by byte: those of the servers of the tests have small numbers only. */
import t from 'tap'
import type { TableFacts } from '../../../../src/catalog/catalog.ts'
import {
  createDefinitions, createDifferences, type Definitions, type Differences, readDefinition
} from '../../../../src/dialects/mysql/definitions.ts'
import { isEof, isOk, readColumnCount, readEof, readOk } from '../../../../src/dialects/packets.ts'
import { ResponseSink } from '../../../../src/response/response-sink.ts'
import { valueClass } from '../../../../src/types/value-classes.ts'
import { mysqlColumn, tableOf } from '../../../support/tables.ts'

const TRACKS = 0x800000
const CHANGED = 0x4000
const MORE = 8

/** A packet behind other bytes, as in the memory of a connection. */
function packetOf (...bytes: number[]) {
  const buffer = Buffer.from([1, 2, 3, 4, ...bytes, 9, 9])
  return { buffer, offset: 4, end: 4 + bytes.length }
}

const uint16 = (value: number): number[] => [value & 0xff, value >> 8]
const textBytes = (value: string): number[] => [Buffer.byteLength(value), ...Buffer.from(value)]
/** An OK packet; `rest`: what follows its warnings. */
const ok = (counts: number[], status = 2, rest: number[] = []) =>
  packetOf(0, ...counts, ...uint16(status), ...uint16(3), ...rest)

t.test('integers of each length', async (t) => {
  const cases: Array<[bytes: number[], affectedRows: number, insertId: string]> = [
    [[0, 0], 0, '0'],
    [[250, 250], 250, '250'],
    [[0xfc, 0xff, 0xff, 0xfc, 0xfb, 0], 65_535, '251'],
    [[0xfd, 1, 0, 1, 0xfd, 0xff, 0xff, 0xff], 65_537, '16777215'],
    [[0xfe, 0, 0, 0, 0, 0, 0, 16, 0, 0xfe, ...Array.from({ length: 8 }, () => 0xff)], 2 ** 52, '18446744073709551615'],
    [[1, 0xfe, 0, 0, 0, 0, 0, 0, 0, 0x80], 1, '9223372036854775808']
  ]
  for (const [bytes, affectedRows, insertId] of cases) {
    t.same(readOk(ok(bytes), TRACKS), {
      affectedRows, insertId, status: 2, warnings: 3, info: '', changesSession: false
    })
  }
})

t.test('the text about a statement has a length only where the server tracks the session', async (t) => {
  t.match(readOk(ok([1, 0], 2, textBytes('Rows matched: 1 ✓')), TRACKS), { info: 'Rows matched: 1 ✓' })
  t.match(readOk(ok([1, 0], 2, [...Buffer.from('Rows matched: 1 ✓')]), 0), {
    info: 'Rows matched: 1 ✓', changesSession: false
  })
  t.match(readOk(ok([1, 0], 2, []), 0), { info: '' })
})

t.test('only a variable is a change of the session that matters', async (t) => {
  const variable = [0, ...textBytes(`${String.fromCharCode(9)}time_zone${String.fromCharCode(6)}+00:00`)]
  const schema = [1, ...textBytes('\u0004shop')]
  const state = [2, ...textBytes('\u00011')]
  const gtids = [3, ...textBytes(`\u0000${String.fromCharCode(200)}`)]
  const changes = (...lists: number[][]) =>
    readOk(ok([1, 0], CHANGED, [...textBytes('info'), lists.flat().length, ...lists.flat()]), TRACKS).changesSession
  const gtid = [0, ...textBytes(`${String.fromCharCode(9)}last_gtid${String.fromCharCode(5)}0-1-7`)]
  t.equal(changes(variable), true)
  t.equal(changes(gtid), false, 'the number of the transaction in the binary log of MariaDB')
  t.equal(changes(gtid, variable), true)
  t.equal(changes(schema, state, gtids, variable), true, 'after others')
  t.equal(changes(schema, state, gtids), false)
  t.equal(changes([]), true, 'an empty list: what was changed is the list of what is reported')
  t.equal(readOk(ok([1, 0], CHANGED, textBytes('info')), TRACKS).changesSession, true, 'no list')
  t.equal(readOk(ok([1, 0], CHANGED), TRACKS).changesSession, true, 'nothing')
  t.equal(readOk(ok([1, 0], 2, textBytes('info')), TRACKS).changesSession, false)
})

t.test('an answer that is cut or has more than one result ends its connection', async (t) => {
  t.throws(() => readOk(ok([1, 0], MORE), TRACKS), /more than one result/)
  t.throws(() => readEof(packetOf(0xfe, 0, 0, ...uint16(MORE))), /more than one result/)
  t.doesNotThrow(() => readEof(packetOf(0xfe, 0, 0, ...uint16(2))))
  t.throws(() => readColumnCount(packetOf(0xfb, 1, 2)), /lacks a length/, 'a request for a local file')
  const { buffer } = ok([0xfe, 1, 1])
  for (let size = 5; size < 11; size++) {
    t.throws(
      () => readOk({ buffer: buffer.subarray(0, size), offset: 4, end: size }, TRACKS), RangeError, `${size} bytes`
    )
  }
  t.equal(readColumnCount(packetOf(0xfc, 0, 2)), 512)
})

t.test('a long row may begin like the end of the rows', async (t) => {
  t.equal(isEof(packetOf(0xfe, 0, 0, 2, 0)), true)
  t.equal(isEof(packetOf(0xfe, 0, 0, 0, 1, 0, 0, 0, 0, 1)), false)
  t.equal(isOk(packetOf(0)), true)
  t.equal(isOk(packetOf(1)), false)
})

interface Sent {
  type: number, charset?: number, flags?: number, length?: number, table?: string, extra?: Record<number, string>
}

const [INT, VARCHAR, BLOB] = [3, 253, 252]

function text (value: string): Buffer {
  const bytes = Buffer.from(value)
  return bytes.length < 251
    ? Buffer.concat([Buffer.from([bytes.length]), bytes])
    : Buffer.concat([Buffer.from([0xfc, bytes.length & 0xff, bytes.length >> 8]), bytes])
}

/** The packet of a definition, as the manual has it, with other bytes around it. */
function definitionOf ({ type, charset = 45, flags = 0, length = 11, table = 't', extra }: Sent): {
  bytes: Buffer, from: number, end: number
} {
  const fixed = Buffer.alloc(13)
  fixed[0] = 12
  fixed.writeUInt16LE(charset, 1)
  fixed.writeUInt32LE(length, 3)
  fixed[7] = type
  fixed.writeUInt16LE(flags, 8)
  const entries = Object.entries(extra ?? {}).map(
    ([kind, value]) => Buffer.concat([Buffer.from([Number(kind)]), text(value)])
  )
  const body = Buffer.concat([
    ...['def', 'shop', table, table, 'v0', 'n'].map(text),
    ...(extra === undefined ? [] : [text(Buffer.concat(entries).toString('latin1'))]), fixed
  ])
  return { bytes: Buffer.concat([Buffer.from('####'), body, Buffer.from('####')]), from: 4, end: 4 + body.length }
}

const read = (sent: Sent) => {
  const { bytes, from, end } = definitionOf(sent)
  return readDefinition(bytes, from, end)
}

t.test('a definition is parsed, with and without the additions of MariaDB', async (t) => {
  t.same(read({ type: INT, charset: 63, flags: 0x20, length: 10 }), {
    name: 'v0', type: INT, charset: 63, flags: 0x20, length: 10, extendedType: '', format: ''
  })
  t.same(read({ type: BLOB, extra: { 1: 'json' } }), {
    name: 'v0', type: BLOB, charset: 45, flags: 0, length: 11, extendedType: '', format: 'json'
  })
  t.same(read({ type: 254, extra: { 0: 'uuid', 7: 'to come' } }), {
    name: 'v0', type: 254, charset: 45, flags: 0, length: 11, extendedType: 'uuid', format: ''
  })
  t.same(
    read({ type: INT, extra: { 7: 'to come'.repeat(50), 0: 'uuid' } }).extendedType, 'uuid', 'more than one byte counts'
  )
  t.same(read({ type: INT, extra: {} }), {
    name: 'v0', type: INT, charset: 45, flags: 0, length: 11, extendedType: '', format: ''
  })
  t.same(
    read({ type: INT, table: '表'.repeat(100), extra: { 0: 'inet4' } }),
    { name: 'v0', type: INT, charset: 45, flags: 0, length: 11, extendedType: 'inet4', format: '' },
    'names of more bytes than one says'
  )
})

t.test('the class of values', async (t) => {
  const classes: Array<[Sent, string]> = [
    [{ type: 1 }, 'integer'], [{ type: 8, flags: 0x20 }, 'integer'], [{ type: 3, flags: 0x60 }, 'integer zerofill'],
    [{ type: 246 }, 'decimal'], [{ type: 246, flags: 0x40 }, 'decimal zerofill'], [{ type: 4 }, 'float'],
    [{ type: 5 }, 'double'], [{ type: 6 }, 'null'], [{ type: 13, flags: 0x60 }, 'year'], [
      { type: 16, length: 1 }, 'bit'
    ], [{ type: 16, length: 8 }, 'bits'], [{ type: 10 }, 'date'], [{ type: 7 }, 'timestamp'],
    [{ type: 254, flags: 0x100 }, 'enum'], [{ type: 254, flags: 0x800 }, 'set'], [{ type: 253, charset: 63 }, 'bytes'],
    [{ type: 253 }, 'text'], [{ type: 250 }, 'text'], [{ type: 252, extra: { 1: 'json' } }, 'json'],
    [{ type: 245, charset: 63 }, 'json'], [{ type: 254, extra: { 0: 'uuid' } }, 'uuid'],
    [{ type: 255, charset: 63, extra: { 0: 'point' } }, 'geometry'], [{ type: 242, charset: 63 }, 'vector']
  ]
  for (const [sent, expected] of classes) t.equal(valueClass(read(sent)), expected, JSON.stringify(sent))
})

const column = mysqlColumn('n', 'int')
const table = tableOf({ name: 'things', columns: [column] })
const factsOf = (declaration: string): readonly TableFacts[] => [{ ...table, columns: [{ ...column, declaration }] }]
const create = (differences: Differences) => createDefinitions({
  table, columns: [column], expected: ({ type }) => type.sentAs, differences
})
const isExpected = (definitions: Definitions, sent: Sent): boolean => {
  const { bytes, from, end } = definitionOf(sent)
  return definitions.isExpectedIn(0, bytes, from, end)
}

t.test('the same bytes are not parsed again; others are', async (t) => {
  const definitions = create(createDifferences())
  const ask = (sent: Sent): boolean => isExpected(definitions, sent)
  t.ok(ask({ type: INT }))
  t.ok(ask({ type: INT }))
  t.ok(ask({ type: 8, length: 20 }), 'another whole number is read alike')
  t.notOk(ask({ type: VARCHAR, length: 20 }))
  t.notOk(ask({ type: VARCHAR, length: 20 }), 'and is not remembered')
  t.notOk(ask({ type: 8, flags: 0x40, length: 20 }))
  t.ok(ask({ type: INT }))
  t.notOk(ask({ type: INT, flags: 0x40 }))
})

t.test('a difference that remains after reading the catalog is known, and the column is shown as text', async (t) => {
  const differences = createDifferences()
  const definitions = create(differences)
  const sent = { type: VARCHAR }
  differences.review(factsOf('int'), performance.now())
  t.notOk(isExpected(definitions, sent), 'the catalog is to be read again')
  t.notOk(isExpected(definitions, sent), 'by everybody who meets it')
  differences.review(factsOf('int'), performance.now() - 1000)
  t.notOk(isExpected(definitions, sent), 'a catalog that was read before says nothing')
  differences.review(factsOf('int'), performance.now() + 1)
  t.ok(isExpected(definitions, sent))
  const writer = new ResponseSink([column], 1000)
  writer.begin(definitions.columns)
  const row = Buffer.concat([text('1,"admin":true')])
  writer.textRow(row, 0, row.length, 1)
  t.same(JSON.parse(String(writer.finish())).data.rows, [{ n: '1,"admin":true' }])

  t.ok(isExpected(definitions, { type: INT }))
  t.equal(definitions.columns[0], column, 'what is as expected again is read as it was')
  differences.review(factsOf('varchar(20)'), performance.now() + 1)
  t.notOk(isExpected(definitions, sent), 'what another catalog says is forgotten')
  differences.review([], performance.now() + 1)
  t.notOk(isExpected(definitions, sent))
})

t.test('the number of known differences is limited', async (t) => {
  const differences = createDifferences()
  const known = mysqlColumn('first', 'int')
  differences.isKnown(table, known, 'text')
  differences.review([{ ...table, columns: [known] }], performance.now() + 1)
  t.ok(differences.isKnown(table, known, 'text'))
  for (let index = 0; index < 1000; index++) differences.isKnown(table, mysqlColumn(`c${index}`, 'int'), 'text')
  t.notOk(differences.isKnown(table, known, 'text'), 'a thousand others, and all are forgotten together')
})

t.test('a column of an unknown type accepts any class of values', async (t) => {
  const unknown = mysqlColumn('x', 'xml')
  const definitions = createDefinitions({
    table, columns: [unknown], expected: ({ type }) => type.sentAs, differences: createDifferences()
  })
  t.ok(isExpected(definitions, { type: BLOB }))
  t.ok(isExpected(definitions, { type: INT }))
})
