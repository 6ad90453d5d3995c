import { EventEmitter } from 'node:events'
import mysql from 'mysql2'
import t, { type Test } from 'tap'
import { createMysqlDialect } from '../../../../src/dialects/mysql/dialect.ts'
import { sendPlainCommand } from '../../../../src/dialects/mysql/connection/try-reader.ts'
import { createCommandSender } from '../../../../src/dialects/mysql/connection/statement-command.ts'
import { tryReader } from '../../../../src/dialects/mysql/connection/try-reader.ts'
import { createCatalog } from '../../../../src/catalog/catalog.ts'
import { alone } from '../../../../src/catalog/catalog.ts'
import { createPlan } from '../../../../src/verbs/index.ts'
import { ResponseSink } from '../../../../src/response/response-sink.ts'
import { createTestDatabase, engines } from '../../../servers/engines.ts'
import { addressOf, connect, run, senders, sendStatement } from '../../../support/mysql.ts'
import { startService } from '../../../support/service.ts'
import { compilePlan, LIMITS } from '../../../support/sql.ts'
import { mysqlColumn } from '../../../support/tables.ts'

interface Packet { isEOF (): boolean, readonly buffer: Buffer, readonly offset: number, readonly end: number }
interface Command { execute (packet: Packet | undefined, connection: object): boolean, onResult (error: Error): void }

const prototype = mysql.Connection.prototype as unknown as { addCommand (command: object): object }
const { addCommand } = prototype

/** mysql2 as it may be one day: it treats commands in another way. Its own, for the public interface, work all the same. */
function withCommands (t: Test, change: (command: Command) => object): void {
  prototype.addCommand = function (command) { return addCommand.call(this, command instanceof EventEmitter ? command : change(command as Command)) }
  t.teardown(() => { prototype.addCommand = addCommand })
}

const withOtherName = ({ onResult, ...command }: Command) => ({ ...command, run: onResult })

/** Nothing follows the definitions. */
const withoutAnswer = (command: Command) => {
  let isOver = false
  return {
    execute (packet: Packet | undefined, connection: object) {
      isOver ||= packet?.isEOF() === true
      return !isOver && command.execute(packet, connection)
    },
    onResult () {}
  }
}

/** The first row is another kind of packet. */
const withOtherRows = (command: Command) => {
  let ends = 0
  let isFirst = true
  return {
    execute (packet: Packet | undefined, connection: object) {
      if (packet?.isEOF() === true) ends++
      else if (ends === 1 && isFirst) {
        isFirst = false
        return false
      }
      return command.execute(packet, connection)
    },
    onResult: (error: Error) => command.onResult(error)
  }
}

/** The bytes of a packet begin elsewhere. */
const withOtherOffset = (command: Command) => ({
  execute: (packet: Packet | undefined, connection: object) => command.execute(packet && new Proxy(packet, {
    get: (target, name) => name === 'offset' ? target.offset + 1 : Reflect.get(target, name)
  }), connection),
  onResult: (error: Error) => command.onResult(error)
})

t.test('the command is sent past mysql2\'s own reading of rows only where mysql2 has its methods', async (t) => {
  t.equal(createCommandSender({}), undefined, 'a connection that takes no commands')
  t.equal(createCommandSender({ addCommand: () => {}, writePacket: () => {} }), undefined, 'a connection without one of the methods')
  t.type(createCommandSender({ addCommand: () => {}, writePacket: () => {}, _resetSequenceId: () => {} }), 'function')
})

const cases: ReadonlyArray<readonly [name: string, change: (command: Command) => object, reason: RegExp]> = [
  ['with another name of a method', withOtherName, /^it does not answer$/],
  ['that says nothing after the definitions', withoutAnswer, /^it does not answer$/],
  ['with other rows', withOtherRows, /^it reads something else$/],
  ['with other packets', withOtherOffset, /^it (does not answer|reads something else)$/]
]

/** The sizes of the packet about 16 MB, where it is sent in two pieces, of which the second may be empty. */
const SIZES = [-5, -4, -3, -2, -1, 0, 1, 2].map((more) => 2 ** 24 - 1 + more)

const servers = await engines()

for (const engine of servers) {
  t.test(`the public API of an unknown mysql2 is used instead, with the same answers (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table items (id int not null auto_increment primary key, name varchar(20) null)', "insert into items (name) values ('Ada'), (null), ('Zoë \"x\"')"])
    t.teardown(() => database.drop())
    const reasons: string[] = []
    const openDialect = () => createMysqlDialect({
      address: addressOf(database.url),
      pool: { size: 1, minimum: 0, idleTimeout: 60_000, queue: 1, wait: 5000 },
      statementTimeout: 5000,
      onPlainReader: (reason) => { reasons.push(reason) }
    })
    const runPlan = async (body: object): Promise<unknown> => {
      const dialect = openDialect()
      const table = createCatalog(await dialect.introspect(), 0).tables.get('items')
      const plan = createPlan(body as never, alone(table as never), LIMITS)
      const sink = new ResponseSink(plan.verb === 'select' ? plan.columns : [], 10_000)
      const statement = compilePlan(plan, 'mysql')
      const outcome = plan.verb === 'select' ? await dialect.read(statement, sink) : await dialect.write(statement)
      await dialect.close()
      return { answer: plan.verb === 'select' ? String(sink.finish()) : undefined, ...outcome }
    }
    const bodies = [
      { verb: 'select', orderBy: 'id' },
      { verb: 'update', data: { name: 'Bo' }, filters: { id: [1, 2] } },
      { verb: 'update', data: { name: 'Ada' }, filters: { id: 1 } },
      { verb: 'update', data: { name: null }, filters: { id: 2 } }
    ]
    const expected = []
    for (const body of bodies) expected.push(await runPlan(body))
    t.match(expected[0], { answer: '{"success":true,"data":{"rows":[{"id":1,"name":"Ada"},{"id":2,"name":null},{"id":3,"name":"Zoë \\"x\\""}],"count":3}}' })
    t.same(reasons, [], 'with this mysql2 nothing is said')
    for (const [name, change, reason] of cases) {
      withCommands(t, change)
      for (const [index, body] of bodies.entries()) t.same(await runPlan(body), expected[index], `${name}: ${JSON.stringify(body)}`)
      t.equal(reasons.length, 1, `${name}: said once in a process`)
      t.match(reasons.pop(), reason)
    }
    t.match(await runPlan({ verb: 'insert', data: { name: 'new' } }), { changed: 1, insertId: '4' })
  })

  t.test(`the log says that rows are read with the slow reader (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table items (id int not null primary key, n int null)', 'insert into items values (1, 2)'])
    t.teardown(() => database.drop())
    withCommands(t, withOtherRows)
    const { post, log } = await startService(t, database.url, { database: { resultLimit: 2000 } })
    t.same((await post('items', { verb: 'select' })).json.data.rows, [{ id: 1, n: 2 }])
    const lines = log.map((line) => JSON.parse(line)).filter(({ reason }) => reason === 'it reads something else')
    t.equal(lines.length, 1)
    t.match(lines[0], { level: 40, msg: /read more slowly.*mysql2/ })
    await database.query('alter table items modify n text')
    await database.query("update items set n = '1,\"admin\":true'")
    t.same((await post('items', { verb: 'select' })).json.data.rows, [{ id: 1, n: '1,"admin":true' }], 'a column that has become another type is noticed here too')
    await database.query("update items set n = repeat('x', 3000)")
    t.match(await post('items', { verb: 'select' }), { status: 422, json: { error: { code: 'RESULT_TOO_LARGE' } } })
  })

  t.test(`rows are read by the public API where mysql2 lacks a method (${engine.name})`, async (t) => {
    const connection = await connect(new URL('information_schema', engine.url).href)
    t.teardown(() => connection.end())
    const lacking = new Proxy(connection, { get: (target, name) => name === 'writePacket' ? undefined : (Reflect.get(target, name) as () => void).bind(target) })
    t.match(await tryReader(lacking), { send: sendPlainCommand, reason: 'mysql2 lacks methods', isSpoilt: false })
  })

  t.test(`a statement of about 16 MB is sent in as many packets as the server expects (${engine.name})`, async (t) => {
    const connection = await connect(new URL('information_schema', engine.url).href)
    t.teardown(() => connection.end())
    const { bytes } = senders(connection)
    const [{ max }] = await run(connection, 'select @@max_allowed_packet as max') as [{ max: number }]
    const sizes = SIZES.filter((size) => size < Number(max))
    t.ok(sizes.length > 0)
    for (const size of sizes) {
      const [before, after] = ["select length('", "') as n"]
      const n = size - 1 - before.length - after.length
      const { sink } = await sendStatement(connection, before + 'x'.repeat(n) + after, new ResponseSink([mysqlColumn('n', 'int')], 1000), bytes)
      t.match(String(sink.finish()), `{"n":${n}}`, `${size} bytes`)
    }
  })
}
