/**
 * Runs test files one after the other in this process, each as a subtest of tap's root test: loading tap and the
 * service once takes a tenth of the time of a process for each file. runner.ts starts it and names the files, one at a
 * time.
 *
 * `import t from 'tap'` gives a file its own subtest, so that what it tears down goes at its end, and a file that is
 * run by itself (`npx tap test/x.test.ts`) needs no change.
 */
import './without-async-hooks.ts'
import { once } from 'node:events'
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { EVERY_LINE, NEXT, NIGHT, type NextFile } from './protocol.ts'
import { usePackage } from './support/place.ts'
import { lendProcesses } from './support/sqlite-processes.ts'

const subtests = new Map<string, Test>()
const PREFIX = 'tap-of:'
Object.assign(globalThis, { [Symbol.for(PREFIX)]: subtests })

registerHooks({
  resolve: (specifier, context, next) => specifier === 'tap' && subtests.has(context.parentURL ?? '')
    ? { url: `${PREFIX}${context.parentURL}`, format: 'module', shortCircuit: true }
    : next(specifier, context),
  load: (url, context, next) => url.startsWith(PREFIX)
    ? {
        format: 'module',
        shortCircuit: true,
        source: `export default globalThis[Symbol.for('${PREFIX}')].get(${JSON.stringify(url.slice(PREFIX.length))})`
      }
    : next(url, context)
})

usePackage()
if (process.env[NIGHT] === undefined) lendProcesses()
if (process.env[EVERY_LINE] === undefined) await import('./counted-passes.ts')

/** The subtest of the file that runs. */
let current: Test | undefined

/** An error that nothing catches fails the file that runs: tap, without its async hooks, would end the root test. */
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(
    event, (error) => { (current ?? t).fail(`${event}: ${error instanceof Error ? error.stack : String(error)}`) }
  )
}

t.setTimeout(0)
for (;;) {
  process.channel?.ref() // tap releases it
  process.send?.(NEXT)
  const [{ file, timeout }] = await once(process, 'message') as [NextFile]
  if (file === undefined) break
  await t.test(file, { timeout }, async (t) => {
    const url = pathToFileURL(file).href
    current = t as Test
    subtests.set(url, current)
    await import(url)
  })
  current = undefined
}
process.disconnect()
