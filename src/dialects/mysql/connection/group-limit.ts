import { ask, within, type Session } from './session.ts'

/** How long the query may take, in milliseconds. */
const PATIENCE = 5000

/**
 * "Error on session 35. Transaction of size … exceeds specified limit …", of this connection and within the last seconds. The
 * time zone of the column is that of the session.
 */
const EXCEEDED = `select 1 from performance_schema.error_log where error_code = 'MY-011608'
  and data like concat('%session ', connection_id(), '.%') and logged > now(6) - interval 10 second limit 1`

/**
 * Whether Group Replication has refused the last COMMIT because of `group_replication_transaction_size_limit`. Only the log
 * of the server tells, if the account may read it. @throws ETIMEDOUT, or the driver's error if the connection is lost
 */
export async function exceedsGroupLimit ({ connection, memory }: Session): Promise<boolean> {
  const entries = await within(PATIENCE, ask(connection, EXCEEDED).catch((error: { sqlState?: string }) => {
    if (error.sqlState === undefined) throw error
    return []
  }))
  memory.free()
  return entries.length > 0
}
