/** The program of docs/reading.md is run against the demo. */
import t from 'tap'
import { codeBlocks, readDocument } from '../support/markdown.ts'
import { serveRowQuery } from '../support/row-query.ts'

t.test('the example of aggregates in docs/reading.md has the answer that it shows', async (t) => {
  const token = 'reading-test-token-0123456789-0123456789'
  const server = await serveRowQuery(t, { cwd: t.testdir(), env: { API_TOKEN: token } })
  const [body, answer] = codeBlocks(readDocument('docs/reading.md')).filter(({ kind }) => kind === 'json aggregates').map(({ text }) => text) as [string, string]
  const response = await fetch(`${server.address}/api/demo/orders`, { method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body })
  t.equal(await response.text(), JSON.stringify(JSON.parse(answer)))
})

type ReadAll = (table: string, body: object) => AsyncGenerator<{ id: number, ordered_at: string }>

t.test('the loop of docs/reading.md reads every row once', async (t) => {
  const token = 'reading-test-token-0123456789-0123456789'
  const server = await serveRowQuery(t, { cwd: t.testdir(), env: { API_TOKEN: token } })
  const { text } = codeBlocks(readDocument('docs/reading.md')).find(({ kind }) => kind === 'js readAll') as { text: string }
  const program = text.replace('http://127.0.0.1:3000', server.address).replace('process.env.TOKEN', JSON.stringify(token)).replace('limit: 1000', 'limit: 40')
  const { readAll } = await import(`data:text/javascript,${encodeURIComponent(program.replace('async function', 'export async function'))}`) as { readAll: ReadAll }
  const rows = await Array.fromAsync(readAll('orders', { orderBy: 'ordered_at DESC' }))
  t.equal(rows.length, 150)
  t.equal(new Set(rows.map(({ id }) => id)).size, 150)
  t.same(rows, rows.toSorted((one, other) => one.ordered_at < other.ordered_at ? 1 : one.ordered_at > other.ordered_at ? -1 : other.id - one.id))
  await t.rejects(Array.fromAsync(readAll('orders', { orderBy: 'nope' })), { message: 'COLUMN_NOT_FOUND' })
})
