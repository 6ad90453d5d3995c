import type { MysqlPool } from '../pool/pool.ts'

/** The pools that a select tries, in their order: the replicas that answer, each request beginning with another one, then the primary. */
export function createReaders (primary: MysqlPool, replicas: readonly MysqlPool[]): () => readonly MysqlPool[] {
  const alone = [primary]
  let turn = 0
  return () => {
    if (replicas.length === 0) return alone
    turn = (turn + 1) % replicas.length
    const pools = [...replicas.slice(turn), ...replicas.slice(0, turn)].filter((pool) => {
      // one that failed is tried again, but not at the expense of this request
      if (!pool.isUp) pool.probe()
      return pool.isUp
    })
    return [...pools, primary]
  }
}
