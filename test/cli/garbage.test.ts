import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { garbageFlags } from '../../src/cli/garbage.ts'

const NODE_22 = '12.4.254.21-node.57'

t.test('this Node knows the flags', async (t) => {
  t.doesNotThrow(() => execFileSync(process.execPath, [...garbageFlags(process.versions.v8), '-e', '0']))
})

t.test('an older V8 is not told what it does not know', async (t) => {
  t.strictSame(garbageFlags(NODE_22), ['--no-allocation-site-pretenuring'])
})

t.test('the documents show the same flags for an app', async (t) => {
  const documents = readFileSync('docs/operations.md', 'utf8')
  t.match(documents, `node ${garbageFlags('13.6').join(' ')} app.js`)
})
