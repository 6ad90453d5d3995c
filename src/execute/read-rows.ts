/** Reads rows that a write has changed, by their keys. */
import type { Column, Table } from '../catalog/catalog.ts'
import { unsupported, type ServiceError } from '../errors.ts'
import { combine } from '../plan/filters/constants.ts'
import type { Condition } from '../plan/plan.ts'
import { withinRules } from '../plan/rule.ts'
import { rowRefused } from '../plan/rules.ts'
import type { AnswerSink } from '../response/answer-sink.ts'
import type { Value } from '../types/column-type.ts'
import type { Runner } from './runner.ts'

/** Maximum number of keys in one select, and so of comparisons that order each row. All full selects have the same text. */
export const STEP = 100

export interface RowsToRead {
  readonly table: Table
  /** The columns of the answer. */
  readonly columns: readonly Column[]
  /** A unique key. */
  readonly key: readonly Column[]
  /** The values of the key of each row, in the order of the answer. A row may occur more than once. */
  readonly keys: ReadonlyArray<readonly Value[]>
  /** The indexes in `keys` of rows that may be missing. */
  readonly optional?: ReadonlySet<number>
}

/** Writes the rows into the sink. @throws NOT_SUPPORTED, or PERMISSION_DENIED under rules, if a row is not found; what the sink refuses */
export async function readRows (runner: Runner, sink: AnswerSink, { table, columns, key, keys, optional }: RowsToRead): Promise<void> {
  const select = async (conditions: readonly Condition[]): Promise<number> => {
    const before = sink.keptCount
    // rows that the write has left unchanged are not of its snapshot, in which another client may have changed them before the write waited for that one
    await runner.select({ table, columns, lock: 'share', condition: withinRules(table, combine('or', [...conditions])), limit: conditions.length, ...conditions.length > 1 && { sequence: conditions } }, sink)
    return sink.count - before
  }
  sink.forgetRows()
  for (let from = 0; from < keys.length; from += STEP) {
    const conditions = keys.slice(from, from + STEP).map((values) => hasKey(key, values))
    if (await select(conditions) === conditions.length) {
      sink.keepRows()
      continue
    }
    // a select returns a row that occurs twice only once
    for (const [place, condition] of conditions.entries()) {
      if (await select([condition]) === 0 && optional?.has(from + place) !== true) throw notFound(table)
      sink.keepRows()
    }
  }
}

/** A missing row probably does not satisfy the rules, if there are any. */
const notFound = ({ granted }: Table): ServiceError => granted !== undefined && granted.rules.length > 0
  ? rowRefused()
  : unsupported('/returning', 'a row cannot be found after the write: a trigger may have changed its key')

/** The condition of the row with these values of a unique key. */
export const hasKey = (key: readonly Column[], values: readonly Value[]): Condition =>
  combine('and', key.map((column, index) => ({ kind: 'compare', column, operator: '=', parameter: values[index] as Value })))
