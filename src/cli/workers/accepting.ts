/**
 * What `node:cluster` leaves undone with the connections that the primary process accepts for its workers. It closes their
 * port only when the last worker does, and a connection on its way to that worker would be neither answered nor closed
 * until the primary process ends. It forgets the connections on their way to a worker that is killed, which would stay open
 * for ever.
 */
import type { ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { Server as HttpServer } from 'node:http'
import type { Server } from 'node:net'

/** A port or a connection, as Node has it. */
interface Handle {
  /** Negative if it is closed. */
  readonly fd: number
  /** Of a port: gives a connection to the next worker. */
  readonly onconnection?: (error: number, connection: Handle) => void
  close (): void
}

/** A server with a private field of Node. */
type ListeningServer = Server & { _handle?: Handle | null }

/** A message by which Node sends a connection to a worker, and that of the worker which has taken it. */
interface ClusterMessage { readonly act?: string, readonly seq?: number, readonly ack?: number }

export class Accepting {
  readonly #ports = new Set<Handle>()

  /** Must be created before the workers start. */
  constructor () {
    subscribe('tracing:net.server.listen:asyncEnd', (message) => {
      const { server } = message as { server: ListeningServer }
      // the port of the metrics belongs to this process
      if (!(server instanceof HttpServer) && server._handle != null) this.#ports.add(server._handle)
    })
  }

  /** Stops accepting connections for the workers. Accepted connections still reach them. */
  end (): void {
    for (const port of this.#ports) port.close()
  }

  /** Gives the connections that a worker has not taken when it ends to another one. Closes them if there is none. */
  follow (worker: ChildProcess): void {
    const sent = new Map<number | undefined, Handle>()
    const send = worker.send.bind(worker) as (...args: readonly unknown[]) => boolean
    worker.send = (message: ClusterMessage, ...rest: readonly unknown[]): boolean => {
      if (message.act === 'newconn') sent.set(message.seq, rest[0] as Handle)
      return send(message, ...rest)
    }
    worker.on('internalMessage', ({ ack }: ClusterMessage) => { sent.delete(ack) })
    // not `disconnect`, which Node emits only when the worker has acknowledged every connection
    worker.once('close', () => {
      for (const connection of sent.values()) this.#giveAway(connection)
    })
  }

  #giveAway (connection: Handle): void {
    const port = [...this.#ports].find(({ fd, onconnection }) => fd >= 0 && onconnection !== undefined)
    if (port?.onconnection === undefined) connection.close()
    else port.onconnection(0, connection)
  }
}
