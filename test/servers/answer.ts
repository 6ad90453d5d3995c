import { realpathSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import type { Kind } from './program.ts'

/** A server that answers. */
export interface Engine { name: Kind, version: string, url: string }

/** A server of this run: what tests see of it, where it came from, and how it ends. */
export interface Server { engine: Engine, from: string, stop: () => void }

/** Asks a server what it is, and if told so, refuses one that has not this data folder. */
export async function ask (url: string, data?: string): Promise<Engine> {
  const connection = await createConnection({ uri: url, connectTimeout: 5000 })
  try {
    const [rows] = await connection.query<RowDataPacket[]>('SELECT version() AS version, @@datadir AS data')
    if (data !== undefined &&
      realpathSync(rows[0]?.data) !== realpathSync(data)) throw new Error('another server answers there')
    const version = String(rows[0]?.version)
    return {
      name: /mariadb/i.test(version) ? 'mariadb' : 'mysql', version: /^[\d.]+/.exec(version)?.[0] ?? version, url
    }
  } finally {
    connection.destroy()
  }
}

/** Asks again and again until the right server answers; `check` throws when there is no more hope. */
export async function untilItAnswers (
  url: string, seconds: number, data?: string, check: () => void = () => {}
): Promise<Engine> {
  const end = Date.now() + seconds * 1000
  for (;;) {
    try {
      return await ask(url, data)
    } catch (error) {
      check()
      if (Date.now() > end) throw error
      await sleep(20)
    }
  }
}
