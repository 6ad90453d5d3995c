/**
 * The program that has a SQLite file open, in its own process: a statement of SQLite blocks its thread and cannot be
 * interrupted, but a process can be killed. session.ts starts it with the path of the file, and READS_ONLY if it must
 * not write.
 */
import { Connection, toReply } from './connection.ts'
import { READS_ONLY, type Order, type Reply } from './protocol.ts'

/**
 * Signals that a terminal or a supervisor sends to every process of the service, which decides itself when this one
 * ends.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Ignores errors, because the service may have been killed, which `disconnect` reports. */
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
