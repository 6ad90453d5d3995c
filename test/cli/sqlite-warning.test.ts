import { once } from 'node:events'
import t from 'tap'
import { silenceSqliteWarning } from '../../src/cli/sqlite-warning.ts'

t.test('only the warning of Node 22 about node:sqlite is suppressed', async (t) => {
  const { emitWarning } = process
  t.teardown(() => { process.emitWarning = emitWarning })
  silenceSqliteWarning()
  const warned = once(process, 'warning')
  process.emitWarning('SQLite is an experimental feature and might change at any time', 'ExperimentalWarning')
  process.emitWarning(new Error('another'))
  t.match(await warned, [{ message: 'another' }])
})
