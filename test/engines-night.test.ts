// night: runs other test files again
/** The laws of values, upserts, writes and pages, on engines derived from MySQL (test/support/engine-rules.ts). */
import { execFile } from 'node:child_process'
import t from 'tap'
import { engines } from './servers/engines.ts'
import { ROOT } from './support/markdown.ts'

const LAWS = ['test/http/values.test.ts', 'test/http/writes-model.test.ts', 'test/http/pages-law.test.ts']
/** TiDB refuses upserts by computed keys, which this file has throughout. */
const UPSERTS = 'test/http/on-conflict.test.ts'

const mysql = (await engines()).find(({ name }) => name === 'mysql')
if (mysql === undefined) t.pass('PASSED OVER, there is no MySQL: the catalog queries of MariaDB are other ones')

for (const [engine, files] of mysql === undefined ? [] : [['Vitess', [...LAWS, UPSERTS]], ['TiDB', LAWS]] as const) {
  t.test(`the laws hold behind ${engine}`, { timeout: 600_000 }, async (t) => {
    const { TEST_ENGINES: _, ...env } = process.env
    const { promise, resolve } = Promise.withResolvers<{ code: unknown, stdout: string }>()
    const options = { cwd: ROOT, env: { ...env, TEST_BEHIND: engine, TEST_MYSQL_URL: mysql?.url } }
    execFile(process.execPath, ['test/run.ts', '--jobs=1', ...files], options, (error, stdout) => {
      resolve({ code: error?.code ?? 0, stdout })
    })
    const { code, stdout } = await promise
    t.equal(code, 0, stdout.slice(-3000))
  })
}
