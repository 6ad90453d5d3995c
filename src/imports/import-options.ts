/** The options of an import, which a request has in its query string. */
import type { OnConflict } from '../../schemas/body.ts'
import { at, invalidBody, type ServiceError, didYouMean } from '../errors.ts'
import { SEPARATORS } from './csv-parser.ts'

export type ImportFormat = 'csv' | 'ndjson'

export interface ImportOptions {
  readonly format: ImportFormat
  readonly onConflict: OnConflict | undefined
  readonly dryRun: boolean
  /** Whether one transaction contains all rows, or each batch has its own. */
  readonly transaction: 'whole' | 'batch'
  /** The character between two cells. */
  readonly separator: string
}

/** The options of each format. */
export const OPTIONS = {
  csv: ['onConflict', 'set', 'dryRun', 'transaction', 'separator'],
  ndjson: ['onConflict', 'set', 'dryRun', 'transaction']
} as const satisfies Readonly<Record<ImportFormat, readonly string[]>>

const refuse = (name: string, message: string): ServiceError => at('', invalidBody(`The option "${name}" ${message}`))

/** Reads the options of a query string, each of which may appear once. @throws INVALID_BODY */
export function readImportOptions (format: ImportFormat, query: Iterable<readonly [string, string]>): ImportOptions {
  const given = new Map<string, string>()
  for (const [name, value] of query) {
    const known: readonly string[] = OPTIONS[format]
    if (!known.includes(name)) throw refuse(name, `is not one of ${known.join(', ')}${didYouMean(name, known)}`)
    if (given.has(name)) throw refuse(name, 'appears twice')
    given.set(name, value)
  }
  const choose = <T>(name: string, choices: ReadonlyMap<string, T>, otherwise: T): T => {
    const value = given.get(name)
    if (value === undefined) return otherwise
    const chosen = choices.get(value)
    if (chosen === undefined) throw refuse(name, `must be one of ${[...choices.keys()].join(' ')}`)
    return chosen
  }
  const transaction = choose('transaction', TRANSACTIONS, 'whole')
  const dryRun = choose('dryRun', DRY_RUN, false)
  if (dryRun && transaction === 'batch') throw refuse('dryRun', 'is not allowed with transaction=batch')
  return {
    format,
    onConflict: readConflict(given),
    dryRun,
    transaction,
    separator: choose('separator', SEPARATORS, ',')
  }
}

const TRANSACTIONS = new Map([['whole', 'whole'], ['batch', 'batch']] as const)
const DRY_RUN = new Map([['true', true]])

function readConflict (given: ReadonlyMap<string, string>): OnConflict | undefined {
  const key = given.get('onConflict')
  const set = given.get('set')
  if (key === undefined) {
    if (set !== undefined) throw refuse('set', 'is only allowed with onConflict')
    return undefined
  }
  return {
    key: namesOf('onConflict', key),
    ...(set !== undefined && { set: set === '' ? [] : namesOf('set', set) })
  }
}

/** Column names that are separated by commas. @throws INVALID_BODY */
function namesOf (option: string, text: string): string[] {
  const names = text.split(',')
  if (names.includes('')) throw refuse(option, 'must name columns, separated by commas')
  if (new Set(names).size < names.length) throw refuse(option, 'names a column twice')
  return names
}
