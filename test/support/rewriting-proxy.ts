/**
 * A proxy that changes texts between the service and its server, to simulate responses that no available server sends.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { Test } from 'tap'

/** Changes a text without changing its length, because lengths precede it. Bytes are Latin-1 characters. */
export type Rewrite = (text: string) => string

export interface RewritingProxyOptions { readonly toServer?: Rewrite, readonly toClient?: Rewrite }

/** The URL of the server with the proxy's port in it. */
export async function createRewritingProxy (t: Test, target: string, {
  toServer = (text) => text, toClient = (text) => text
}: RewritingProxyOptions): Promise<string> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const pass = (from: Socket, to: Socket, rewrite: Rewrite): void => {
    sockets.add(from)
    from.on('data', (bytes) => {
      const text = rewrite(bytes.toString('latin1'))
      if (text.length !== bytes.length) throw new Error('the length of a packet would change')
      to.write(Buffer.from(text, 'latin1'))
    })
    from.on('error', () => {}).on('close', () => to.destroy())
  }
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    pass(client, upstream, toServer)
    pass(upstream, client, toClient)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return Object.assign(new URL(target), { port: String((server.address() as AddressInfo).port) }).href
}
