import t from 'tap'
import { BANK_TABLES, keepsItsSum } from './bank.ts'
import { kinds, ownShop, serve } from './service.ts'

for (const kind of kinds) {
  t.test(`the sum of a bank on ${kind} stays what it is while the server is killed`, async (t) => {
    const { server, sql, url } = await ownShop(t, kind, BANK_TABLES)
    await keepsItsSum(t, {
      programs: [await serve(t, { url, pool: { size: 6 } })],
      sql,
      kills: 5,
      async kill () {
        await server.end('SIGKILL')
        await server.start()
      }
    })
  })
}
