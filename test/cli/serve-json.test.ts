// night: starts programs
import t from 'tap'
import { serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'

const env = { ROW_QUERY_LOG_FORMAT: 'json' }
const read = (stdout: string) => stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as Record<string, any>)

t.test('with the log format json, the demo writes nothing but JSON, its token included', async (t) => {
  const server = await serveRowQuery(t, { env })
  const [, token = ''] = /"token":"([^"]+)"/.exec(await server.printed(/this is the demo/)) as RegExpExecArray
  t.match(await server.post('/api/demo/orders', { verb: 'select', limit: 1 }, token), { status: 200 })
  const { stdout, stderr } = await server.stop()
  t.match(read(stdout).filter(({ msg }) => msg !== 'request'), [{ msg: /Server listening/ }, { level: 40, msg: 'no database is configured: this is the demo', address: `${server.address}/api/demo`, path: 'data/demo.db' }])
  t.equal(stderr, '')
})

for (const tokens of [{ API_TOKEN: TOKEN }, {}]) {
  t.test(`so does a server with ${Object.keys(tokens).length} tokens`, async (t) => {
    const server = await serveRowQuery(t, { env: { ...env, DATABASE_URL: 'mysql://root@127.0.0.1:1/shop', ...tokens } })
    const isSaid = Object.keys(tokens).length === 0
    if (isSaid) await server.printed(/no token/)
    const { stdout, stderr } = await server.stop()
    t.equal(read(stdout).some(({ level, msg }) => level === 40 && msg === 'no token is configured, so all requests are refused'), isSaid)
    t.equal(stderr, '')
  })
}
