import { findIgnoringCase, type Table, type TableFacts, type TriggerEvent, type Triggers } from './catalog.ts'

const EVENTS: readonly TriggerEvent[] = ['insert', 'update', 'delete']
const NONE: ReadonlySet<string> = new Set()

/** The tables that a statement of this kind writes by triggers, directly or through further triggers, as far as their texts show. */
export const writtenBy = ({ triggers: { written } }: Pick<Table, 'triggers'>, event: TriggerEvent): ReadonlySet<string> => written === undefined ? NONE : new Set(written[event])

/** Adds the tables that triggers write to the facts of tables. */
export function withWrittenTables (tables: readonly TableFacts[]): readonly TableFacts[] {
  const byName = new Map(tables.map((table) => [table.name, table]))
  return tables.map((table) => table.triggers.list.every(({ writes }) => writes === undefined) ? table : { ...table, triggers: { ...table.triggers, written: writtenTables(table, byName) } })
}

function writtenTables (table: TableFacts, byName: ReadonlyMap<string, TableFacts>): NonNullable<Triggers['written']> {
  const [insert, update, delete_] = EVENTS.map((event) => {
    const written = new Set<string>()
    const seen = new Set<string>()
    const fire = ({ name, triggers: { list } }: TableFacts, event: TriggerEvent): void => {
      if (seen.has(`${event} ${name}`)) return
      seen.add(`${event} ${name}`)
      for (const write of list.filter((trigger) => trigger.event === event).flatMap(({ writes = [] }) => writes)) {
        const target = findIgnoringCase(byName, write.table)
        if (target === undefined) continue
        written.add(target.name)
        fire(target, write.event)
      }
    }
    fire(table, event)
    return [...written].sort()
  }) as [string[], string[], string[]]
  return { insert, update, delete: delete_ }
}
