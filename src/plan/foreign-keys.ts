/** The rows that a write refers to must satisfy the rules of their tables. */
import type { Column, GrantedAccess, Parent, Rule, Table } from '../catalog/catalog.ts'
import { mayBeNew, permissionDenied } from '../errors.ts'
import { type Moment, type Parameter, type Value, isMoment } from '../types/column-type.ts'
import { mayCompute, mayDefault, mayMix, knownDefault } from './writes.ts'
import { combine } from './filters/scope.ts'
import { valueOr } from './holes.ts'
import type {
  Assignment,
  Condition,
  ForeignKeyCheck,
  InsertPlan,
  Lookup,
  PlannedRow,
  UpdatePlan,
  WrittenForeignKey
} from './plan.ts'
import { onlyValueOf, planRules } from './rule.ts'

/** `index`: in `data`, if that is a list. */
export interface WrittenRow {
  readonly assignments: readonly Assignment[]
  readonly index?: number | undefined
}

export function toWritten ({ index, columns, parameters }: PlannedRow): WrittenRow {
  return {
    index,
    assignments: columns.map((column, index) => ({ column, parameter: parameters[index] as Parameter | Moment }))
  }
}

/**
 * `beforeWrite`: their values are known before the write; `afterWrite`, `foreignKeys`: only the written rows show them.
 * @throws PERMISSION_DENIED for claims that cannot be used
 */
export function divideParents (
  plan: InsertPlan | UpdatePlan,
  granted: GrantedAccess
): {
    readonly beforeWrite: GrantedAccess
    readonly afterWrite: GrantedAccess
    readonly foreignKeys: readonly WrittenForeignKey[]
  } {
  if (granted.parents.length === 0) return { beforeWrite: granted, afterWrite: granted, foreignKeys: [] }
  const isWritten = ({ key }: Parent): boolean => {
    const columns = key.columns.map((name) => getNamed(granted.base, name))
    return (
      mayCompute(plan, columns) || (plan.verb === 'insert' && (mayMix(plan, columns) || mayDefault(plan, columns)))
    )
  }
  const written = granted.parents.filter(isWritten)
  return {
    beforeWrite: { ...granted, parents: granted.parents.filter((parent) => !written.includes(parent)) },
    afterWrite: { ...granted, parents: written },
    foreignKeys: written.map((parent) => ({
      ...targetOf(parent),
      from: parent.key.columns.map((name) => getNamed(granted.base, name)),
      rules: rulesOf(parent)
    }))
  }
}

/** `given`: the rows of an insert that give every column of the key. */
type Look = 'insert' | 'update' | 'given'

/** @throws PERMISSION_DENIED for claims that cannot be used, and if the value of a key is not known before the write */
export function planForeignKeyChecks (
  verb: Look,
  rows: readonly WrittenRow[],
  granted: GrantedAccess
): ForeignKeyCheck[] {
  return granted.parents.flatMap((parent) => planForeignKeyCheck(verb, rows, parent, granted))
}

/**
 * Refuses values of foreign keys that cannot be checked. What triggers write is not known. @throws PERMISSION_DENIED
 */
export function refuseUnchecked (plan: InsertPlan | UpdatePlan, { base, unchecked }: GrantedAccess): void {
  const conflict = plan.verb === 'update' ? undefined : plan.conflict
  const changed =
    plan.verb === 'update' ? plan.assignments : conflict?.set.kind === 'assignments' ? conflict.set.assignments : []
  for (const { columns: names } of unchecked) {
    const columns = names.map((name) => getNamed(base, name))
    const isChanged = columns.some((column) =>
      changed.some((each) => each.column === column && (each.parameter !== null || each.operator !== undefined))
    )
    const isInserted = plan.verb === 'insert' && plan.rows.some((row) => {
      const values = insertedValues(toWritten(row), columns)
      // an upsert keeps the other columns of a row that exists
      return conflict === undefined ? !values.includes(null) : values.some((value) => value !== null)
    })
    if (isChanged || isInserted || columns.some(({ generated }) => generated)) {
      throw mayBeNew(permissionDenied(
        'The grant has rules for the table that a foreign key refers to, and its rows cannot be checked: the key can ' +
        'only be null'
      ))
    }
  }
}

export function foreignKeyCheckOf (
  { key, table, columns, rules }: WrittenForeignKey,
  values: ReadonlyArray<readonly Value[]>
): ForeignKeyCheck {
  const byText = new Map(
    values.map((each): [string, Found] => [textOf(each), { values: each, index: undefined, isOwn: false }])
  )
  return { key, table, columns, ...planLookups({ table, rules }, columns, [...byText.values()]) }
}

const targetOf = ({ key, table }: Parent): Pick<ForeignKeyCheck, 'key' | 'table' | 'columns'> => ({
  key,
  table,
  columns: key.referencedColumns.map((name) => getNamed(table, name))
})

/** Values of a foreign key, before the look-up of their row is planned. */
interface Found { readonly values: readonly Value[], readonly index: number | undefined, readonly isOwn: boolean }

function planForeignKeyCheck (
  verb: Look,
  rows: readonly WrittenRow[],
  parent: Parent,
  { base, rules }: GrantedAccess
): ForeignKeyCheck[] {
  const target = targetOf(parent)
  const { key, table, columns: referenced } = target
  const columns = key.columns.map((name) => getNamed(base, name))
  const writtenKeys = new Set(table === base ? rows.map((row) => textOf(valuesOf(row, referenced))) : [])
  const byText = new Map<string, Found>()
  for (const row of rows) {
    const values = verb === 'insert'
      ? insertedValues(row, columns)
      : verb === 'update' ? updatedValues(row, columns, rules) : valuesOf(row, columns)
    if (values === undefined || values.includes(null) || values.includes(undefined)) continue
    const text = textOf(values)
    if (byText.has(text)) continue
    byText.set(text, { values: values as Value[], index: row.index, isOwn: writtenKeys.has(text) })
  }
  return byText.size === 0
    ? []
    : [{ ...target, ...planLookups({ table, rules: rulesOf(parent) }, referenced, [...byText.values()]) }]
}

function getNamed ({ columns }: Table, name: string): Column {
  const column = columns.get(name)
  if (column === undefined) throw unknownForeignKey()
  return column
}

function planLookups (
  { table, rules }: Pick<WrittenForeignKey, 'table' | 'rules'>,
  referenced: readonly Column[],
  found: readonly Found[]
): Pick<ForeignKeyCheck, 'lookups' | 'all'> {
  const lookups = found.map(({ values, index, isOwn }): Lookup => {
    const equalities = referenced.map((column, index): Condition => ({
      kind: 'compare',
      column,
      operator: '=',
      parameter: values[index] as Value
    }))
    return { condition: combine('and', [...equalities, rules]), index, isOwn }
  })
  const [column] = referenced as [Column]
  // different whole numbers in a unique key identify different rows
  const isCountable =
    lookups.length > 1 &&
    referenced.length === 1 &&
    column.type.wholeNumbers === true &&
    table.uniqueKeys.some(({ columns }) => columns.length === 1 && columns[0] === column.name)
  if (!isCountable) return { lookups }
  const any: Condition = {
    kind: 'in',
    column,
    negated: false,
    parameters: found.map(({ values }) => values[0] as Value)
  }
  return { lookups, all: combine('and', [any, rules]) }
}

function rulesOf ({ rules }: Parent): Condition {
  const bound = rules()
  return bound === undefined ? { kind: 'constant', value: false } : planRules(bound)
}

function valuesOf ({ assignments }: WrittenRow, columns: readonly Column[]): Array<Parameter | undefined> {
  return columns.map((column) => {
    const written = assignments.find((assignment) => assignment.column === column)?.parameter
    // equal values are looked up once
    const parameter = valueOr(written, '')
    // a moment is not known before the write
    if (parameter !== undefined && isMoment(parameter)) throw unknownForeignKey()
    return parameter
  })
}

/** An omitted column has its default, if that is a constant, or NULL. */
function insertedValues (row: WrittenRow, columns: readonly Column[]): Parameter[] {
  return valuesOf(row, columns).map((value, index) => value === undefined ? defaultOf(columns[index] as Column) : value)
}

function defaultOf (column: Column): Parameter {
  const value = knownDefault(column)
  if (value === undefined) throw unknownForeignKey()
  return value
}

/** Undefined if the key is not written. A rule may give the value of a column that is not written. */
function updatedValues (row: WrittenRow, columns: readonly Column[], rules: readonly Rule[]): Parameter[] | undefined {
  const written = row.assignments.filter(({ column }) => columns.includes(column))
  if (written.length === 0 || written.some(({ parameter, operator }) => parameter === null && operator === undefined)) {
    return undefined
  }
  if (written.some(({ operator }) => operator !== undefined)) throw unknownForeignKey()
  return valuesOf(row, columns).map((value, index) => value ?? valueByRule(columns[index] as Column, rules))
}

function valueByRule (column: Column, rules: readonly Rule[]): Parameter {
  const rule = rules.find((each) => each.column === column)
  const value = rule === undefined ? undefined : onlyValueOf(rule)
  if (value === undefined) throw unknownForeignKey()
  return value
}

const unknownForeignKey = () =>
  mayBeNew(permissionDenied('All columns of a foreign key to a table with rules must be given, as plain values'))

/** Equal for equal values of the same columns. */
export function textOf (values: ReadonlyArray<Parameter | undefined>): string {
  return JSON.stringify(values.map((value) => Buffer.isBuffer(value) ? value.toString('base64') : String(value)))
}
