/** What this room gives to the dialects: a statement, and all that running it takes. */
import type { Column, Table, TriggerEvent } from '../catalog/catalog.ts'
import type { Cell } from '../types/column-type.ts'

/** SQL dialects that statements are compiled for. */
export type Engine = 'mysql' | 'sqlite'

/** What all statements of one shape share (shape.ts). */
export interface CompiledStatement {
  /** What the statement does: a select reads, anything else writes and may fire triggers of that event. */
  readonly verb: 'select' | TriggerEvent
  readonly table: Table
  /** The whole text with `?` as its placeholders. */
  readonly sql: string
  /** The same text, cut at its placeholders. One object for as long as the statement is kept. */
  readonly pieces: readonly string[]
  /** The columns of the rows that a select returns, in their order. */
  readonly columns: readonly Column[]
  /** The columns that an insert or update sets, in their order: their values are the first parameters. Columns set by a form come last. */
  readonly assigned: readonly Column[]
  /** Selects the columns whose types have to be confirmed before the statement runs; undefined where there are none. */
  readonly confirmation: Statement | undefined
  /** Set if an update or delete can match one row at most. */
  readonly isSingle?: boolean | undefined
  /** Set if the conditions of a write are about rows of other tables. */
  readonly isRelated?: boolean | undefined
  /** The tables of the columns, where they are not all of `table`. */
  readonly sources?: readonly Table[] | undefined
  /** Whether the rows may come from a UNION, whose columns are sent as other types. */
  readonly isUnion?: true | undefined
  /** Whether an insert updates the rows that exist. */
  readonly isUpsert?: boolean | undefined
  /** For an upsert on SQLite: the text that leaves an existing row as it is. */
  readonly probe?: string | undefined
}

export interface Statement extends CompiledStatement {
  /** In the order of the placeholders. */
  readonly parameters: readonly Cell[]
  /**
   * For an insert of a list, and an upsert: the number of rows. The text is that for one row; the parameters have the values of `assigned` for each row, then
   * those of what follows the row in the text.
   */
  readonly rows?: number | undefined
}

/** The value that an insert or update gives a column; undefined where it gives none. */
export function findAssigned ({ assigned, parameters }: Pick<Statement, 'assigned' | 'parameters'>, column: Column): Cell | undefined {
  const index = assigned.indexOf(column)
  return index < 0 ? undefined : parameters[index]
}
