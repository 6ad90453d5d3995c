import mysql from 'mysql2'
import t from 'tap'
import { openDialect } from '../../../../src/databases/open.ts'
import { requirePrivateMethods, sendCommand } from '../../../../src/dialects/mysql/statement-command.ts'
import { ResponseSink } from '../../../../src/response/response-sink.ts'
import { engines } from '../../../servers/engines.ts'
import { addressOf, connect, run, sendStatement } from '../../../support/mysql.ts'
import { mysqlColumn } from '../../../support/tables.ts'

t.test('the service does not start with a mysql2 that lacks a method of its commands', async (t) => {
  const complete = { addCommand () {}, writePacket () {}, _resetSequenceId () {} }
  for (const name of Object.keys(complete)) {
    t.throws(() => requirePrivateMethods({ ...complete, [name]: undefined }), {
      message: `the installed version of mysql2 lacks the method ${name}`
    })
  }
  t.doesNotThrow(() => requirePrivateMethods(complete))
  const { prototype } = mysql.Connection as unknown as { prototype: { addCommand?: unknown } }
  prototype.addCommand = undefined
  t.teardown(() => { delete prototype.addCommand })
  const settings = {
    name: 'shop',
    address: { engine: 'mysql', address: addressOf('mysql://root@127.0.0.1/shop') },
    replicas: [],
    pool: {}
  }
  await t.rejects(openDialect(settings as never), {
    errors: ['databases.shop.url: the installed version of mysql2 lacks the method addCommand']
  })
})

/** The sizes of the packet about 16 MB, where it is sent in two pieces, of which the second may be empty. */
const SIZES = [-5, -4, -3, -2, -1, 0, 1, 2].map((more) => 2 ** 24 - 1 + more)

for (const engine of await engines()) {
  t.test(`a statement of about 16 MB is sent in as many packets as the server expects (${engine.name})`, async (t) => {
    const connection = await connect(new URL('information_schema', engine.url).href)
    t.teardown(() => connection.end())
    const [{ max }] = await run(connection, 'select @@max_allowed_packet as max') as [{ max: number }]
    const sizes = SIZES.filter((size) => size < Number(max))
    t.ok(sizes.length > 0)
    for (const size of sizes) {
      const [before, after] = ["select length('", "') as n"]
      const n = size - 1 - before.length - after.length
      const { sink } = await sendStatement(connection, before + 'x'.repeat(n) +
        after, new ResponseSink([mysqlColumn('n', 'int')], 1000), sendCommand)
      t.match(String(sink.finish()), `{"n":${n}}`, `${size} bytes`)
    }
  })
}
