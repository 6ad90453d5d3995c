/** The log of the server: the JSON of pino, which Fastify creates, or readable lines for people. */
import cluster from 'node:cluster'
import type { WriteStream } from 'node:tty'
import Fastify, { type FastifyBaseLogger } from 'fastify'
import type { ServerConfig } from '../../schemas/server-settings.ts'

export type LogFormat = NonNullable<ServerConfig['logFormat']>

export interface LogStream { write (line: string): void }

/** The part of standard output that this module needs; a terminal has `isTTY` and colors. */
export type Output = LogStream & Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>

export interface LogOptions {
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
 * Returns undefined for JSON, which pino writes itself. Each line is written before the call returns, so that none is lost when the process exits.
 * pino-pretty is loaded only for readable lines.
 */
export async function openLogStream (format: LogFormat, output: Output = process.stdout): Promise<LogStream | undefined> {
  if (format === 'json' || (format === 'auto' && output.isTTY !== true)) return undefined
  const { prettyFactory } = await import('pino-pretty')
  const toText = prettyFactory({ colorize: output.hasColors?.() ?? false, singleLine: true, ignore: cluster.isWorker ? 'hostname' : 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' })
  return { write: (line) => { output.write(toText(withoutControls(line))) } }
}

/**
 * Replaces control characters in a line of JSON, except those with their own escape, such as `\n`, because names that clients send must not reach the
 * terminal as commands. Pairs of backslashes are skipped.
 */
function withoutControls (line: string): string {
  return line.replace(/(\\\\)|\\u00[01][\da-f]|[\u007f-\u009f]/gi, (_match, backslashes: string | undefined) => backslashes ?? '\ufffd')
}
