// night: starts programs
import t, { type Test } from 'tap'
import { createTestDatabase, engines } from '../../../servers/engines.ts'
import { refusalsOf } from '../../../support/refused-servers.ts'
import { createRewritingProxy } from '../../../support/rewriting-proxy.ts'
import { runRowQuery } from '../../../support/row-query.ts'

for (const engine of await engines()) {
  t.test(`row-query check says why a server cannot be used (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine)
    t.teardown(() => database.drop())
    for (const [name, toClient, reason] of refusalsOf(engine)) {
      const url = await createRewritingProxy(t as Test, database.url, { toClient })
      const { code, stdout } = await runRowQuery(t as Test, ['check'], { env: { DATABASE_URL: url } })
      t.equal(code, 1, name)
      t.match(/the server cannot be used \((.*)\)$/m.exec(stdout)?.[1] ?? '', reason, name)
    }
  })
}
