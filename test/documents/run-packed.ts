/**
 * Runs the blocks of the documents a second time, with the package as it would be published, installed into an empty
 * folder: the tests load its files in place of the source, and start its program (test/support/place.ts). The first
 * time, they run in the clone.
 *
 *     node test/documents/run-packed.ts [files…]
 */
import { spawnSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { atExit } from '../servers/at-exit.ts'
import { createFolder, install, pack } from '../support/package.ts'
import { claims } from './claims.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const removed = { teardown: (remove: () => void) => { atExit(remove) } }
const { tarball } = await pack(removed)
const folder = await install(removed, tarball)
// the package runs on the machine's Node, which may be an older one than that of this repository
const node = createFolder(removed)
symlinkSync(process.execPath, join(node, 'node'))
const env = { ...process.env, TEST_PACKAGE: folder, PATH: `${node}${delimiter}${process.env['PATH']}` }
// test/build packs and installs by itself
const files = [
  ...new Set(claims.flatMap(({ test }) => test === undefined || test.startsWith('test/build/') ? [] : [test]))
]
const named = process.argv.slice(2)
const { status } = spawnSync(process.execPath, ['test/run.ts', ...named.length > 0 ? named : files], {
  cwd: ROOT, env, stdio: 'inherit'
})
process.exit(status ?? 1)
