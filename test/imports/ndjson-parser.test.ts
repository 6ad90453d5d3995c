/** The parser of lines of JSON: exact numbers, lines, and what it refuses. */
import t from 'tap'
import { type JsonRow, NdjsonParser } from '../../src/imports/row-parser.ts'
import { parseParts } from '../support/parse-parts.ts'

function parse (text: string, size = text.length): Array<{ readonly row: JsonRow, readonly line: number }> {
  const parser = new NdjsonParser()
  const rows: Array<{ readonly row: JsonRow, readonly line: number }> = []
  const take = (): void => {
    if (parser.row !== undefined) rows.push({ row: parser.row, line: parser.rowLine })
  }
  parseParts(parser, text, size, take)
  return rows
}

t.test('each line is an object, blank lines are skipped, and numbers keep their text', async (t) => {
  const text = '{"a": 1}\r\n\n \t\r\n{"a": 9007199254740993, "b": "é"}\n{"a": 1.50}'
  for (const size of [1, 2, 3, 7, 1000]) {
    const rows = parse(text, size)
    t.equal(
      JSON.stringify(rows),
      '[{"row":{"a":1},"line":1},{"row":{"a":9007199254740993,"b":"é"},"line":4},{"row":{"a":1.50},"line":5}]'
    )
  }
  t.strictSame(parse(''), [])
})

t.test('commas and brackets in a text are no items', async (t) => {
  const text = ',['.repeat(600_000)
  t.equal(parse(`{"a":"${text}"}`)[0]?.row['a'], text)
})

for (const [text, line, code, path] of [
  ['{"a": 1}\n{"a": }\n', 2, 'INVALID_JSON', '/data/1'],
  ['\n{"a": 1} {"a": 2}\n', 2, 'INVALID_JSON', '/data/0'],
  ['{"a": 1', 1, 'INVALID_JSON', '/data/0'],
  ['['.repeat(100_000), 1, 'INVALID_JSON', '/data/0'],
  [`{"a":[${'[],'.repeat(600_000)}1]}\n`, 1, 'BODY_TOO_LARGE', '/data/0'],
  ['[]\n', 1, 'INVALID_BODY', '/data/0'],
  ['{}\n1.0\n', 2, 'INVALID_BODY', '/data/1'],
  ['null\n', 1, 'INVALID_BODY', '/data/0'],
  ['{"a": 1, "\\u0061": 2}\n', 1, 'INVALID_BODY', '/data/0'],
  ['{"a": {"b": 1, "b": 2}}\n', 1, 'INVALID_BODY', '/data/0']
] as const) {
  t.test(`refuses ${text.slice(0, 40)} with its line`, async (t) => {
    t.throws(() => parse(text), { code, details: [{ path, line }] })
  })
}
