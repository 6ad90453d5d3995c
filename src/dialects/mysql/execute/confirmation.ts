/** The column definitions that a statement expects, and the confirmation of the tables that it uses. */
import type { Column } from '../../../catalog/catalog.ts'
import { getOrCreate } from '../../../get-or-create.ts'
import type { Statement } from '../../../sql/statement.ts'
import { valueClass } from '../../../types/value-classes.ts'
import {
  createDefinitions, type Definitions, type KnownDifferences, readDefinition
} from '../connection/definitions.ts'
import type { MysqlPool } from '../pool/pool.ts'

/** How long the confirmation of a table is valid, in milliseconds. */
const TRUST = 1000

/** Definitions by the pieces of a statement, which remain the same object while the statement is cached. */
export type KnownStatements = WeakMap<readonly string[], Definitions>

/** The definitions that a select expects; undefined for a statement without rows. */
export function definitionsOf (
  known: KnownStatements,
  { verb, pieces, table, sources, columns, isUnion }: Statement,
  differences: KnownDifferences
): Definitions | undefined {
  if (verb !== 'select') return undefined
  return getOrCreate(known, pieces, () =>
    createDefinitions({ table, sources, columns, differences, expected: isUnion === true ? inUnion : inResult })
  )
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

/** The definitions of the columns of a table, in any order and with others, as a confirmation shows them. */
export function tableDefinitions ({ table }: Statement, differences: KnownDifferences): Definitions {
  return {
    columns: [],
    isExpectedIn (_index, bytes, from, end) {
      const definition = readDefinition(bytes, from, end)
      const column = table.columns.get(definition.name)
      const classes = column?.type.sentAs
      if (column === undefined || classes === undefined) return true
      const sent = valueClass(definition)
      return classes.has(sent) || differences.isKnown(table, column, sent)
    }
  }
}

/** The confirmations that must run before a statement, because those of the last second do not include their tables. */
export function missingConfirmations (
  confirmed: MysqlPool['confirmed'],
  { confirmations }: Statement
): readonly Statement[] {
  if (confirmations.length === 0) return confirmations
  const oldest = performance.now() - TRUST
  return confirmations.filter(({ table }) => (confirmed.get(table) ?? -Infinity) <= oldest)
}
