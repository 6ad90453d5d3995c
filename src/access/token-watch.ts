/** Keeps the tokens in use those of a file while the service runs. */
import { readFile } from 'node:fs/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { ConfigError } from '../config/config-errors.ts'
import type { TokenFile } from './token-file.ts'
import type { StoredToken } from './tokens.ts'

export interface TokenWatch {
  /** Reads the file now. What is wrong with it is logged. */
  refresh (): Promise<void>
  stop (): void
}

export interface TokenWatchOptions {
  readonly file: TokenFile
  readonly log: FastifyBaseLogger
  readonly onChange: (tokens: readonly StoredToken[]) => void
}

/** How long a token that was taken out of the file may still work, in milliseconds. */
const INTERVAL = 500

/**
 * Compares what the file holds, again and again: its times tell too little, and the system's own notices get lost where it is
 * replaced by another, is behind a symbolic link (as in a container), or on a disk of another machine.
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
  const refuse = (errors: readonly string[]): void => log.error({ mistakes: errors }, 'the token file cannot be used: the tokens of before stay in use')
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
