import { existsSync } from 'node:fs'
import t from 'tap'
import { findSlowFiles } from './marks.ts'

t.test('slow files are found by their marks', async (t) => {
  const files = findSlowFiles()
  t.ok(files.includes('test/http/catalog-refresh.test.ts'))
  t.notOk(files.includes('test/marks.test.ts'))
  t.ok(files.every((file) => existsSync(file)))
})
