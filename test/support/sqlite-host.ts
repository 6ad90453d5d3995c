/**
 * A process that runs the program of a SQLite session (src/dialects/sqlite/process.ts) for one session after the other:
 * sqlite-processes.ts tells it when one begins and ends. The program is loaded again for each, and finds its arguments,
 * messages and the end of its channel where it would have them in a process of its own.
 */
import { EventEmitter } from 'node:events'
import { END, ENDED, type Begin } from './sqlite-processes.ts'

const { on } = process
let runs = 0
let program = new EventEmitter()
let loading: Promise<unknown> = Promise.resolve()

async function load ({ url, args }: Begin): Promise<void> {
  program = new EventEmitter()
  process.argv = [process.execPath, url, ...args]
  process.on = ((event, listener) => {
    program.on(event, listener)
    return process
  }) as typeof process.on
  try {
    await import(`${url}?${runs++}`)
  } finally {
    process.on = on
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('message', async (message: Begin | typeof END | object) => {
  if (typeof message === 'object' && 'url' in message) return await (loading = load(message))
  await loading
  if (message !== END) return program.emit('message', message)
  program.emit('disconnect')
  program = new EventEmitter()
  process.send?.(ENDED, () => {})
})
