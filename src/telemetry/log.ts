/**
 * The log of the program: the JSON of pino, which Fastify creates, or readable lines for people. What cannot be written
 * must not hold up or end the service.
 */
import { writeSync } from 'node:fs'
import { hostname } from 'node:os'
import type { WriteStream } from 'node:tty'
import Fastify, { type FastifyBaseLogger } from 'fastify'
import type { ServerConfig } from '../../schemas/server-settings.ts'
import { getOrCreate } from '../bounded-map.ts'

/** Bytes of lines that wait until the log can be written. */
const MAX_WAITING = 1024 * 1024
/** Pauses before the next attempt to write; they double from the first to the longest one, in milliseconds. */
const FIRST_PAUSE = 10
const LONGEST_PAUSE = 1000
/** How long the end of the process waits for a reader of the log, in milliseconds. */
const LAST_WAIT = 500

/** Writes as much as is possible without waiting. Returns the number of bytes. @throws the error of the system */
type Write = (bytes: Buffer) => number
type ToText = (line: string) => string

export interface LogStream { write (line: string): void }

let lost = 0

/** Returns the number of lines that could not be written since the process was started. */
export const lostLines = (): number => lost

/**
 * Writes each line before the call returns, so that none is lost when the process ends. If that is not possible, as on
 * a full disk or in a pipe that nobody reads, lines wait up to a maximum length, and more are counted and lost.
 */
export class LogOutput implements LogStream {
  readonly #write: Write
  readonly #toText: ToText
  /** What could not be written yet. */
  #waiting: Buffer[] = []
  #waitingBytes = 0
  /** Lines that were lost since the last line which says so. */
  #lost = 0
  #pause = FIRST_PAUSE
  /** Set while lines wait. */
  #timer: NodeJS.Timeout | undefined

  constructor (write: Write, toText: ToText = (line) => line) {
    this.#write = write
    this.#toText = toText
  }

  /** One line or several. */
  write (lines: string): void {
    const bytes = Buffer.from(this.#toText(lines))
    if (this.#timer !== undefined && this.#waitingBytes + bytes.length > MAX_WAITING) {
      const count = lines.split('\n').length - 1
      this.#lost += count
      lost += count
      return
    }
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (this.#timer !== undefined || this.#send()) return
    this.#timer = setTimeout(this.#sendAgain, this.#pause).unref()
    process.on('exit', this.#end)
  }

  readonly #sendAgain = (): void => {
    if (!this.#send()) {
      this.#timer = setTimeout(this.#sendAgain, this.#pause).unref()
      return
    }
    this.#timer = undefined
    process.off('exit', this.#end)
  }

  /** Writes what waits when the process ends, and gives up if nobody reads it in time. */
  readonly #end = (): void => {
    const until = Date.now() + LAST_WAIT
    while (!this.#send() && Date.now() < until) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FIRST_PAUSE)
    }
  }

  /** Returns whether everything is written. */
  #send (): boolean {
    try {
      while (this.#waitingBytes > 0) {
        const bytes = this.#waiting.length === 1 ? this.#waiting[0] as Buffer : Buffer.concat(this.#waiting)
        this.#waiting = [bytes]
        const written = this.#write(bytes)
        if (written === 0) return false
        this.#pause = FIRST_PAUSE
        const rest = bytes.subarray(written)
        this.#waiting = rest.length === 0 ? [] : [rest]
        this.#waitingBytes = rest.length
        if (rest.length === 0) this.#sayLost()
      }
      return true
    } catch {
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE)
      return false
    }
  }

  #sayLost (): void {
    if (this.#lost === 0) return
    const line = {
      level: 50,
      time: Date.now(),
      pid: process.pid,
      hostname: hostname(),
      lines: this.#lost,
      msg: 'lines were lost because the log could not be written'
    }
    const bytes = Buffer.from(this.#toText(`${JSON.stringify(line)}\n`))
    this.#lost = 0
    this.#waiting = [bytes]
    this.#waitingBytes = bytes.length
  }
}

export type LogFormat = NonNullable<ServerConfig['logFormat']>

interface LogOptions {
  readonly logLevel: string
  /** Default: json. */
  readonly logFormat?: LogFormat | undefined
  /** Default: standard output. */
  readonly logStream?: LogStream | undefined
  /** Whether lines of several processes are written, so that readable ones need the process id. */
  readonly withPid?: boolean
}

/** The option `logger` of Fastify. */
export async function loggerOptions ({ logLevel, logFormat = 'json', logStream, withPid }: LogOptions) {
  return { level: logLevel, stream: logStream ?? await openLogStream(logFormat, process.stdout, { withPid }) }
}

/** Creates a log for a process that has no server. */
export async function createLog (options: LogOptions): Promise<FastifyBaseLogger> {
  return Fastify({ logger: await loggerOptions(options) }).log
}

/** The part of a standard stream that this module needs. A terminal has `isTTY` and colors. */
export type Output = Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>> & { readonly fd?: number }

/** Several logs of a process share an output, so that no line gets into the rest of another one. */
const outputs = new WeakMap<Output, Promise<LogOutput>>()

interface StreamOptions {
  readonly withPid?: boolean | undefined
  /** Default: writes to the file descriptor of the output. */
  readonly write?: Write
}

/** The first call for an output decides about its format. */
export function openLogStream (format: LogFormat, output: Output, options: StreamOptions = {}): Promise<LogOutput> {
  return getOrCreate(outputs, output, () => open(format, output, options))
}

async function open (
  format: LogFormat,
  output: Output,
  { withPid = false, write = (bytes) => writeSync(output.fd as number, bytes) }: StreamOptions
): Promise<LogOutput> {
  const isJson = format === 'json' || (format === 'auto' && output.isTTY !== true)
  return new LogOutput(write, isJson ? undefined : await createPretty(output, withPid))
}

/** Loads pino-pretty, which only readable lines need. */
async function createPretty (output: Output, withPid: boolean): Promise<ToText> {
  const { prettyFactory } = await import('pino-pretty')
  const toText = prettyFactory({
    colorize: output.hasColors?.() ?? false,
    singleLine: true,
    ignore: withPid ? 'hostname' : 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l'
  })
  return (lines) => lines.split(/(?<=\n)/).map((line) => toText(withoutControls(line)) ?? '').join('')
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
