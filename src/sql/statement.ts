/** What dialects run, with everything that they need for it. */
import type { Column, Table, TriggerEvent } from '../catalog/catalog.ts'
import { type Path, valueOutOfRange } from '../errors.ts'
import { type Cell, hasMoment, isMoment } from '../types/column-type.ts'
import { type Clock, valueAt } from '../types/moment.ts'

/** The common part of all statements with one key (statement-cache.ts). */
export interface CompiledStatement {
  /** A select reads; any other verb writes and may fire triggers of that event. */
  readonly verb: 'select' | TriggerEvent
  readonly table: Table
  /** The whole text with `?` as its placeholders. */
  readonly sql: string
  /** `sql`, cut at its placeholders. It remains the same object while the statement is cached. */
  readonly pieces: readonly string[]
  /** The columns of the rows that a select returns, in their order. */
  readonly columns: readonly Column[]
  /**
   * Set by an insert or update, in this order: their values are the first parameters. Columns of update operators come
   * last.
   */
  readonly assigned: readonly Column[]
  /** Of the tables whose columns this statement uses (`confirmationsOf`). */
  readonly confirmations: readonly Statement[]
  /** What separates the rows of a list in the text; `), (` if omitted. */
  readonly separator?: string | undefined
  /** An update or delete can match at most one row. */
  readonly isSingle?: boolean | undefined
  /** The conditions have `$match`. */
  readonly isSearch?: boolean | undefined
  /** The conditions of a write use rows of other tables. */
  readonly isRelated?: boolean | undefined
  /** What a statement that is about no table does, for messages. */
  readonly does?: string | undefined
  readonly readsView?: boolean | undefined
  /** It uses a table for which there is a second form (src/plan/second-form.ts). */
  readonly hasSecondForm?: boolean | undefined
  /** The tables of the columns, if not all columns belong to `table`. */
  readonly sources?: readonly Table[] | undefined
  /** The rows may come from a UNION, whose columns are sent with other types. */
  readonly isUnion?: true | undefined
  /** The server gives the rows of an insert their numbers, and reports them. */
  readonly isNumbered?: boolean | undefined
  /** The insert updates rows that exist. */
  readonly isUpsert?: boolean | undefined
  /** Whether an upsert writes nothing to rows that exist. */
  readonly isIdle?: boolean | undefined
}

/** Stands for a value of a plan: its index among them (statement-cache.ts). */
export class Slot {
  readonly index: number

  constructor (index: number) {
    this.index = index
  }
}

/** With slots in place of the values of the plan, in the order of the placeholders. */
export interface Template extends CompiledStatement {
  readonly slots: ReadonlyArray<Cell | Slot>
  /** The slots are in the order of all values. */
  readonly isInOrder?: boolean
}

export interface Statement extends CompiledStatement {
  /** The path of `$match`, whose text the database may refuse. */
  readonly textPath?: Path | undefined
  /** The parameters in the order of the placeholders. */
  readonly parameters: readonly Cell[]
  /**
   * For an insert of a list, an upsert, and an update of rows with values of their own: the number of rows. The text is
   * for one row; the parameters are the values of `assigned` for each row, followed by those after the row in the text.
   */
  readonly rows?: number | undefined
  /** The second form, for a statement that a value has made fail. */
  readonly secondForm?: (() => Statement) | undefined
}

/** The value that an insert or update gives to a column; undefined if it gives none. */
export function findAssigned (
  { assigned, parameters }: Pick<Statement, 'assigned' | 'parameters'>,
  column: Column
): Cell | undefined {
  const index = assigned.indexOf(column)
  return index < 0 ? undefined : parameters[index]
}

const WRITE = /^(insert|update)\b/

/** On MySQL by a hint, on MariaDB by a comment that only it executes. To be undone. */
export function withoutForeignKeys (statement: Statement): Statement {
  const change = (text: string): string =>
    text.replace(WRITE, '/*M! set statement foreign_key_checks = 0 for */ $1 /*+ set_var(foreign_key_checks = 0) */')
  const [first = '', ...rest] = statement.pieces
  const { secondForm } = statement
  return {
    ...statement,
    sql: change(statement.sql),
    pieces: [change(first), ...rest],
    ...secondForm && { secondForm: () => withoutForeignKeys(secondForm()) }
  }
}

/**
 * NULL for a moment in filters that its column cannot hold. `readClock` is called if there are moments. @throws
 * VALUE_OUT_OF_RANGE for one in `data`
 */
export function bindCells (cells: readonly Cell[], readClock: () => Clock): readonly Cell[] {
  if (!hasMoment(cells)) return cells
  const clock = readClock()
  return cells.map((cell) => {
    if (!isMoment(cell)) return cell
    const value = valueAt(cell, clock)
    if (value === undefined && cell.use === 'data') throw valueOutOfRange()
    return value ?? null
  })
}
