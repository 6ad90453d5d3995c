import { Readable } from 'node:stream'
import t from 'tap'
import { BodyMemory, BodyReservation } from '../../src/request/body-budget.ts'
import { readBody } from '../../src/request/read-body.ts'

const read = (chunks: string[], limit: number, memory = 1_000_000): Promise<string> =>
  new Promise((resolve, reject) => readBody(
    Readable.from(chunks.map((chunk) => Buffer.from(chunk))),
    { headers: {}, limit, reservation: new BodyReservation(new BodyMemory(memory), 'caller') },
    (error, body) => error === undefined ? resolve(String(body)) : reject(error)
  ))

t.test('a body may be exactly as large as the limit, in one part or in several', async (t) => {
  t.equal(await read(['x'.repeat(1000)], 1000), 'x'.repeat(1000))
  t.equal(await read(['x'.repeat(400), 'y'.repeat(600)], 1000), 'x'.repeat(400) + 'y'.repeat(600))
  await t.rejects(read(['x'.repeat(1001)], 1000), { code: 'BODY_TOO_LARGE' })
  await t.rejects(read(['x'.repeat(400), 'y'.repeat(601)], 1000), { code: 'BODY_TOO_LARGE' })
})
