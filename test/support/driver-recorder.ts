/** Records what reaches the drivers of this process: statements with their parameters, whichever the engine is. */
import mysql from 'mysql2'
import { QueryPacket } from '../../src/dialects/mysql/statement-command.ts'
import type { RunOrder } from '../../src/dialects/sqlite/protocol.ts'
import { Session } from '../../src/dialects/sqlite/session.ts'

/** What the service sends for itself, and what only begins and ends a transaction. */
const OF_SERVICE =
  /information_schema|^show |sqlite_schema|pragma|^set |@@hostname|select version|\/\* trial \*\/|limit 0$|^explain /i
const CONTROL = /^(?:begin|start|commit|rollback|savepoint|release)\b/i

/** `take`: returns the statements of requests since the last call. */
export function recordDrivers (): { take (): string[], stop (): void } {
  let sent: string[] = []
  const add = (sql: string, parameters = ''): void => {
    if (!OF_SERVICE.test(sql) && !CONTROL.test(sql)) sent.push(`${sql} ${parameters}`)
  }
  const { ask } = Session.prototype
  Session.prototype.ask = function (order) {
    if (order.kind === 'run' || order.kind === 'read') {
      add(order.sql, JSON.stringify([order.parameters, (order as RunOrder).rows?.count], toExact))
    }
    return ask.call(this, order)
  }
  const prototype = mysql.Connection.prototype as unknown as { writePacket: (packet: unknown) => void }
  const { writePacket } = prototype
  prototype.writePacket = function (packet) {
    if (packet instanceof QueryPacket) add(packet.buffer.toString('utf8', packet.buffer.length - packet.size + 1))
    writePacket.call(this, packet)
  }
  return {
    take: () => {
      const taken = sent
      sent = []
      return taken
    },
    stop: () => {
      Session.prototype.ask = ask
      prototype.writePacket = writePacket
    }
  }
}

const toExact = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? `${value}n` : Object.is(value, -0) ? '-0' : value
