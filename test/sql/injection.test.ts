import t from 'tap'
import fc, { type Arbitrary } from 'fast-check'
import '../support/seed.ts'
import { compileBody, orders } from '../support/sql.ts'

/** Text that is in no identifier and no keyword, inside whatever else a client may send. */
const MARK = 'Zq8'
const hostile = fc.constantFrom(
  "'", '"', '`', '\\', '?', ':a', '--', '/*', '*/', ';', ' or 1 = 1', '\0', '\n', '%', '_', '😀'
)
const text: Arbitrary<string> = fc.array(fc.oneof(hostile, fc.string({ unit: 'grapheme' })), { maxLength: 3 }).map(
  (parts) => (MARK + parts.join('')).slice(0, 19)
).filter((text) => text.isWellFormed())
const number = fc.integer({ min: 100_000, max: 99_999_999 })

const valueOf: Record<string, Arbitrary<unknown>> = {
  id: number,
  name: text,
  total: number,
  ratio: number,
  tags: fc.oneof(text, fc.dictionary(text, text, { noNullPrototype: true, minKeys: 1 })),
  'odd "na`me"': text
}
const column = fc.constantFrom(...Object.keys(valueOf))
const ordered = fc.constantFrom('id', 'name', 'total')

const comparison: Arbitrary<Record<string, unknown>> = ordered.chain((name) => {
  const value = valueOf[name] as Arbitrary<unknown>
  return fc.oneof(
    fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte').chain(
      (operator) => value.map((operand) => ({ [name]: { [operator]: operand } }))
    ),
    fc.constantFrom('$in', '$nin').chain((operator) =>
      fc.array(fc.oneof(value, fc.constant(null)), { maxLength: 4 }).map((list) => ({ [name]: { [operator]: list } }))),
    fc.tuple(value, value).map((pair) => ({ [name]: { $between: pair } }))
  )
})
/** SQLite takes no NUL in a pattern, which is refused before there is a statement. */
const patternText = text.map((operand) => operand.replaceAll('\0', '?'))
const pattern = fc.constantFrom('$like', '$nlike', '$startsWith', '$contains').chain(
  (operator) => patternText.map((operand) => ({ name: { [operator]: operand } }))
)
const equality = column.chain((name) => (valueOf[name] as Arbitrary<unknown>).map((value) => ({ [name]: value })))
const { filters } = fc.letrec<{ filters: Record<string, unknown> }>((tie) => ({
  filters: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(comparison, pattern, equality),
    fc.constantFrom('$and', '$or').chain(
      (key) => fc.array(tie('filters'), { minLength: 1, maxLength: 3 }).map((list) => ({ [key]: list }))
    ),
    tie('filters').map((inner) => ({ $not: inner }))
  )
}))

const data = fc.record(valueOf, { requiredKeys: [] }).chain((values) => fc.constant(values as Record<string, unknown>))
const terms = fc.uniqueArray(ordered, { minLength: 1 }).map(
  (names) => names.map((name, index) => index % 2 === 0 ? name : `${name} DESC`).join(', ')
)
const body = fc.oneof(
  fc.record({
    verb: fc.constant('select'),
    filters,
    columns: fc.uniqueArray(column, { minLength: 1 }),
    orderBy: terms,
    limit: fc.integer({ min: 1, max: 1000 })
  }, { requiredKeys: ['verb'] }),
  fc.record({ verb: fc.constant('insert'), data }),
  fc.record({
    verb: fc.constant('update'),
    data: data.filter((values) => Object.keys(values).length > 0),
    filters: fc.tuple(equality, filters).map(([some, other]) => ({ $and: [some, other] }))
  }),
  fc.record({
    verb: fc.constant('delete'), filters: fc.tuple(equality, filters).map(([some, other]) => ({ $and: [some, other] }))
  })
)

const KEYWORDS = new RegExp('^(select|as|from|where|order|by|asc|desc|limit|insert|into|values|default|update|set|' +
  'delete|and|or|not|in|is|null|between|like|escape|cast|decimal|double|json|collate|binary|case|when|then|end|' +
  'typeof|json_valid)$')
const quoted = { mysql: /`((?:[^`]|``)*)`/g, sqlite: /"((?:[^"]|"")*)"/g }

for (const engine of ['mysql', 'sqlite'] as const) {
  t.test(`the content of a request never becomes SQL text (${engine})`, async (t) => {
    const known = new Set([orders[engine].name, ...orders[engine].columns.keys()])
    const quote = engine === 'mysql' ? '`' : '"'
    fc.assert(fc.property(body, (request) => {
      const { sql, parameters } = compileBody(engine, request)
      const identifiers = Array.from(
        sql.matchAll(quoted[engine]), ([, name]) => (name as string).replaceAll(quote + quote, quote)
      )
      for (const name of identifiers) {
        if (!known.has(name) && !/^v\d+$/.test(name)) throw new Error(`${name} is no identifier of the catalog`)
      }
      const rest = sql.replace(quoted[engine], '').replace(/escape '!'/g, 'escape').replaceAll(
        'decimal(10,2)', 'decimal'
      ).replace(/1 = [01]/g, '').replaceAll("'?'", '?').replace(/'(?:text|blob|integer|real)'/g, '')
      for (const word of rest.match(/[^\s()=<>,.?]+/g) ??
        []) if (!KEYWORDS.test(word)) throw new Error(`${word} is no keyword`)
      if (sql.includes(MARK)) throw new Error('the text of a value')
      if ((rest.match(/\?/g) ?? []).length !== parameters.length) throw new Error('a placeholder for each parameter')
      for (const parameter of parameters) {
        if (!['string', 'number', 'bigint'].includes(typeof parameter) &&
        parameter !== null) throw new Error('a parameter that a driver would take apart')
      }
    }), { numRuns: 300 })
    t.pass()
  })
}

t.test('all values of the same kind use the same statement', async (t) => {
  const shape = (value: string): string => compileBody('mysql', { verb: 'select', filters: { name: value } }).sql
  t.equal(shape("x' or 1 = 1 -- "), shape('Ada'))
})
