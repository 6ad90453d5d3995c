/**
 * Bodies that are not a valid request, whatever the table. Text and bytes are sent unchanged, everything else as JSON.
 * `path`: the path of the first of the details, undefined if there are none.
 */
import { gzipSync } from 'node:zlib'

export interface BadBody { why: string, body: unknown, status: number, code: string, path?: string | undefined }

type Row = readonly [why: string, body: unknown, path?: string | undefined]

/** Bodies that are refused with the same status and code. */
export function refusedWith (status: number, code: string, rows: readonly Row[]): BadBody[] {
  return rows.map(([why, body, path]) => ({ why, body, status, code, path }))
}

/** One row for each value. */
export function each (values: readonly unknown[], row: (value: any, shown: string) => Row): Row[] {
  return values.map((value) =>
    row(value, String(typeof value === 'string' ? JSON.stringify(value) : JSON.stringify(value) ?? value).slice(0, 60)))
}

const SELECT = '{"verb":"select"}'
const bytes = (...parts: Array<string | number[]>): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)))
export const deep = (levels: number, core = ''): string => '['.repeat(levels) + core + ']'.repeat(levels)

const notJson = refusedWith(400, 'INVALID_JSON', [
  ['no body at all', ''],
  ['blanks alone', ' \r\n\t '],
  ['an object that is not closed', '{"verb":"select"'],
  ['a string that is not closed', '{"verb":"sel'],
  ['a key without a value', '{"verb"'],
  ['a comma too many', '{"verb":"select",}'],
  ['text after the object', '{"verb":"select"} and more'],
  ['two objects', SELECT + SELECT],
  ['two objects on lines of their own', `${SELECT}\n${SELECT}`],
  ['single quotes', "{'verb':'select'}"],
  ['keys without quotes', '{verb:"select"}'],
  ['a comment', '{"verb":"select"/* every row */}'],
  ['a form', 'verb=select&limit=1'],
  ['a bare word', 'select'],
  ['undefined', '{"verb":"select","limit":undefined}'],
  ['a hexadecimal number', '{"verb":"select","limit":0x10}'],
  ['a number with a zero before it', '{"verb":"select","limit":010}'],
  ['a number with a plus', '{"verb":"select","limit":+1}'],
  ['a number that begins with its point', '{"verb":"select","limit":.5}'],
  ['a number that ends with its point', '{"verb":"select","limit":1.}'],
  ['an exponent without digits', '{"verb":"select","limit":1e}'],
  ['a minus without digits', '{"verb":"select","limit":-}'],
  ['NaN', '{"verb":"select","limit":NaN}'],
  ['Infinity', '{"verb":"select","limit":-Infinity}'],
  ['a line break in a string', '{"verb":"sel\nect"}'],
  ['a NUL byte in a string', '{"verb":"sel\0ect"}'],
  ['a NUL byte after the object', `${SELECT}\0`],
  ['an escape that JSON does not have', '{"verb":"\\x73elect"}'],
  ['an escape of three digits', '{"verb":"select\\u12"}'],
  ['a byte that is no UTF-8', bytes('{"verb":"sel', [0xff], 'ect"}')],
  ['Latin-1', bytes('{"verb":"select","filters":{"name":"Zo', [0xeb], '"}}')],
  ['a sequence of UTF-8 that is cut off', bytes('{"verb":"select","filters":{"name":"Zo', [0xc3], '"}}')],
  ['a NUL in two bytes of UTF-8', bytes('{"verb":"select","filters":{"name":"', [0xc0, 0x80], '"}}')],
  ['half of a surrogate pair in UTF-8', bytes('{"verb":"select","filters":{"name":"', [0xed, 0xa0, 0x80], '"}}')],
  ['a code point beyond Unicode', bytes('{"verb":"select","filters":{"name":"', [0xf4, 0x90, 0x80, 0x80], '"}}')],
  ['a byte order mark', bytes([0xef, 0xbb, 0xbf], SELECT)],
  ['UTF-16', Buffer.from(`\ufeff${SELECT}`, 'utf16le')],
  ['UTF-16 without a mark', Buffer.from(SELECT, 'utf16le')],
  ['two verbs', '{"verb":"select","verb":"select"}'],
  ['two filters, of which the last is another', '{"verb":"delete","filters":{"id":1},"filters":{"id":2}}'],
  ['two filters, of which the last is empty', '{"verb":"delete","filters":{"id":1},"filters":{}}'],
  ['a column twice in a filter, once with an escape', '{"verb":"delete","filters":{"id":1,"\\u0069d":2}}'],
  ['an operator twice', '{"verb":"select","filters":{"id":{"$gt":1,"$gt":2}}}'],
  ['a column twice in the data', '{"verb":"update","data":{"name":"a","name":"a"},"filters":{"id":1}}'],
  ['__proto__ twice', '{"verb":"insert","data":{"__proto__":1,"__proto__":2}}'],
  ['a key twice inside a value of JSON', '{"verb":"insert","data":{"tags":[{"a":[{"b":1,"b":{":":1}}]}]}}'],
  ['compressed JSON', gzipSync(SELECT)],
  ['100,000 brackets that are never closed', '['.repeat(100_000)],
  ['100,000 brackets around a number of 20 digits', deep(100_000, '12345678901234567890')]
])

/** One of each kind of mistake that JSON can have; test/request/refusals.txt has them all, with their messages. */
const badFields = [
  ...refusedWith(400, 'INVALID_BODY', [
    ['null in place of an object', 'null'],
    ['a string in place of an object', '"select"'],
    ['100,000 brackets', deep(100_000)],
    ['no verb', {}, '/verb'],
    ['the verb in a prototype', '{"__proto__":{"verb":"select"}}', '/verb'],
    ['the field "__proto__"', '{"verb":"select","__proto__":{"limit":1}}', '/__proto__'],
    ['the field "a/b"', { verb: 'select', 'a/b': 1 }, '/a~1b'],
    ['a field with a NUL', { verb: 'select', 'lim\0it': 1 }, '/lim\0it'],
    ['a field of half a surrogate pair', '{"verb":"select","\\ud800":1}', '/\ud800'],
    ['a row that is none', { verb: 'insert', data: [{ email: 'a', name: 'b' }, null] }, '/data/1'],
    ['filters that are a list', { verb: 'delete', filters: [] }, '/filters'],
    ['a column of 50,000 brackets', `{"verb":"select","columns":["id",${deep(50_000)}]}`, '/columns/1'],
    ['a column that no double holds', '{"verb":"select","columns":[12345678901234567890]}', '/columns/0'],
    ['a limit whose fraction no double holds', '{"verb":"select","limit":1000.00000000000000000001}', '/limit']
  ]),
  ...refusedWith(400, 'LIMIT_OUT_OF_RANGE', [
    ['the limit 0', { verb: 'select', limit: 0 }, '/limit'],
    ['a limit that no double holds', '{"verb":"select","limit":1e400}', '/limit']
  ]),
  ...refusedWith(400, 'FILTERS_REQUIRED', [['a delete without filters', { verb: 'delete', filters: {} }, '/filters']])
]

export const badBodies: readonly BadBody[] = [...notJson, ...badFields]
