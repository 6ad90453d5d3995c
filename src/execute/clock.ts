import type { Table } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { Executor } from '../dialects/dialect.ts'
import { CountSink } from '../response/count-sink.ts'
import { compileClock } from '../sql/compile.ts'
import { fromMicros, systemClock, type Clock } from '../types/moment.ts'

/** Reads the clock of the database in a transaction. That of SQLite is the clock of this machine. */
export async function readClock (tx: Executor, table: Table, { dialect }: Database): Promise<Clock> {
  if (dialect.engine === 'sqlite') return systemClock()
  const sink = new CountSink()
  await tx.run(compileClock(table), sink)
  return fromMicros(BigInt(sink.digits))
}
