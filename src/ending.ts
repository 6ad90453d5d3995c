import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { trackSockets } from './connections.ts'

/** The end of a server, which its clients are to notice before it comes. */
export interface Ending {
  readonly hasBegun: boolean
  /** From now on connections end with their next answer. Waits for load balancers to look elsewhere, so many milliseconds. */
  begin (delay: number): Promise<void>
}

/** How long a connection that was just made may take to bring its first request once the server closes, in milliseconds. */
const FIRST_BYTE = 500

/** No connection may hold up the end: not one that is kept alive after its answer, nor one that nothing was ever sent on. */
export function createEnding (app: FastifyInstance): Ending {
  let hasBegun = false
  const endSilent = trackSilent(app)
  app.addHook('preClose', async () => {
    hasBegun = true
    endSilent()
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (hasBegun) reply.header('connection', 'close')
    done()
  })
  return {
    get hasBegun () { return hasBegun },
    async begin (delay) {
      hasBegun = true
      if (delay > 0) await sleep(delay)
    }
  }
}

/** Node takes a connection without a request for one that is in use. What this returns ends them, a moment later. */
function trackSilent ({ server }: FastifyInstance): () => void {
  const open = trackSockets(server, 'connection')
  return () => {
    setTimeout(() => { for (const socket of open) if (socket.bytesRead === 0) socket.destroy() }, FIRST_BYTE).unref()
  }
}
