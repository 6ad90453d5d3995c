/** What documents depend on besides the tables. */
import type { OpenapiInfo } from '../../schemas/options.ts'
import type { PlanLimits } from '../plan/filters/scope.ts'

/** The limits that documents state. */
export type DocumentLimits = Pick<PlanLimits, 'values' | 'pattern' | 'offset'>

export interface DocumentSettings {
  /** Path prefix of the service. */
  readonly prefix: string
  readonly limits: DocumentLimits
  /** Replaces the title, licence and so on. */
  readonly info?: OpenapiInfo | undefined
}
