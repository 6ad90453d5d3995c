/** Answers of a server of which a proxy repeats or loses a part, before it ends the connection. */
import t from 'tap'
import type { Proxy } from '../support/recorder.ts'
import { sharedOnEachEngine } from '../support/service.ts'

/** Its length is 0xfc 0xfe 0x00: without the first byte, another length of eight bytes begins. */
const LONG = 'first'.padEnd(254, '.')

const test = sharedOnEachEngine(t, {
  schema: () => [
    'create table words (id int not null primary key, word varchar(300) not null, owner int null, key (owner))',
    `insert into words values (1, '${LONG}', null), (2, 'second', 1), (3, 'third', 1)`
  ],
  only: ['mariadb', 'mysql']
})

const select = { verb: 'select', orderBy: 'id' }
const REQUESTS: Array<[name: string, body: object, accept: string]> = [
  ['a select', select, 'application/json'],
  ['a page', { ...select, columns: ['word'], limit: 2, after: null }, 'application/json'],
  ['lists', {
    ...select, include: { others: { table: 'words', on: { id: 'owner' }, as: 'list' } }
  }, 'application/json'],
  ['a stream of NDJSON', select, 'application/x-ndjson'],
  ['a stream of CSV', select, 'text/csv']
]

await test('an answer of which a part is repeated or lost is asked for again, and none of its rows stay',
  async (t, service) => {
    const proxy = service.proxy as Proxy
    for (const [name, body, accept] of REQUESTS) {
      const send = async () => {
        const { status, text } = await service.post('words', body, { headers: { accept } })
        return { status, text }
      }
      const right = await send()
      t.match(right, { status: 200, text: LONG }, name)
      /** Sends it while a part of so many bytes, so many bytes behind the length of the first text, goes wrong. */
      const mangle = async (change: 'repeats' | 'loses', behind: number, count: number, delay = 0): Promise<void> => {
        proxy.mangle = (bytes) => {
          const at = bytes.indexOf(LONG) - 3 + behind
          if (!bytes.includes(LONG)) return undefined
          proxy.mangle = () => undefined
          proxy.delay = delay
          const rest = bytes.subarray(change === 'loses' ? at + count : at - count)
          return Buffer.concat([bytes.subarray(0, at), rest])
        }
        const answer = await send()
        proxy.delay = 0
        t.same(answer, right, `${name}: ${change} ${count} bytes at ${behind}`)
      }
      await mangle('loses', 0, 1)
      for (const behind of [100, 257]) {
        for (const change of ['repeats', 'loses'] as const) await mangle(change, behind, behind === 100 ? 40 : 3)
      }
      // longer than rows wait for others: those before the wrong one are not passed on
      if (accept !== 'application/json') await mangle('loses', 270, 3, 10)
    }
  })
