/** JSON validation, and responses that are valid JSON whatever a JSON column contains. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { ResponseSink } from '../../src/response/response-sink.ts'
import { isJson } from '../../src/types/json-text.ts'
import { mysqlType } from '../../src/types/mysql.ts'
import '../support/seed.ts'
import { mysqlColumn } from '../support/tables.ts'

/** JSON.parse, and the one additional rule: no lone surrogates. */
function isJsonByPlatform (text: string): boolean {
  let isText = true
  try {
    JSON.parse(text, (key, value: unknown) => {
      isText &&= key.isWellFormed() && (typeof value !== 'string' || value.isWellFormed())
      return value
    })
    return isText
  } catch {
    return false
  }
}

const judge = (text: string): boolean => isJson(Buffer.from(text))

t.test('JSON is told from other text', async (t) => {
  const json = [
    '0', '-0', '1.5', '1e5', '1E+5', '-0.5e-10', ' [ ] ', '{ }', '"\\u00e9\\"\\/\\b"', '"\\ud83d\\ude00"',
    '{"a" : [1, {"b":null}] , "a":true}', '\t\r\nfalse\n', '""', '[[],{},""]'
  ]
  const other = [
    '', ' ', '1.', '1.e5', '.5', '+1', '01', '-', '-a', '1e', '1e+', '0x1', '"\\x41"', '"\\q"', '"\\u12g4"', '"\\u12',
    '"a', '"a\nb"', '"\0"', '"\\ud800"', '"\\ud800x"', '"\\ud800\\u0041"', '"\\udc00"',
    '"\\ud800\\', 'nul', 'nulL', 'undefined', 'NaN', 'True', '[', ']', '{', '}', '[1', '[1,]', '[,1]', '[1 2]',
    '{"a"}', '{"a":}', '{"a":1,}', '{,}', '{a:1}', '{1:2}', '{"a" 1}', '{"a', '{"a"', '[}', '{]', '[1}', '{"a":1]',
    '1 2', '[] []', '1,"admin":true', "'a'", '"a"x', '\ufeff1'
  ]
  for (const text of json) t.ok(judge(text), text)
  for (const text of other) t.notOk(judge(text), text)
})

t.test('only the bytes of the value count, not those around it', async (t) => {
  const bytes = Buffer.from('"\\u0041",1e5,[1],true')
  for (const [from, to] of [
    [0, 8], [9, 12], [13, 16], [17, 21], [9, 10], [11, 12]
  ] as const) t.ok(isJson(bytes, from, to), bytes.toString('utf8', from, to))
  for (const [from, to] of [
    [0, 7], [0, 5], [9, 11], [13, 15], [17, 20], [5, 5]
  ] as const) t.notOk(isJson(bytes, from, to), bytes.toString('utf8', from, to))
})

t.test('any depth is validated without recursion', async (t) => {
  const deep = 2_000_000
  t.ok(judge('['.repeat(deep) + ']'.repeat(deep)))
  t.notOk(judge('['.repeat(deep) + ']'.repeat(deep - 1)))
  t.notOk(judge('{"a":'.repeat(deep)))
})

/** Texts that are almost JSON. */
const nearly = fc.tuple(
  fc.json(), fc.nat(),
  fc.constantFrom('', '"', '\\', ',', ':', '{', '}', '[', ']', '0', '.', 'e', '-', ' ', '\n', '\\u', 'true', 'd800'),
  fc.nat({ max: 3 })
)
  .map(
    ([text, at, more, cut]) => text.slice(0, at % (text.length + 1)) + more + text.slice(at % (text.length + 1) + cut)
  )

t.test('the result equals that of JSON.parse', async (t) => {
  fc.assert(fc.property(fc.oneof(fc.json(), nearly, fc.string({
    unit: fc.constantFrom(
      '"', '\\', 'u', 'd', '8', '0', '1', '.', 'e', '-', '+', '[', ']', '{', '}', ',', ':', ' ', 't', 'r', 'n', 'l'
    )
  })), (text) => {
    return judge(text) === isJsonByPlatform(text)
  }), { numRuns: 2000 })
  t.pass()
})

/** A row with one value in MySQL's text protocol. */
function packetOf (cell: Buffer): Buffer {
  const length = cell.length < 251
    ? Buffer.from([cell.length])
    : Buffer.from([0xfc, cell.length & 0xff, cell.length >> 8])
  return Buffer.concat([length, cell])
}

t.test('a response is valid JSON whatever bytes a JSON column of MariaDB contains, on both paths', async (t) => {
  const type = mysqlType({
    name: 'longtext',
    declaration: 'longtext',
    length: null,
    bytes: null,
    scale: null,
    charset: 'utf8mb4',
    srid: null,
    json: true
  })
  const column = { ...mysqlColumn('j', 'longtext'), type }
  fc.assert(fc.property(fc.oneof(
    nearly.map((text) => Buffer.from(text)), fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes))
  ), (cell) => {
    const [bytes, plain] = [new ResponseSink([column], 1e6), new ResponseSink([column], 1e6)]
    const packet = packetOf(cell)
    bytes.textRow(packet, 0, packet.length, 1)
    plain.row([cell])
    const [first, second] = [bytes, plain].map((writer) => JSON.parse(String(writer.finish())).data.rows[0])
    fc.pre(cell.equals(Buffer.from(cell.toString())))
    const shown = isJson(cell) ? JSON.parse(cell.toString()) : cell.toString()
    return isDeepStrictEqual(first, { j: shown }) && isDeepStrictEqual(second, { j: shown })
  }), { numRuns: 500 })
  t.pass()
})
