/** The log of the server: pino, which Fastify creates. */
import Fastify, { type FastifyBaseLogger } from 'fastify'
import { openLogStream, type LogFormat, type LogStream } from './log-stream.ts'

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
