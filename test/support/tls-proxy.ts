/**
 * Adds TLS to a MySQL server: the proxy handles the TLS request of the client (MySQL manual, "Connection Phase") and
 * forwards the rest. Tests can combine any server with any certificate.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { TestCertificate } from './certificates.ts'

/** The capability flag CLIENT_SSL. */
const CLIENT_SSL = 0x0800
const SSL_REQUEST = 36
const OK = 0
const ERR = 0xff

export interface TlsProxy {
  /** The URL of the server with the proxy's port, and a name of this machine as the host. */
  readonly url: string
  /** Number of connections with TLS. */
  readonly secured: number
  /** Data that clients sent without TLS, other than the TLS request. */
  readonly plain: Buffer[]
  close (): Promise<void>
}

/** Without a certificate, the proxy announces no TLS. */
export async function createTlsProxy (target: string, certificate?: TestCertificate): Promise<TlsProxy> {
  const state = { secured: 0, plain: [] as Buffer[] }
  const sockets = new Set<Socket>()
  const { hostname, port } = new URL(target)
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => {
        client.destroy()
        upstream.destroy()
      })
    }
    upstream.once('data', (greeting: Buffer) => {
      client.write(withTls(greeting, certificate !== undefined))
      if (certificate === undefined) client.on('data', (bytes: Buffer) => { state.plain.push(bytes) })
      else client.once('data', (bytes: Buffer) => secure(client, upstream, bytes, certificate, state))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.hostname = 'localhost'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    get secured () { return state.secured },
    plain: state.plain,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** Sets or clears the capability in the greeting, where it follows the version, the thread id and half of the salt. */
function withTls (greeting: Buffer, has: boolean): Buffer {
  const place = greeting.indexOf(0, 5) + 1 + 4 + 8 + 1
  const capabilities = greeting.readUInt16LE(place)
  greeting.writeUInt16LE(has ? capabilities | CLIENT_SSL : capabilities & ~CLIENT_SSL, place)
  return greeting
}

function secure (client: Socket, upstream: Socket, first: Buffer, { cert, key }: TestCertificate, state: {
  secured: number, plain: Buffer[]
}): void {
  client.pause() // the TLS socket reads the data that is put back
  if (first.length > SSL_REQUEST) client.unshift(first.subarray(SSL_REQUEST))
  const tls = new TLSSocket(client, { isServer: true, cert, key })
  tls.on('error', () => {}).on('secure', () => { state.secured++ })
  // the server has not seen the TLS request, so its sequence numbers are one lower until authentication has succeeded
  let isIn = false
  tls.once('data', (login: Buffer) => {
    login.writeUInt16LE(login.readUInt16LE(4) & ~CLIENT_SSL, 4)
    login[3] = (login[3] as number) - 1
    upstream.write(login)
    tls.on('data', (bytes: Buffer) => {
      if (!isIn) bytes[3] = (bytes[3] as number) - 1
      upstream.write(bytes)
    })
  })
  upstream.on('data', (bytes: Buffer) => {
    if (!isIn) {
      isIn = bytes[4] === OK || bytes[4] === ERR
      bytes[3] = (bytes[3] as number) + 1
    }
    tls.write(bytes)
  })
}
