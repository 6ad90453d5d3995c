/** The schemas of forms such as `{"$inc": 5}`, and of `returning` and `expect`. */
import { BOUNDS } from '../../schemas/filters.ts'
import type { Column, Table } from '../catalog/catalog.ts'
import type { UpdateForm } from '../types/column-type.ts'
import { anyOf, closedObject, membersOf, refTo, type Schema, type Schemas } from './schema.ts'
import { bare, changedJson, takenSchema } from './value-schema.ts'
import { writableColumns, type VisibleTable } from './visible.ts'

const titleOf = ({ schema }: UpdateForm): string => schema.title as string

/** The forms of a column that are not already its values, as they are for a JSON column. An insert has only those that need no stored value. */
function ownForms ({ type: { holdsJson, forms = [] } }: Column, verb: 'insert' | 'update'): readonly UpdateForm[] {
  return holdsJson === true ? [] : forms.filter(({ sql }) => verb === 'update' || sql === undefined)
}

/** The schema of the values and forms that an insert or update accepts for a column. */
export function changeSchema (column: Column, verb: 'insert' | 'update'): Schema {
  if (column.type.holdsJson === true && verb === 'update') return changedJson(column)
  const taken = takenSchema(column)
  const forms = ownForms(column, verb)
  if (forms.length === 0) return taken
  const { description, 'x-sql-type': declaration, ...value } = taken
  return { ...anyOf([...membersOf(value), ...forms.map((form) => refTo(titleOf(form)))]), ...description !== undefined && { description }, 'x-sql-type': declaration }
}

/** The forms that the writes and filters of these tables accept, by the names of their schemas. */
export function formSchemas (subjects: readonly VisibleTable[]): Schemas {
  const forms = subjects.flatMap(({ table, verbs }) => [
    ...(['insert', 'update'] as const).flatMap((verb) => verbs.includes(verb) ? writableColumns(table, verb).flatMap((column) => ownForms(column, verb)) : []),
    ...verbs.some((verb) => verb !== 'insert') ? [...table.columns.values()].filter(({ type }) => type.moment?.isComparable === true).flatMap((column) => ownForms(column, 'insert')) : []
  ])
  return Object.fromEntries(forms.map((form) => [titleOf(form), closedObject([[form.name, anyOf(membersOf(form.schema).map(bare))]], { required: [form.name], description: form.sql === undefined ? `${String(form.schema.description)}` : `Computes the new value from the stored one: ${form.name}.` })]))
}

/** Names that forms may have in a document. */
export function formNames (tables: readonly Table[]): string[] {
  return tables.flatMap(({ columnList }) => columnList.flatMap((column) => ownForms(column, 'update')).map(titleOf))
}

/** `returning`, with the columns of a table. `name`: the prefix of the table's schema names. */
export function returningSchema (name: string, { description }: Schema): Schema {
  return { anyOf: [{ type: 'array', items: refTo(`${name}Column`), minItems: 1, uniqueItems: true }, { type: 'string', enum: ['*'] }], description }
}

const COUNT: Schema = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

export function expectSchema ({ description }: Schema): Schema {
  return { anyOf: [COUNT, closedObject(BOUNDS.map((name) => [name, COUNT]), { minProperties: 1 })], description }
}
