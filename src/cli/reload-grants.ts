/** Reads the tokens and roles of the configuration again, at SIGHUP. */
import { isDeepStrictEqual } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../../schemas/options.ts'
import { ConfigError } from '../config-errors.ts'
import type { Loaded } from '../config/load.ts'
import { resolveSettings } from '../config/settings.ts'
import { splitConfig } from '../config/split-config.ts'

/** The settings that can be replaced while the service runs. */
export type ConfiguredGrants = Pick<Config, 'tokens' | 'roles'>

/** Returns the tokens and roles; undefined if they stay. */
export type ReadGrants = (log: FastifyBaseLogger) => ConfiguredGrants | undefined

/** `running`: the configuration of the start, with whose other settings the tokens and roles are checked. */
export function createGrantReader (running: Config, load: () => Loaded): ReadGrants {
  const { tokens: _tokens, roles: _roles, ...others } = running
  return (log) => {
    try {
      const { config: { tokens, roles, ...changed }, demo } = load()
      const settings = findDifferences(others, changed)
      if (settings.length > 0) log.warn({ settings }, 'settings that a restart applies have changed')
      // the token of the demo is that of the start
      if (demo?.token !== undefined) return undefined
      const grants = { ...(tokens !== undefined && { tokens }), ...(roles !== undefined && { roles }) }
      resolveSettings(splitConfig({ ...others, ...grants }).options)
      log.info({ tokens: tokens?.length ?? 0, roles: Object.keys(roles ?? {}).length }, 'tokens and roles reloaded')
      return grants
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      log.error(
        { errors: error.errors },
        'the configuration cannot be used; the previous tokens and roles stay in use'
      )
      return undefined
    }
  }
}

function findDifferences (one: object, other: object): string[] {
  return Object.keys({ ...one, ...other }).filter(
    (name) => !isDeepStrictEqual(one[name as keyof object], other[name as keyof object])
  )
}
