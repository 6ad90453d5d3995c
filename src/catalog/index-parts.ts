import type { Index, IndexPart, Table } from './catalog.ts'

/** The parts of an index, with the missing columns of the primary key, which InnoDB appends and both servers use. */
export function partsOf ({ parts, name }: Index, { engine, indexes }: Table): readonly IndexPart[] {
  const primary = indexes[0]
  if (engine !== 'innodb' || primary?.name !== 'PRIMARY' || name === 'PRIMARY' || primary.parts.some(({ prefix }) => prefix)) return parts
  const whole = new Set(parts.filter(({ prefix }) => !prefix).map(({ column }) => column))
  return [...parts, ...primary.parts.filter(({ column }) => !whole.has(column))]
}
