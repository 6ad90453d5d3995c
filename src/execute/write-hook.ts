import type { Body } from '../../schemas/body.ts'
import type { Grant } from '../access/grant.ts'
import type { Database } from '../databases/database.ts'
import type { Transaction } from '../dialects/dialect.ts'
import type { Plan } from '../plan/plan.ts'

/** A write that has run and is not committed. */
export interface PendingWrite {
  readonly tx: Transaction
  readonly grant: Grant
  readonly database: Database
  readonly plan: Plan
  readonly body: Body
  /** The answer that the client will get. */
  readonly answer: string | Buffer
  readonly dryRun: boolean
}

/** Called in the transaction of each write, before COMMIT. Whatever it throws undoes the write. */
export type WriteHook = (write: PendingWrite) => Promise<void>
