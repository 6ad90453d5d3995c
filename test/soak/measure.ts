/** Loaded into the service before it starts (`--import`): says what it uses, each time that it is asked. */

export interface Measure {
  /** Bytes, just after garbage was collected. */
  readonly heap: number
  readonly external: number
  readonly rss: number
  /** Sockets, timers and requests to the system that keep a process alive. */
  readonly handles: number
}

process.on('message', () => {
  for (let times = 0; times < 2; times++) globalThis.gc?.()
  const { heapUsed: heap, external, rss } = process.memoryUsage()
  process.send?.({ heap, external, rss, handles: process.getActiveResourcesInfo().length } satisfies Measure)
})
// being measured is no reason to stay alive
process.channel?.unref()
