/** What the service bounds on connections of clients, and whether a client still waits for its response. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import { isIP, isIPv4, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { principalOf, type Grant } from '../access/grant.ts'
import type { Client } from '../dialects/dialect.ts'
import { getOrCreate } from '../bounded-map.ts'
import { limitUnreadBody } from '../request/read-body.ts'
import { OWN_APP } from '../telemetry/record.ts'

/** An entry of X-Forwarded-For may have a port: some proxies write `203.0.113.15:4711` and `[2001:db8::1]:443`. */
export function withoutPort (entry: string): string {
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry) ?? []
  return bracketed ?? dotted ?? entry
}

/**
 * Limits count a client by this address: for IPv6 the IPv4 address that a translator or tunnel has put into it, or else
 * the network of 64 bits, because one customer has a whole network. A constant for anything that is not an address,
 * such as a Unix socket.
 */
export function clientAddress (ip: string): string {
  const address = withoutPort(ip)
  if (isIPv4(address)) return address
  if (isIP(address) === 0) return 'unknown'
  const groups = groupsOf(address)
  return findIPv4(groups) ?? (isPrivateTranslation(groups) ? toText(groups) : `${toText(groups.slice(0, 4))}::/64`)
}

/** Eight, of an IPv6 address. */
function groupsOf (address: string): number[] {
  const [head, tail] = address.replace(/%.*$/, '').split('::').map(readGroups) as [number[], number[]?]
  return tail === undefined ? head : [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

/** `64:ff9b`, or `ffff:192.0.2.1`: the last two groups may be written as an IPv4 address. */
function readGroups (text: string): number[] {
  return text.split(':').filter((group) => group !== '').flatMap((group) => {
    if (!group.includes('.')) return [parseInt(group, 16)]
    const [a, b, c, d] = group.split('.').map(Number) as [number, number, number, number]
    return [a * 256 + b, c * 256 + d]
  })
}

const toText = (groups: readonly number[]): string => groups.map((group) => group.toString(16)).join(':')

/**
 * The prefixes of 96 bits that the IPv4 address follows: mapped (RFC 4291), translated (RFC 2765) and NAT64 (RFC 6052).
 */
const BEFORE_IPV4: ReadonlySet<string> = new Set(['0:0:0:0:0:ffff', '0:0:0:0:ffff:0', '64:ff9b:0:0:0:0'])

function findIPv4 (groups: readonly number[]): string | undefined {
  if (BEFORE_IPV4.has(toText(groups.slice(0, 6)))) return toIPv4(groups.slice(6))
  if (groups[0] === 0x2002) return toIPv4(groups.slice(1, 3)) // 6to4 (RFC 3056)
  // Teredo (RFC 4380)
  if (groups[0] === 0x2001 && groups[1] === 0) return toIPv4(groups.slice(6).map((group) => group ^ 0xffff))
  return undefined
}

/**
 * 64:ff9b:1::/48 (RFC 8215): the position of the IPv4 address depends on the network, so the whole IPv6 address counts.
 */
const isPrivateTranslation = (groups: readonly number[]): boolean => toText(groups.slice(0, 3)) === '64:ff9b:1'

const toIPv4 = (groups: readonly number[]): string => groups.flatMap((group) => [group >> 8, group & 255]).join('.')

// HTTP pipelining: requests that a client sends before it has received the previous response (RFC 9112, section 9.3.2).

/** So many waiting requests pause a connection. Requests that have been read are not counted. */
const MAX_WAITING = 16

/**
 * So many requests may wait on all connections. Beyond that, a connection that sends one more is closed if more than
 * MAX_WAITING wait on it. Node reads all requests of a chunk, which may be two thousand, and each takes 3.5 kB, for a
 * request of 27 bytes.
 */
const MAX_WAITING_IN_ALL = 20_000

interface Waiting { count: number }
const waitingOn = new WeakMap<Socket, Waiting>()
let waitingInAll = 0

/**
 * Delays a request until the previous response has been sent, and to another turn of the event loop. Otherwise a client
 * that does not read could fill the memory with responses, and everybody would wait for a thousand requests that are
 * refused by their headers. Node assigns the socket to a response, and emits `socket`, when the responses before it are
 * finished.
 */
function waitForPreviousResponse ({ socket }: IncomingMessage, response: ServerResponse, done: () => void): void {
  if (response.socket !== null) return done()
  // a hook of the host app has taken longer than the connection: no response before it will be finished
  if (socket.destroyed) return
  const waiting = getOrCreate(waitingOn, socket, () => createWaiting(socket))
  waiting.count++
  waitingInAll++
  if (waiting.count > MAX_WAITING) {
    if (waitingInAll > MAX_WAITING_IN_ALL) socket.destroy()
    else socket.pause()
  }
  response.once('socket', () => {
    forget(waiting, 1)
    if (waiting.count === MAX_WAITING) socket.resume()
    setImmediate(done)
  })
}

function createWaiting (socket: Socket): Waiting {
  const waiting = { count: 0 }
  // Node resumes the socket when it reads the body of the next request
  socket.on('resume', () => { if (waiting.count > MAX_WAITING) socket.pause() })
  socket.once('close', () => forget(waiting, waiting.count))
  return waiting
}

function forget (waiting: Waiting, count: number): void {
  const forgotten = Math.min(count, waiting.count)
  waiting.count -= forgotten
  waitingInAll -= forgotten
}

// Handles requests to change the protocol of their connection, such as to WebSocket or HTTP/2 (RFC 9110, section 7.8),
// to which the service responds as to any other.

/**
 * Ends a connection with the response to such a request. Without a listener for `upgrade`, Node responds in HTTP, but
 * drops the bytes of the next request that have arrived together with its end, and would then read the body of that one
 * as a request. Returns whether a request has come after it, which must not run: Node closes the connection after the
 * response before.
 *
 * The listener sees all requests of the server, which may be for routes of a host app.
 */
function endAfterUpgrade (app: FastifyInstance): (request: IncomingMessage) => boolean {
  const last = new WeakMap<Socket, IncomingMessage>()
  let hasAny = false
  app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!asksForUpgrade(request) || last.has(request.socket)) return
    hasAny = true
    last.set(request.socket, request)
    response.shouldKeepAlive = false
  })
  return (request) => hasAny && (last.get(request.socket) ?? request) !== request
}

/** The number of headers that Node keeps, unless its server has another limit. Later ones may ask for an upgrade. */
const MAX_HEADERS = 2000

function asksForUpgrade ({ headers: { upgrade, connection = '' }, rawHeaders }: IncomingMessage): boolean {
  return (upgrade !== undefined && /upgrade/i.test(connection)) || rawHeaders.length >= MAX_HEADERS * 2
}

/** Bounds pipelined requests, upgrades and bodies that nobody reads. The stand-alone server calls it for all paths. */
export function boundConnections (app: FastifyInstance): void {
  const isAfterUpgrade = endAfterUpgrade(app)
  const isOwnApp = app.hasDecorator(OWN_APP)
  app.addHook('onRequest', (request, reply, done) => {
    if (isAfterUpgrade(request.raw)) return reply.hijack()
    // the stand-alone server does so for all requests
    if (!isOwnApp) limitUnreadBody(request.raw, reply.raw)
    waitForPreviousResponse(request.raw, reply.raw, done)
  })
}

/** It has been sent, or its client has disconnected. The response of HTTP/2 has no `destroyed` of its own. */
export const isClosed = (response: ServerResponse | Http2ServerResponse): boolean =>
  'stream' in response ? response.stream.destroyed : response.destroyed

/** The client that waits for a response. Its disconnection ends the statement. */
export class HttpClient implements Client {
  readonly #response: ServerResponse
  readonly #grant: Grant

  constructor (response: ServerResponse, grant: Grant) {
    this.#response = response
    this.#grant = grant
  }

  get destroyed (): boolean { return isClosed(this.#response) }

  get caller (): string { return principalOf(this.#grant) }
}
