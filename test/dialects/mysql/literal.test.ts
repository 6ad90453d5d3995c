import fc from 'fast-check'
import t from 'tap'
import { writeStatement } from '../../../src/dialects/mysql/literal.ts'
import type { Parameter } from '../../../src/types/column-type.ts'
import { createTestDatabase, engines } from '../../servers/engines.ts'
import { connect, run } from '../../support/mysql.ts'
import '../../support/seed.ts'

const write = (...parameters: Parameter[]): string => writeStatement({ pieces: ['select ', ...parameters.map((_, index) => ` as \`${index}?\``).map((piece, index, all) => piece + (index < all.length - 1 ? ', ' : ''))], parameters })

t.test('the JavaScript type determines the form of a literal', async (t) => {
  t.equal(write('a', 1, -1.5, 18446744073709551615n, null, Buffer.from('\'"\\')), "select 'a' as `0?`, 1 as `1?`, -1.5 as `2?`, 18446744073709551615 as `3?`, null as `4?`, x'27225c' as `5?`")
  t.equal(write(Buffer.alloc(0)), "select x'' as `0?`")
})

t.test('no text can end its own literal', async (t) => {
  for (const text of ["'", "''", '\\', "\\'", "' or 1 = 1 -- ", '\0', '\x1a', '\n\r\t\b', '?', '"', '`', '\u0085', '\u2028']) {
    const literal = write(text).slice('select '.length, -' as `0?`'.length)
    t.match(literal, /^'(?:[^'\\]|\\.)*'$/s, encodeURIComponent(text))
  }
})

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => text.isWellFormed()),
  fc.string({ unit: fc.constantFrom("'", '"', '\\', '\0', '\x1a', '\n', '%', '_', '?', '`', 'é', '😀', '中', ' '), maxLength: 12 })
)
const values = fc.array(text, { minLength: 1, maxLength: 50 })

for (const engine of await engines()) {
  t.test(`texts, numbers and bytes return from the server unchanged (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine)
    const connection = await connect(database.url, { rowsAsArray: true })
    t.teardown(async () => {
      connection.destroy()
      await database.drop()
    })
    await fc.assert(fc.asyncProperty(values, async (texts) => {
      const [row] = await run(connection, write(...texts)) as string[][]
      return row?.length === texts.length && texts.every((text, index) => text === row[index])
    }), { numRuns: 200 })
    await fc.assert(fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1 }), async (arrays) => {
      const [row] = await run(connection, write(...arrays.map((array) => Buffer.from(array)))) as unknown as [Buffer[]]
      return arrays.every((array, index) => Buffer.from(array).equals(row[index] as Buffer))
    }), { numRuns: 50 })
    await fc.assert(fc.asyncProperty(fc.bigInt({ min: -(1n << 63n), max: (1n << 64n) - 1n }), async (number) => {
      const [row] = await run(connection, write(number)) as [[string | number]]
      return BigInt(row[0]) === number
    }), { numRuns: 50 })
    t.pass()
  })
}
