import { createReadStream, fstatSync, openSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { getAccess } from '../access/authorize.ts'
import { ConfigError, orThrow } from '../config-errors.ts'
import type { Database } from '../databases/database.ts'
import { isServiceError } from '../errors.ts'
import { type ImportOptions, readImportOptions, Import } from '../imports/run-import.ts'
import { GRACE } from '../response/row-stream.ts'
import { type FlagValues, parseFlags } from './commands.ts'
import { chooseTable, describe, openDatabase, readFormat, showProgress } from './export.ts'
import { stop } from './signals.ts'

/**
 * `row-query import <database> <table>`: inserts the rows of a file or of standard input. Returns the exit code: 1 if
 * not all rows were inserted. @throws ConfigError
 */
export async function importRows (args: string[]): Promise<number> {
  const { values, positionals } = parseFlags('import', args)
  const { settings, grant, config, table } = chooseTable('import', values, positionals)
  const options = readOptions(values)
  const fromLine = readLine(values['from-line'])
  const input = openInput(values.input)
  let database: Database | undefined
  let running: Import | undefined
  try {
    database = await stop.before(openDatabase(config, settings.answerMemory))
    const access = getAccess(new Map([[config.name, database]]), grant, { database: config.name, table })
    // a pipe may be silent for as long as its program computes
    const begun = running = await stop.before(Import.begin({ access, options, limits: settings.limits, fromLine }))
    stop.onStop = (error) => begun.fail(error)
    const stopProgress = showProgress(() => ({ passed: begun.committed.rows, bytes: begun.bytes }))
    const response = await begun.run(() => input).finally(stopProgress)
    const { data } = JSON.parse(response.toString()) as { readonly data: Readonly<Record<string, unknown>> }
    process.stdout.write(`${Object.entries(data).map(([name, value]) => `${name}: ${value}`).join(', ')}\n`)
    return 0
  } catch (error) {
    if (error instanceof ConfigError) throw error
    process.stderr.write(`row-query: ${describeWithLine(error as Error)}\n`)
    if (running !== undefined && options.transaction === 'batch' && running.committed.rows > 0) {
      const { rows, line } = running.committed
      process.stderr.write(`row-query: ${rows} rows up to line ${line} are in; continue with --from-line ${line + 1}\n`)
    }
  } finally {
    input.destroy()
    const closed = database?.close()
    await (stop.error === undefined ? closed : Promise.race([closed, sleep(GRACE)]))
  }
  if (stop.error !== undefined) process.exit(1)
  return 1
}

function describeWithLine (error: Error): string {
  const line = isServiceError(error) ? error.details.find((detail) => detail.line !== undefined)?.line : undefined
  return line === undefined ? describe(error) : `${describe(error)}, line ${line}`
}

/** @throws ConfigError */
function readOptions (values: FlagValues<'import'>): ImportOptions {
  const format = readFormat(values.format)
  const options = {
    onConflict: values['on-conflict'],
    set: values.set,
    transaction: values.transaction,
    separator: values.separator,
    dryRun: values['dry-run'] === true ? 'true' : undefined
  }
  const query = Object.entries(options).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return orThrow(() => readImportOptions(format, query), ({ message }) => new ConfigError([message]))
}

/** @throws ConfigError */
function readLine (text: string | undefined): number {
  const line = Number(text ?? 1)
  if (!Number.isSafeInteger(line) || line < 1) throw new ConfigError(['--from-line: must be a whole number from 1'])
  return line
}

/** Opens the file, or standard input. @throws ConfigError */
function openInput (path: string | undefined): Readable {
  if (path === undefined) return process.stdin
  return orThrow(() => {
    const fd = openSync(path, 'r')
    if (fstatSync(fd).isDirectory()) throw Object.assign(new Error('directory'), { code: 'EISDIR' })
    return createReadStream('', { fd })
  }, ({ code }: NodeJS.ErrnoException) => new ConfigError([`--input: ${path} cannot be read (${code})`]))
}
