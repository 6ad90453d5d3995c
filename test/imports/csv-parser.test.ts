/** The parser of CSV: compared with that of npm, in parts of any size, and what it refuses. */
import fc from 'fast-check'
import t from 'tap'
import { type CsvCells, CsvParser } from '../../src/imports/csv-parser.ts'
import { readWithNode } from '../support/csv.ts'
import { parseParts } from '../support/parse-parts.ts'

interface Parsed { readonly names: readonly string[], readonly rows: CsvCells[], readonly lines: number[] }

function parse (text: string, { size = text.length, separator = ',' } = {}): Parsed {
  const parser = new CsvParser(separator)
  const rows: CsvCells[] = []
  const lines: number[] = []
  const take = (): void => {
    if (parser.row === undefined) return
    rows.push(parser.row)
    lines.push(parser.rowLine)
  }
  parseParts(parser, text, size, take)
  return { names: parser.names, rows, lines }
}

const cell = fc.oneof(fc.constant(null), fc.constant(''), fc.string({
  unit: fc.constantFrom('a', '"', ',', '\r', '\n', ' ', 'é', '😀'), maxLength: 6
}))
const quote = (value: string | null, always: boolean): string => {
  if (value === null) return ''
  return always || value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

t.test('rows are those of another parser, in parts of any size, and lines are counted as an editor does', async (t) => {
  fc.assert(fc.property(fc.integer({ min: 2, max: 4 }).chain((width) => fc.tuple(
    fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 5 }),
    fc.constantFrom('\r\n', '\n', '\r'),
    fc.integer({ min: 1, max: 7 }),
    fc.boolean(),
    fc.boolean(),
    fc.constant(['a', 'b', 'c', 'd'].slice(0, width))
  )), ([rows, end, size, always, isOpen, names]) => {
    // a row that ends in nothing, and a text whose last line is open, differ in nothing but their end
    const last = rows.at(-1)
    const text = [names, ...rows].map((row) => row.map((value) => quote(value, always)).join()).join(end) +
      (isOpen && last?.at(-1) !== null ? '' : end)
    const expected = { names, rows }
    const whole = parse(text)
    t.strictSame({ names: whole.names, rows: whole.rows }, expected, text)
    t.strictSame(parse(text, { size }), whole)
    // each row begins at the line that follows the ends of lines before it
    let before = [names].map((row) => row.join()).join(end) + end
    const starts = rows.map((row) => {
      const line = before.split(/\r\n|\r|\n/).length
      before += row.map((value) => quote(value, always)).join() + end
      return line
    })
    t.strictSame(whole.lines, starts)
    if (end === '\n' && !rows.some((row) => row.some((value) => value?.includes('\r')))) {
      t.strictSame(
        [names, ...rows], readWithNode(text)
      )
    }
  }), { numRuns: 60 })
})

t.test('a line with nothing is skipped, and is a row of NULL where there is one column', async (t) => {
  t.match(parse('\n\na,b\r\n\r\n1,2\r\r3,4\n\n'), { names: ['a', 'b'], rows: [['1', '2'], ['3', '4']], lines: [5, 7] })
  t.match(parse('a\n\n1\n'), { rows: [[null], ['1']], lines: [2, 3] })
  t.strictSame(parse('a\n').rows, [])
  t.strictSame(parse('a\n""').rows, [['']])
})

t.test('spaces belong to the cell, and the separator is one of three', async (t) => {
  t.strictSame(parse('a, b\n 1 ,\t2').rows, [[' 1 ', '\t2']])
  t.strictSame(parse(' b\n').names, [' b'])
  t.strictSame(parse('a;b\n1,5;2', { separator: ';' }).rows, [['1,5', '2']])
  t.strictSame(parse('a\tb\n"1\t"\t2;3', { separator: '\t' }).rows, [['1\t', '2;3']])
})

for (const [text, line, path, message] of [
  ['', 1, '', /begin with a line of column names/],
  ['\r\n\r\n', 3, '', /begin with a line of column names/],
  ['a,\n', 1, '', /no name/],
  ['a,""\n', 1, '', /no name/],
  ['\na,a\n', 2, '', /"a" twice/],
  ['a,b\n1\n', 2, '/data/0', /1 cells, and the header 2/],
  ['a,b\n1,2\n1,2,3\n', 3, '/data/1', /3 cells, and the header 2/],
  ['a,b\n1,2"3\n', 2, '/data/0/b', /cell with a quote in it must begin and end/],
  ['a,b\n"x\ny" ,2\n', 3, '/data/0/a', /text behind a closing quote/],
  ['a,b\n1,2\n3,"4\r\n5,6\r\n', 3, '/data/1/b', /not closed/],
  ['"a', 1, '', /not closed/]
] as const) {
  t.test(`refuses ${JSON.stringify(text)} with its line`, async (t) => {
    for (const size of [text.length || 1, 1, 2]) {
      t.throws(() => parse(text, { size }), { code: 'INVALID_BODY', message, details: [{ path, line }] })
    }
  })
}

t.test('a cell that arrives in many parts has the text of all, with each pair of quotes as one', async (t) => {
  const parser = new CsvParser()
  for (const text of ['a\n', '"']) parser.read(text, 0)
  const part = '""'.repeat(8192)
  for (let count = 0; count < 64; count++) parser.read(part, 0)
  parser.read('"\n', 0)
  t.equal((parser.row as CsvCells)[0]?.length, 64 * 8192)
})
