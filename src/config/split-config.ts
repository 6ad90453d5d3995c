import { BlockList, isIPv6 } from 'node:net'
import { availableParallelism } from 'node:os'
import type { Config, RowQueryOptions } from '../../schemas/options.ts'
import { HttpSchema, ServerSchema, type HttpOptions, type HttpsOptions, type ServerConfig } from '../../schemas/server-settings.ts'
import { ConfigError, succeeds } from '../config-errors.ts'
import { withDefaults, type WithDefaults } from './with-defaults.ts'
import { countWorkers } from './workers.ts'

export type HttpSettings = Readonly<WithDefaults<HttpOptions>>
export const HTTP_DEFAULTS: HttpSettings = withDefaults(HttpSchema, {})

/** The settings that only the server has. */
export interface ServerSettings extends Readonly<Omit<WithDefaults<ServerConfig, 'https'>, 'metrics' | 'requestLog' | 'https' | 'workers'>> {
  /** The number of worker processes; 1 if this process answers the requests. */
  readonly workers: number
  /** The address of the separate port for metrics, if there is one. */
  readonly metrics: { readonly host: string, readonly port: number } | undefined
  readonly https: HttpsOptions | undefined
}

/**
 * Splits a valid configuration into the settings of the server, with defaults, and the options of the plugin. `cores`: the number of workers for
 * "auto". @throws ConfigError
 */
export function splitConfig (config: Config, cores = availableParallelism()): { server: ServerSettings, options: RowQueryOptions } {
  const { host, port, workers: _workers, prefix, logLevel, logFormat, metrics, shutdown, trustProxy, http, https, ...options } = { ...config, ...withDefaults<WithDefaults<ServerConfig, 'https'>>(ServerSchema, config) }
  const errors = trustProxy.flatMap((proxy, index) => isNetwork(proxy) ? [] : [`trustProxy.${index}: must be an IP address, or a network such as 10.0.0.0/8`])
  if (http.headersTimeout >= http.requestTimeout) errors.push('http.headersTimeout: must be less than http.requestTimeout')
  const workers = countWorkers(config, cores)
  errors.push(...workers.errors)
  if (errors.length > 0) throw new ConfigError(errors)
  const server = { host, port, workers: workers.count, prefix, logLevel, logFormat, metrics: typeof metrics === 'object' ? metrics : undefined, shutdown, trustProxy, http, https }
  return { options: { ...options, metrics: metrics !== false }, server }
}

/** Completes the check of the schema, which knows only the names of networks and the characters of addresses. */
function isNetwork (text: string): boolean {
  if (/^[a-z]{3,}/.test(text)) return true
  const [address = '', prefix = '0'] = text.split('/')
  return succeeds(() => new BlockList().addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4'))
}
