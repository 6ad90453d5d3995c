/** The settings and tables that documents depend on. */
import type { OpenapiInfo } from '../../schemas/options.ts'
import type { ForeignKey } from '../catalog/catalog.ts'
import type { RequestLimits } from '../plan/terms.ts'
import type { RelatedTable } from './related-tables.ts'
import type { VisibleTable } from './visible.ts'

/** The limits that documents state. */
export type DocumentLimits = Pick<RequestLimits, 'values' | 'pattern' | 'offset' | 'operations' | 'include'>

export interface DocumentSettings {
  /** Path prefix of the service. */
  readonly prefix: string
  readonly limits: DocumentLimits
  /** Replaces the title, licence and so on. */
  readonly info?: OpenapiInfo | undefined
}

/** A table in a document. */
export interface Subject extends VisibleTable {
  /** Prefix of its schema names. */
  readonly name: string
  readonly limits: DocumentLimits
  /** The names of tables that filters can relate without `on`, and the prefixes of their schemas. */
  readonly related: ReadonlyArray<{ readonly table: string, readonly name: string }>
  /** Whether the document may name the table and columns that a foreign key refers to. */
  readonly isVisible: (key: ForeignKey) => boolean
  /** The tables that `include` can name without `on`; undefined if a select has no `include`. */
  readonly members: readonly RelatedTable[] | undefined
}
