/** The names of the rows that keys refer to, which are shown beside them. */
import { useEffect, useState } from 'preact/hooks'
import { keyOf } from './filter-rows.ts'
import { memberOf, writeLine, type Json, type JsonObject } from './json.ts'
import { useStage } from './stage.tsx'
import type { Table } from './table.ts'

export const keyText = (value: Json): string => typeof value === 'string' ? value : writeLine(value)

/** Keys of which names are looked up at once, for a column. */
const MAX_NAMES = 1000
const MAX_NAME = 40

export type Names = ReadonlyMap<string, ReadonlyMap<string, string>>

/** For each column that refers to a row with a name: its key to that name. */
export function useNames (rows: readonly JsonObject[], columns: readonly string[], table: Table | undefined): Names {
  const { document, service } = useStage()
  const [names, setNames] = useState<Names>(new Map())
  useEffect(() => {
    const controller = new AbortController()
    const look = async (name: string, path: string, [key, label]: readonly [string, string]): Promise<void> => {
      const keys = new Map(rows.map((row) => memberOf(row, name)).filter((value) => value !== null && value !== undefined).map((value) => [keyText(value), value]))
      if (keys.size === 0) return
      const filters = { [keyOf(key)]: { $in: [...keys.values()].slice(0, MAX_NAMES) } }
      const { data } = await service.look(path, writeLine({ verb: 'select', columns: [key, label], filters, limit: MAX_NAMES }), controller.signal)
      const found = (memberOf(data, 'rows') ?? []) as readonly JsonObject[]
      const named = found.flatMap((row): Array<[string, string]> => typeof row[label] === 'string' ? [[keyText(row[key] as Json), row[label].slice(0, MAX_NAME)]] : [])
      setNames((before) => new Map([...before, [name, new Map(named)]]))
    }
    setNames(new Map())
    for (const { relation: { table: other, on: [[own, key] = ['', '']] }, column } of table?.shownNames() ?? []) {
      const path = document.table(other)?.path
      if (path !== undefined && columns.includes(own) && column !== key) look(own, path, [key, column]).catch(() => {})
    }
    return () => controller.abort()
  }, [rows])
  return names
}
