#!/usr/bin/env node
/**
 * The program `row-query`. This file must also run on an old version of Node, to say which one is required: it has no
 * static imports and no syntax that is newer than Node 14.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major > 22 || (major === 22 && minor >= 13)) {
  // before the rest, which takes longer to load
  import('./signals.ts').then(({ prepare }) => prepare(process.argv[2])).then(() => import('./run.ts'))
} else {
  process.stderr.write(
    `row-query: Node 22.13 or later is required; this is Node ${process.versions.node} (${process.execPath})\n`
  )
  process.exitCode = 2
}
