/** Parses the versions of MySQL and MariaDB, and knows the oldest that the service supports. */

export interface ServerVersion {
  readonly product: 'MySQL' | 'MariaDB'
  /** Major, minor and patch number. */
  readonly numbers: readonly [number, number, number]
}

/** MySQL 8.0.19 and MariaDB 10.7: older versions lack functions, syntax and parts of the catalog that the service uses. */
const OLDEST: Record<ServerVersion['product'], readonly [number, number, number]> = { MySQL: [8, 0, 19], MariaDB: [10, 7, 0] }

/** Parses `8.0.36-28` or `10.11.18-MariaDB-log`. For old replication, MariaDB prefixed its version with `5.5.5-`, which some proxies keep. */
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

/** The reason of the error if a server cannot be used; undefined if it can. */
export function versionProblem (text: string): string | undefined {
  const version = parseServerVersion(text)
  if (isAtLeast(version, OLDEST[version.product])) return undefined
  return `SERVER_TOO_OLD: ${version.product} ${version.numbers.join('.')}, the oldest supported versions are MySQL 8.0.19 and MariaDB 10.7`
}
