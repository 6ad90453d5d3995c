/** Versions of MySQL and MariaDB as the servers state them, and the oldest that the service supports. */

export interface ServerVersion {
  readonly product: 'MySQL' | 'MariaDB'
  /** Major, minor and patch number. */
  readonly numbers: readonly [number, number, number]
}

/** MySQL 8.0.19 and MariaDB 10.7: older ones lack functions, syntax and parts of the catalog that the service uses. */
const OLDEST: Record<ServerVersion['product'], readonly [number, number, number]> = { MySQL: [8, 0, 19], MariaDB: [10, 7, 0] }

/** `8.0.36-28`, `10.11.18-MariaDB-log`. Old MariaDB replication made servers state `5.5.5-` before their version, which some proxies keep. */
export function parseServerVersion (text: string): ServerVersion {
  const product = /mariadb/i.test(text) ? 'MariaDB' : 'MySQL'
  const [, ...digits] = /^(?:5\.5\.5-(?=\d+\.))?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text) ?? []
  const [major = 0, minor = 0, patch = 0] = digits.map((number = '0') => Number(number))
  return { product, numbers: [major, minor, patch] }
}

export function isAtLeast ({ numbers }: ServerVersion, oldest: readonly number[]): boolean {
  const index = oldest.findIndex((number, index) => number !== numbers[index])
  return index < 0 || (numbers[index] as number) > (oldest[index] as number)
}

/** Why a server cannot be used, as the text of an error's reason; undefined where it can. */
export function versionProblem (text: string): string | undefined {
  const version = parseServerVersion(text)
  if (isAtLeast(version, OLDEST[version.product])) return undefined
  return `SERVER_TOO_OLD: ${version.product} ${version.numbers.join('.')}, the oldest supported versions are MySQL 8.0.19 and MariaDB 10.7`
}
