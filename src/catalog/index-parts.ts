import type { Index, IndexPart, Table } from './catalog.ts'

/** The parts of an index. InnoDB appends the columns of the primary key that it lacks, and both servers use them. */
export function partsOf ({ parts, name }: Index, { engine, indexes }: Table): readonly IndexPart[] {
  const primary = indexes[0]
  if (engine !== 'innodb' || primary?.name !== 'PRIMARY' || name === 'PRIMARY' || primary.parts.some(({ prefix }) => prefix)) return parts
  const whole = new Set(parts.filter(({ prefix }) => !prefix).map(({ column }) => column))
  return [...parts, ...primary.parts.filter(({ column }) => !whole.has(column))]
}
