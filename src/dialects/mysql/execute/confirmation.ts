/** The column definitions that a statement expects, and the confirmation of columns that its result does not show. */
import type { Column } from '../../../catalog/catalog.ts'
import { getOrCreate } from '../../../get-or-create.ts'
import type { Statement } from '../../../sql/statement.ts'
import { createDefinitions, type Definitions, type KnownDifferences } from '../connection/definitions.ts'
import type { MysqlPool } from '../pool/pool.ts'

/** How long a confirmation of a column is valid, in milliseconds. */
const TRUST = 1000

/** A statement that returns the definitions of columns and no rows. */
export interface Confirmation {
  readonly statement: Statement
  readonly definitions: Definitions
}

/** The expected results of one statement. */
export interface Expectations {
  /** Undefined for a statement without rows. */
  readonly definitions: Definitions | undefined
  /** Must run before the statement; undefined if the result of the statement shows everything that it depends on. */
  readonly confirmation: Confirmation | undefined
}

/** Expectations by the pieces of a statement, which remain the same object while the statement is cached. */
export type KnownStatements = WeakMap<readonly string[], Expectations>

export function expectationsOf (
  known: KnownStatements,
  statement: Statement,
  differences: KnownDifferences
): Expectations {
  return getOrCreate(known, statement.pieces, () => createExpectations(statement, differences))
}

function createExpectations (
  { verb, table, sources, columns, isUnion, confirmation }: Statement,
  differences: KnownDifferences
): Expectations {
  const definitions =
    verb === 'select'
      ? createDefinitions({ table, sources, columns, differences, expected: isUnion === true ? inUnion : inResult })
      : undefined
  if (confirmation === undefined) return { definitions, confirmation }
  const { columns: confirmed, sources: confirmedSources } = confirmation
  return {
    definitions,
    confirmation: {
      statement: confirmation,
      definitions: createDefinitions({
        table,
        sources: confirmedSources,
        columns: confirmed,
        differences,
        expected: ({ type }) => type.sentAs
      })
    }
  }
}

const inResult = ({ type }: Column): ReadonlySet<string> | undefined => type.selectedAs ?? type.sentAs

/** Value classes that a UNION returns as texts. */
const TEXTS_IN_UNION = ['enum', 'set', 'json']

function inUnion (column: Column): ReadonlySet<string> | undefined {
  const classes = inResult(column)
  return classes !== undefined && TEXTS_IN_UNION.some((each) => classes.has(each))
    ? new Set([...classes, 'text'])
    : classes
}

type Confirmed = MysqlPool['confirmed']

export function isConfirmed (confirmed: Confirmed, { statement: { columns } }: Confirmation): boolean {
  const oldest = performance.now() - TRUST
  return columns.every((column) => (confirmed.get(column) ?? -Infinity) > oldest)
}

/** Records a confirmation. `since`: when it was sent. */
export function confirm (confirmed: Confirmed, { statement: { columns } }: Confirmation, since: number): void {
  for (const column of columns) confirmed.set(column, since)
}
