import cluster from 'node:cluster'
import type { WriteStream } from 'node:tty'
import Fastify, { type FastifyBaseLogger, type FastifyServerOptions } from 'fastify'
import type { ServerConfig } from '../../schemas/server-settings.ts'

type CreateChild = () => FastifyBaseLogger

/** A logger that creates the real one with its first line. */
class LazyLogger implements FastifyBaseLogger {
  readonly #create: CreateChild
  #created: FastifyBaseLogger | undefined

  constructor (create: CreateChild) {
    this.#create = create
  }

  get #logger (): FastifyBaseLogger {
    this.#created ??= this.#create()
    return this.#created
  }

  get level (): string { return this.#logger.level }
  set level (level: string) { this.#logger.level = level }
  fatal (...line: [unknown]): void { this.#logger.fatal(...line) }
  error (...line: [unknown]): void { this.#logger.error(...line) }
  warn (...line: [unknown]): void { this.#logger.warn(...line) }
  info (...line: [unknown]): void { this.#logger.info(...line) }
  debug (...line: [unknown]): void { this.#logger.debug(...line) }
  trace (...line: [unknown]): void { this.#logger.trace(...line) }
  silent (...line: [unknown]): void { this.#logger.silent(...line) }
  child (...of: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger { return this.#logger.child(...of) }
}

/**
 * Creates Fastify's child logger of a request with its first line, because few requests use it, and creating it takes
 * about one hundredth of the CPU time of a short request.
 */
export const createRequestLogger: NonNullable<FastifyServerOptions['childLoggerFactory']> = (
  logger,
  bindings,
  options
) => new LazyLogger(() => logger.child(bindings, options))

// The log of the server: the JSON of pino, which Fastify creates, or readable lines for people.

export type LogFormat = NonNullable<ServerConfig['logFormat']>

export interface LogStream { write (line: string): void }

/** The part of standard output that this module needs; a terminal has `isTTY` and colors. */
export type Output = LogStream & Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>

interface LogOptions {
  readonly logLevel: string
  /** Default: json. */
  readonly logFormat?: LogFormat | undefined
  /** Default: standard output. */
  readonly logStream?: LogStream | undefined
}

/** Returns the option `logger` of Fastify. */
export async function loggerOptions ({ logLevel, logFormat = 'json', logStream }: LogOptions) {
  const stream = logStream ?? await openLogStream(logFormat)
  return { level: logLevel, ...(stream !== undefined && { stream }) }
}

/** Creates a log for a process that has no server. */
export async function createLog (options: LogOptions): Promise<FastifyBaseLogger> {
  return Fastify({ logger: await loggerOptions(options) }).log
}

/**
 * Returns undefined for JSON, which pino writes itself. Each line is written before the call returns, so that none is
 * lost when the process exits. pino-pretty is loaded only for readable lines.
 */
export async function openLogStream (
  format: LogFormat,
  output: Output = process.stdout
): Promise<LogStream | undefined> {
  if (format === 'json' || (format === 'auto' && output.isTTY !== true)) return undefined
  const { prettyFactory } = await import('pino-pretty')
  const toText = prettyFactory({
    colorize: output.hasColors?.() ?? false,
    singleLine: true,
    ignore: cluster.isWorker ? 'hostname' : 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l'
  })
  return {
    write: (line) => {
      output.write(toText(withoutControls(line)))
    }
  }
}

/**
 * Replaces control characters in a line of JSON, except those with their own escape, such as `\n`, because names that
 * clients send must not reach the terminal as commands. Pairs of backslashes are skipped.
 */
function withoutControls (line: string): string {
  return line.replace(
    /(\\\\)|\\u00[01][\da-f]|[\u007f-\u009f]/gi,
    (_match, backslashes: string | undefined) => backslashes ?? '\ufffd'
  )
}
