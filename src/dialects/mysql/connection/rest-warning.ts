import { ask, within, type Session } from './session.ts'

/** The warning that changes of tables without transactions remain (ER_WARNING_NOT_COMPLETE_ROLLBACK). */
export const NOT_COMPLETE = 'ER_WARNING_NOT_COMPLETE_ROLLBACK'
const NUMBER = '1196'

/** How long the query may take, in milliseconds. */
const PATIENCE = 5000

/** Whether the server warns that the last statement was undone, by itself or by ROLLBACK, except in tables without transactions. @throws the driver's error, or ETIMEDOUT */
export async function warnsOfRest ({ connection, memory }: Session): Promise<boolean> {
  const warnings = await within(PATIENCE, ask(connection, 'show warnings'))
  memory.free()
  return warnings.some(([, code]) => code === NUMBER)
}
