/** What a configuration says to the server alone, checked and with every default; the rest are options of the plugin. */
import { BlockList, isIPv6 } from 'node:net'
import type { Config, RowQueryOptions } from '../../schemas/options.ts'
import { SERVER_DEFAULTS, type HttpOptions, type HttpsOptions, type ServerOptions } from '../../schemas/server.ts'
import { ConfigError } from './config-errors.ts'

export type HttpSettings = Readonly<Required<HttpOptions>>

export interface ServerSettings {
  readonly host: string
  readonly port: number
  readonly prefix: string
  readonly logLevel: string
  /** Where metrics are shown, if not beside the service. */
  readonly metrics: { readonly host: string, readonly port: number } | undefined
  readonly shutdown: ServerOptions['shutdown']
  /** Proxies that are believed about whom they ask for. */
  readonly trustProxy: readonly string[]
  readonly http: HttpSettings
  /** Where the certificate is; without TLS if undefined. */
  readonly https: HttpsOptions | undefined
}

/** As schemas/server.ts says them; a test holds both to each other. */
export const HTTP_DEFAULTS: HttpSettings = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 72_000,
  answerTimeout: 60_000,
  answerRate: 65_536,
  maxHeaderSize: 16_384,
  maxConnections: 10_000
}

/** @throws ConfigError */
export function splitConfig (config: Config): { server: ServerSettings, options: RowQueryOptions } {
  const { host, port, prefix, logLevel, metrics, shutdown, trustProxy = [], http: given, https, ...options } = { ...SERVER_DEFAULTS, ...config }
  const http = { ...HTTP_DEFAULTS, ...given }
  const errors = trustProxy.flatMap((proxy, index) => isNetwork(proxy) ? [] : [`trustProxy.${index}: must be an address, or a network such as 10.0.0.0/8`])
  if (http.headersTimeout >= http.requestTimeout) errors.push('http.headersTimeout: must be less than http.requestTimeout')
  if (errors.length > 0) throw new ConfigError(errors)
  const own = typeof metrics === 'object' ? { host: SERVER_DEFAULTS.host, ...metrics } : undefined
  return { options: { ...options, metrics: metrics !== false }, server: { host, port, prefix, logLevel, metrics: own, shutdown, trustProxy, http, https } }
}

/** Names of networks have been told from addresses by the schema. */
function isNetwork (text: string): boolean {
  if (/^[a-z]{3,}/.test(text)) return true
  const [address = '', prefix = '0'] = text.split('/')
  try {
    new BlockList().addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4')
    return true
  } catch {
    return false
  }
}
