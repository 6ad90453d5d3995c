import type { Table } from '../catalog/catalog.ts'
import { compileClock } from '../sql/compile.ts'
import { fromMicros, systemClock, type Clock } from '../types/moment.ts'
import type { Runner } from './runner.ts'

/** Reads the clock of the database in a transaction. SQLite uses the clock of this machine. */
export async function readClock (runner: Runner, table: Table): Promise<Clock> {
  return runner.engine === 'sqlite' ? systemClock() : fromMicros(BigInt(await runner.number(compileClock(table))))
}
