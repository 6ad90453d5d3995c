/** The statements that begin and end a transaction or a part of it. */
import type { Statement } from '../../../sql/statement.ts'
import { controlStatement } from '../../control-statement.ts'
import type { Isolation } from '../../dialect.ts'

export const ROLLBACK = 'rollback'

/** If its connection is lost, the outcome is unknown, as with any write. */
export const COMMIT = controlStatement('update', 'commit')

/** Replaces the savepoint of the same name. The status after it shows whether a transaction is open. */
export const setSavepoint = (name: string): Statement => controlStatement('update', `savepoint ${name}`)

/** Sessions are set to REPEATABLE READ (session-settings.ts). */
const SNAPSHOT = [controlStatement('select', 'start transaction with consistent snapshot, read only')]
const REPEATABLE_READ = [controlStatement('select', 'start transaction')]
/** The first of two statements applies only to the next transaction. */
const BEGIN: Readonly<Record<Isolation, readonly Statement[]>> = {
  repeatableRead: REPEATABLE_READ,
  serializable: [controlStatement('select', 'set transaction isolation level serializable'), ...REPEATABLE_READ],
  readCommitted: [controlStatement('select', 'set transaction isolation level read committed'), ...REPEATABLE_READ]
}

/** The statements change nothing, so they may be sent again. */
export function beginStatements ({ readOnly, isolation }: { readonly readOnly: boolean, readonly isolation: Isolation }): readonly Statement[] {
  return readOnly ? SNAPSHOT : BEGIN[isolation]
}
