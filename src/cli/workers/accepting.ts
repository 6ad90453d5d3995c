/**
 * Closes the port of the workers in the primary process. `node:cluster` closes it only when the last worker does, and a connection on its way to that
 * worker would be neither answered nor closed until the primary process ends.
 */
import { subscribe } from 'node:diagnostics_channel'
import { Server as HttpServer } from 'node:http'
import type { Server } from 'node:net'

/** A server with a private field of Node. */
type ListeningServer = Server & { _handle?: { close (): void } | null }

/** Must be called before the workers start. Returns a function that stops accepting connections for them; accepted connections still reach them. */
export function trackPorts (): () => void {
  const handles = new Set<{ close (): void }>()
  subscribe('tracing:net.server.listen:asyncEnd', (message) => {
    const { server } = message as { server: ListeningServer }
    // the port of the metrics belongs to this process
    if (!(server instanceof HttpServer) && server._handle != null) handles.add(server._handle)
  })
  return () => handles.forEach((handle) => handle.close())
}
