import { open, rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { ConfigError } from '../config-errors.ts'
import type { RowStream } from '../response/row-stream.ts'

/** How often the progress is shown, in milliseconds. */
const INTERVAL = 500
const MEGABYTE = 1_000_000

/**
 * Writes a stream to standard output or to a file, which appears under its name when it is complete. Shows the progress on a terminal. SIGINT and SIGTERM
 * stop it. @throws ConfigError if the file cannot be created; the error of the stream, or of writing
 */
export async function saveStream (stream: RowStream, output: string | undefined): Promise<void> {
  const stop = (signal: NodeJS.Signals): void => { stream.fail(new Error(`ended by ${signal}`)) }
  const stopProgress = showProgress(stream)
  for (const signal of SIGNALS) process.on(signal, stop)
  try {
    // the process still writes to standard output afterwards
    if (output === undefined) await pipeline(stream.readable, process.stdout, { end: false })
    else await saveToFile(stream, output)
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop)
    stopProgress()
    stream.drop()
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

async function saveToFile ({ readable }: RowStream, output: string): Promise<void> {
  const part = `${output}.${process.pid}.part`
  const file = await open(part, 'wx').catch(({ code }: NodeJS.ErrnoException) => { throw new ConfigError([`--output: ${output} cannot be created (${code})`]) })
  try {
    await pipeline(readable, file.createWriteStream({ flush: true }))
    await rename(part, output)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Returns a function that stops showing the progress. */
function showProgress (stream: RowStream): () => void {
  const { stderr } = process
  if (!stderr.isTTY) return () => {}
  const since = performance.now()
  const show = (end = ''): void => { stderr.write(`\r${describeProgress(stream, performance.now() - since)}\u001b[K${end}`) }
  const timer = setInterval(show, INTERVAL)
  return () => {
    clearInterval(timer)
    show('\n')
  }
}

/** `12,000 rows, 1.4 MB, 24,000 rows/s` */
export function describeProgress ({ passed, bytes }: Pick<RowStream, 'passed' | 'bytes'>, milliseconds: number): string {
  const whole = (number: number): string => Math.round(number).toLocaleString('en-US')
  return `${whole(passed)} rows, ${(bytes / MEGABYTE).toFixed(1)} MB, ${whole(passed / Math.max(milliseconds, 1) * 1000)} rows/s`
}
