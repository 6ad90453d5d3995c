/** The address by which limits count a client. */
import { isIP, isIPv4 } from 'node:net'

/** An entry of X-Forwarded-For without its port: some proxies write `203.0.113.15:4711` and `[2001:db8::1]:443`. */
export function withoutPort (entry: string): string {
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry) ?? []
  return bracketed ?? dotted ?? entry
}

/**
 * Returns an IPv4 address unchanged. Returns for IPv6 the IPv4 address that a translator or tunnel has put into it, or
 * else the network of 64 bits, because one customer has a whole network. Returns a constant for anything that is not an
 * address, such as a Unix socket.
 */
export function clientAddress (ip: string): string {
  const address = withoutPort(ip)
  if (isIPv4(address)) return address
  if (isIP(address) === 0) return 'unknown'
  const groups = groupsOf(address)
  return findIPv4(groups) ?? (isPrivateTranslation(groups) ? toText(groups) : `${toText(groups.slice(0, 4))}::/64`)
}

/** The eight groups of an IPv6 address. */
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
