/** What is sent to a server: the options of a connection, its session and the literals of a statement. */
import fc from 'fast-check'
import mysql from 'mysql2'
import t from 'tap'
import { sessionStatement, connectionOptions } from '../../../src/dialects/mysql/session-settings.ts'
import { writeStatement } from '../../../src/dialects/mysql/statement-command.ts'
import { engineOf, isAtLeast, numbersOf, versionProblem } from '../../../src/dialects/mysql/engines.ts'
import type { Parameter } from '../../../src/types/column-type.ts'
import { createTestDatabase, engines } from '../../servers/engines.ts'
import { connect, run, textOf } from '../../support/mysql.ts'
import '../../support/seed.ts'

const address = {
  hosts: [{ host: 'a', port: 1 }, { host: 'b', port: 2 }], user: 'u', password: 'p', database: 'd', ssl: undefined
}

t.test('a connection reads no local file, sends one statement at a time and counts changed rows', async (t) => {
  const options = connectionOptions(address)
  t.match(options, {
    host: 'a',
    port: 1,
    user: 'u',
    database: 'd',
    charset: 'utf8mb4',
    multipleStatements: false,
    flags: ['-LOCAL_FILES', '-FOUND_ROWS']
  })
  t.notOk('ssl' in options)
  t.match(connectionOptions(address, { host: 'b', port: 2 }), { host: 'b', port: 2 })
})

t.test('a connection is encrypted if the URL requires it', async (t) => {
  const ssl = { rejectUnauthorized: true }
  t.match(connectionOptions({ ...address, ssl }), { ssl })
})

t.test('the session is strict, in UTC, and has a statement time limit on the server', async (t) => {
  const statement = sessionStatement(1000)
  t.match(statement, /STRICT_ALL_TABLES/)
  t.match(statement, /time_zone = '\+00:00'/)
  t.match(statement, /max_statement_time = \d/)
  t.match(statement, /max_execution_time = \d/)
})

const write = (...parameters: Parameter[]): string => textOf(writeStatement({
  pieces: ['select ', ...parameters.map(
    (_, index) => ` as \`${index}?\``
  ).map((piece, index, all) => piece + (index < all.length - 1 ? ', ' : ''))],
  parameters
}))

t.test('the JavaScript type determines the form of a literal', async (t) => {
  t.equal(
    write('a', 1, -1.5, 18446744073709551615n, null, Buffer.from('\'"\\')),
    "select 'a' as `0?`, 1 as `1?`, -1.5 as `2?`, 18446744073709551615 as `3?`, null as `4?`, x'27225c' as `5?`"
  )
  t.equal(write(Buffer.alloc(0)), "select x'' as `0?`")
})

t.test('no text can end its own literal', async (t) => {
  for (const text of [
    "'", "''", '\\', "\\'", "' or 1 = 1 -- ", '\0', '\x1a', '\n\r\t\b', '?', '"', '`', '\u0085', '\u2028'
  ]) {
    const literal = write(text).slice('select '.length, -' as `0?`'.length)
    t.match(literal, /^'(?:[^'\\]|\\.)*'$/s, encodeURIComponent(text))
  }
})

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => text.isWellFormed()),
  fc.string({
    unit: fc.constantFrom("'", '"', '\\', '\0', '\x1a', '\n', '%', '_', '?', '`', 'é', '😀', '中', ' '), maxLength: 12
  })
)
t.test('a text with a character that must be escaped is escaped as mysql2 does it, of any length', async (t) => {
  fc.assert(fc.property(text, fc.constantFrom("'", '\\', '\0'), fc.integer({
    min: 1, max: 500
  }), (text, special, times) => {
    const escaped = (text + special).repeat(times)
    t.equal(write(escaped), `select ${mysql.escape(escaped)} as \`0?\``)
  }), { numRuns: 200 })
  for (const escaped of ["é'".repeat(40_000), "'"]) {
    t.ok(
      write(escaped, 'a') === `select ${mysql.escape(escaped)} as \`0?\`, 'a' as \`1?\``, `${escaped.length} characters`
    )
  }
})

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
    }), { numRuns: 40 })
    await fc.assert(fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1 }), async (arrays) => {
      const [row] = await run(connection, write(...arrays.map((array) => Buffer.from(array)))) as unknown as [Buffer[]]
      return arrays.every((array, index) => Buffer.from(array).equals(row[index] as Buffer))
    }), { numRuns: 20 })
    await fc.assert(fc.asyncProperty(fc.bigInt({ min: -(1n << 63n), max: (1n << 64n) - 1n }), async (number) => {
      const [row] = await run(connection, write(number)) as [[string | number]]
      return BigInt(row[0]) === number
    }), { numRuns: 20 })
    t.pass()
  })
}

const VERSIONS: Array<[text: string, product: string, numbers: number[], supported: boolean]> = [
  ['8.0.19', 'MySQL', [8, 0, 19], true],
  ['8.0.36-28', 'MySQL', [8, 0, 36], true],
  ['8.4.0', 'MySQL', [8, 4, 0], true],
  ['9.7.4-2', 'MySQL', [9, 7, 4], true],
  ['10.0.0', 'MySQL', [10, 0, 0], true],
  ['8.0.18', 'MySQL', [8, 0, 18], false],
  ['8.0.11-TiDB-v7.5.0', 'TiDB', [7, 5, 0], true],
  ['8.0.11-TiDB-v8.5.1-serverless', 'TiDB', [8, 5, 1], true],
  ['5.7.25-TiDB-v7.1.5', 'TiDB', [7, 1, 5], false],
  ['8.0.40-Vitess', 'Vitess', [8, 0, 40], true],
  ['8.0.30-Vitess', 'Vitess', [8, 0, 30], true],
  ['5.7.9-Vitess', 'Vitess', [5, 7, 9], false],
  ['5.7.44-log', 'MySQL', [5, 7, 44], false],
  ['5.6.51', 'MySQL', [5, 6, 51], false],
  ['5.5.5', 'MySQL', [5, 5, 5], false],
  ['10.7.0-MariaDB', 'MariaDB', [10, 7, 0], true],
  ['10.11.18-MariaDB-0+deb12u1', 'MariaDB', [10, 11, 18], true],
  ['5.5.5-10.11.18-MariaDB-log', 'MariaDB', [10, 11, 18], true],
  ['11.4.2-MariaDB-ubu2404', 'MariaDB', [11, 4, 2], true],
  ['10.6.18-13-MariaDB-enterprise-log', 'MariaDB', [10, 6, 18], false],
  ['5.5.5-10.6.18-MariaDB', 'MariaDB', [10, 6, 18], false],
  ['5.5.68-MariaDB', 'MariaDB', [5, 5, 68], false],
  ['8.4', 'MySQL', [8, 4, 0], true],
  ['', 'MySQL', [0, 0, 0], false]
]

t.test('the engine and the version of a server are read, and each engine has an oldest ' +
  'version of its own', async (t) => {
  for (const [text, product, numbers, supported] of VERSIONS) {
    const engine = engineOf(text)
    t.same({ product: engine.name, numbers: numbersOf(engine, text) }, { product, numbers }, text)
    t.equal(versionProblem(text), supported
      ? undefined
      : `SERVER_TOO_OLD: ${product} ${numbers.join('.')}, the oldest supported versions are MySQL 8.0.19, ` +
        'MariaDB 10.7, Vitess 8.0.30 and TiDB 7.5', text)
  }
})

t.test('MariaDB counts from the end of a list in JSON since 10.9', async (t) => {
  for (const [version, counts] of [
    ['10.7.8', false], ['10.8.0', false], ['10.9.1', true], ['10.11.18', true], ['11.8.2', true]
  ] as const) {
    const { name, traits, lacks } = engineOf(`5.5.5-${version}-MariaDB-ubu2404`)
    t.same([name, traits.countsFromEnd, lacks.length], ['MariaDB', counts, counts ? 0 : 1], version)
  }
  t.ok(engineOf('8.0.19').traits.countsFromEnd)
})

t.test('versions are compared number by number', async (t) => {
  for (const [oldest, expected] of [
    [[11, 5], true], [[11, 5, 2], true], [[11, 5, 3], false], [[11, 6], false], [[12], false], [[10, 99, 99], true]
  ] as const) t.equal(isAtLeast([11, 5, 2], oldest), expected, oldest.join('.'))
})
