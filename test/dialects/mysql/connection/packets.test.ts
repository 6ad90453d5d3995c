/** Packets of an answer, byte by byte: those of the servers of the tests have small numbers only. */
import t from 'tap'
import { isEof, isOk, readColumnCount, readEof, readOk } from '../../../../src/dialects/mysql/connection/packets.ts'

const TRACKS = 0x800000
const CHANGED = 0x4000
const MORE = 8

/** A packet behind other bytes, as in the memory of a connection. */
function packet (...bytes: number[]) {
  const buffer = Buffer.from([1, 2, 3, 4, ...bytes, 9, 9])
  return { buffer, offset: 4, end: 4 + bytes.length }
}

const uint16 = (value: number): number[] => [value & 0xff, value >> 8]
const text = (value: string): number[] => [Buffer.byteLength(value), ...Buffer.from(value)]
/** An OK packet; `rest`: what follows its warnings. */
const ok = (counts: number[], status = 2, rest: number[] = []) => packet(0, ...counts, ...uint16(status), ...uint16(3), ...rest)

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
    t.same(readOk(ok(bytes), TRACKS), { affectedRows, insertId, status: 2, warnings: 3, info: '', changesSession: false })
  }
})

t.test('the text about a statement has a length only where the server tracks the session', async (t) => {
  t.match(readOk(ok([1, 0], 2, text('Rows matched: 1 ✓')), TRACKS), { info: 'Rows matched: 1 ✓' })
  t.match(readOk(ok([1, 0], 2, [...Buffer.from('Rows matched: 1 ✓')]), 0), { info: 'Rows matched: 1 ✓', changesSession: false })
  t.match(readOk(ok([1, 0], 2, []), 0), { info: '' })
})

t.test('only a variable is a change of the session that matters', async (t) => {
  const variable = [0, ...text(`${String.fromCharCode(9)}time_zone${String.fromCharCode(6)}+00:00`)]
  const schema = [1, ...text('\u0004shop')]
  const state = [2, ...text('\u00011')]
  const gtids = [3, ...text(`\u0000${String.fromCharCode(200)}`)]
  const changes = (...lists: number[][]) => readOk(ok([1, 0], CHANGED, [...text('info'), lists.flat().length, ...lists.flat()]), TRACKS).changesSession
  t.equal(changes(variable), true)
  t.equal(changes(schema, state, gtids, variable), true, 'after others')
  t.equal(changes(schema, state, gtids), false)
  t.equal(changes([]), true, 'an empty list: what was changed is the list of what is reported')
  t.equal(readOk(ok([1, 0], CHANGED, text('info')), TRACKS).changesSession, true, 'no list')
  t.equal(readOk(ok([1, 0], CHANGED), TRACKS).changesSession, true, 'nothing')
  t.equal(readOk(ok([1, 0], 2, text('info')), TRACKS).changesSession, false)
})

t.test('an answer that is cut or has more than one result ends its connection', async (t) => {
  t.throws(() => readOk(ok([1, 0], MORE), TRACKS), /more than one result/)
  t.throws(() => readEof(packet(0xfe, 0, 0, ...uint16(MORE))), /more than one result/)
  t.doesNotThrow(() => readEof(packet(0xfe, 0, 0, ...uint16(2))))
  t.throws(() => readColumnCount(packet(0xfb, 1, 2)), /no length/, 'a request for a local file')
  const { buffer } = ok([0xfe, 1, 1])
  for (let size = 5; size < 11; size++) t.throws(() => readOk({ buffer: buffer.subarray(0, size), offset: 4, end: size }, TRACKS), RangeError, `${size} bytes`)
  t.equal(readColumnCount(packet(0xfc, 0, 2)), 512)
})

t.test('a long row may begin like the end of the rows', async (t) => {
  t.equal(isEof(packet(0xfe, 0, 0, 2, 0)), true)
  t.equal(isEof(packet(0xfe, 0, 0, 0, 1, 0, 0, 0, 0, 1)), false)
  t.equal(isOk(packet(0)), true)
  t.equal(isOk(packet(1)), false)
})
