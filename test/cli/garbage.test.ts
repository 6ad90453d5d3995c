import { execFileSync } from 'node:child_process'
import t from 'tap'
import { garbageFlags } from '../../src/cli/garbage.ts'
import { readDocument } from '../support/markdown.ts'

const NODE_22 = '12.4.254.21-node.57'

t.test('this version of Node supports the flags', async (t) => {
  t.doesNotThrow(() => execFileSync(process.execPath, [...garbageFlags(process.versions.v8), '-e', '0']))
})

t.test('an older V8 gets only the flags that it supports', async (t) => {
  t.strictSame(garbageFlags(NODE_22), ['--no-allocation-site-pretenuring'])
})

t.test('the documents show the same flags for an app', async (t) => {
  t.match(readDocument('docs/operations.md'), `node ${garbageFlags('13.6').join(' ')} app.js`)
})
