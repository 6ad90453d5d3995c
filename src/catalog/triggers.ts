import type { ForeignKey, Table, TableFacts, TriggerEvent, Triggers } from './catalog.ts'

const EVENTS: readonly TriggerEvent[] = ['insert', 'update', 'delete']
const NONE: ReadonlySet<string> = new Set()

/** The tables that a statement of this kind writes by triggers, directly or through further triggers and cascades, as far as the texts of triggers show. */
export const writtenBy = ({ triggers: { written } }: Pick<Table, 'triggers'>, event: TriggerEvent): ReadonlySet<string> => written === undefined ? NONE : new Set(written[event])

/** Finds a table by its name in a definition. */
export type FindTable = (name: string) => TableFacts | undefined

/** Adds the tables that triggers write to the facts of tables, whose foreign keys have the exact names of tables. */
export function withWrittenTables (tables: readonly TableFacts[], find: FindTable): readonly TableFacts[] {
  if (tables.every(({ triggers: { list } }) => list.every(({ writes }) => writes === undefined))) return tables
  const children = childrenOf(tables)
  return tables.map((table) => {
    const written = writtenTables(table, { find, children })
    return EVENTS.every((event) => written[event].length === 0) ? table : { ...table, triggers: { ...table.triggers, written } }
  })
}

/** A table whose foreign key makes it change with the rows that it refers to. */
interface Child { readonly table: TableFacts, readonly cascades: NonNullable<ForeignKey['cascades']> }

/** The tables that change with the rows of another one, by the name of that one. */
function childrenOf (tables: readonly TableFacts[]): ReadonlyMap<string, readonly Child[]> {
  const children = tables.flatMap((table) => table.foreignKeys.flatMap(({ cascades, referencedTable }) => cascades === undefined ? [] : [{ table, cascades, referencedTable }]))
  return Map.groupBy(children, ({ referencedTable }) => referencedTable)
}

interface Tables { readonly find: FindTable, readonly children: ReadonlyMap<string, readonly Child[]> }

function writtenTables (table: TableFacts, { find, children }: Tables): NonNullable<Triggers['written']> {
  const [insert, update, delete_] = EVENTS.map((event) => {
    const written = new Set<string>()
    const seen = new Set<string>()
    const fire = ({ name, triggers: { list } }: TableFacts, event: TriggerEvent): void => {
      if (seen.has(`${event} ${name}`)) return
      seen.add(`${event} ${name}`)
      for (const write of list.filter((trigger) => trigger.event === event).flatMap(({ writes = [] }) => writes)) {
        const target = find(write.table)
        if (target === undefined) continue
        written.add(target.name)
        fire(target, write.event)
      }
      for (const { table: child, cascades } of children.get(name) ?? []) {
        const done = cascades[event]
        if (done !== undefined) fire(child, done)
      }
    }
    fire(table, event)
    return [...written].sort()
  }) as [string[], string[], string[]]
  return { insert, update, delete: delete_ }
}
