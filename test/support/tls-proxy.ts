/**
 * A MySQL server with TLS: in front of one without, it takes the client's part of the handshake that asks for TLS (MySQL manual,
 * "Connection Phase") and passes on the rest. So every server can be had with every certificate.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { TestCertificate } from './certificates.ts'

/** CLIENT_SSL, one of the capabilities that both sides tell. */
const CLIENT_SSL = 0x0800
const SSL_REQUEST = 36
const OK = 0
const ERR = 0xff

export interface TlsProxy {
  /** The URL of the server with the proxy's port, and a name of this machine as its host. */
  readonly url: string
  /** Connections that became TLS. */
  readonly secured: number
  /** What came from clients without TLS besides the wish for it. */
  readonly plain: Buffer[]
  close (): Promise<void>
}

/** Without a certificate the server says that it has no TLS. */
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

/** The greeting with the capability or without: it follows the version's text, the thread's number and half of the salt. */
function withTls (greeting: Buffer, has: boolean): Buffer {
  const place = greeting.indexOf(0, 5) + 1 + 4 + 8 + 1
  const capabilities = greeting.readUInt16LE(place)
  greeting.writeUInt16LE(has ? capabilities | CLIENT_SSL : capabilities & ~CLIENT_SSL, place)
  return greeting
}

function secure (client: Socket, upstream: Socket, first: Buffer, { cert, key }: TestCertificate, state: { secured: number, plain: Buffer[] }): void {
  client.pause() // what is put back is for the TLS socket to read
  if (first.length > SSL_REQUEST) client.unshift(first.subarray(SSL_REQUEST))
  const tls = new TLSSocket(client, { isServer: true, cert, key })
  tls.on('error', () => {}).on('secure', () => { state.secured++ })
  // The server has not seen the wish for TLS: until it lets the client in, its packets are counted one behind.
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
