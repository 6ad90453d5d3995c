/** Watches the token file and replaces the tokens when it changes. */
import { readFile } from 'node:fs/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { ConfigError } from '../config-errors.ts'
import type { TokenFile } from './token-file.ts'
import type { StoredToken } from './tokens.ts'

export interface TokenWatch {
  /** Reads the file now. Errors in it are logged. */
  refresh (): Promise<void>
  stop (): void
}

export interface TokenWatchOptions {
  readonly file: TokenFile
  readonly log: FastifyBaseLogger
  readonly onChange: (tokens: readonly StoredToken[]) => void
}

/** Interval between reads in milliseconds: a token that is removed from the file works for at most this long. */
const INTERVAL = 500

/**
 * Compares the content of the file at an interval. Modification times are too coarse, and `fs.watch` misses changes when the file
 * is replaced, is a symbolic link (as in a container) or is on a network disk.
 */
export function watchTokens ({ file, log, onChange }: TokenWatchOptions): TokenWatch {
  let seen: string | undefined | null = null
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const refresh = async (): Promise<void> => {
    const text = await readFile(file.path, 'utf8').catch(() => undefined)
    if (stopped || text === seen) return
    seen = text
    if (text === undefined) return refuse(['tokensFile: cannot be read'])
    try {
      const tokens = file.parse(text)
      onChange(tokens)
      log.info({ tokens: tokens.length }, 'token file read')
    } catch (error) {
      refuse((error as ConfigError).errors)
    }
  }
  const refuse = (errors: readonly string[]): void => log.error({ errors }, 'the token file cannot be used; the previous tokens stay in use')
  const wait = (): void => {
    timer = setTimeout(() => refresh().then(wait), INTERVAL).unref()
  }
  wait()
  return {
    refresh,
    stop () {
      stopped = true
      clearTimeout(timer)
    }
  }
}
