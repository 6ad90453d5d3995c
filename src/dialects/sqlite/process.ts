/**
 * The program that has a SQLite file open, in a process of its own: a statement of SQLite blocks the thread that runs it and
 * cannot be interrupted there, but a process can be killed. Started by session.ts with the path of the file, and READS_ONLY if nothing is to be written.
 */
import { Connection, toReply } from './connection.ts'
import { READS_ONLY, type Order, type Reply } from './protocol.ts'

/** Signals that a terminal or a supervisor sends to every process of the service: the service decides when this one ends. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The service may have been killed meanwhile: `disconnect` tells. */
const reply = (message: Reply): void => { process.send?.(message, () => {}) }

for (const signal of SIGNALS) process.on(signal, () => {})
try {
  const [, , path, use] = process.argv
  const connection = new Connection(path as string, use === READS_ONLY)
  process.on('message', (order: Order) => reply(connection.reply(order)))
  process.on('disconnect', () => connection.close())
  reply({ isReadOnly: connection.isReadOnly })
} catch (error) {
  reply(toReply(error))
}
