/**
 * A statement is built once for all plans with the same key, which is all but their values, from a copy of the plan
 * that has a slot in place of each value, and Kysely returns the slots in the order of the placeholders. Statements
 * are cached by table and by statement key, with one limit for all tables, and are dropped with their table.
 */
import { type Column, type GrantedAccess, OF_RESULT, statementTable, type Table } from '../catalog/catalog.ts'
import type { Engine } from '../catalog/traits.ts'
import { CacheByTable, getOrCreate } from '../bounded-map.ts'
import { cellsOf, haveView } from '../plan/members.ts'
import { matchesIn } from '../plan/filters/match.ts'
import { existsIn, groupTables } from '../plan/filters/scope.ts'
import {
  type ComputedColumn, type Condition, type CountPlan, type DeletePlan, type InsertPlan, isRelated,
  type JsonPart, type JsonTest, type Match, type Page, type Plan, type SelectPlan, type UpdatePlan
} from '../plan/plan.ts'
import { rowKeysOf } from '../plan/row-keys.ts'
import { factsOf } from '../plan/writes.ts'
import type { Cell } from '../types/column-type.ts'
import { integerType } from '../types/exact-numbers.ts'
import type { BuiltStatement } from './builder.ts'
import { compileCount, compileGroups } from './compile-groups.ts'
import { compileSelect, confirmationsOf, describeCells, isEquality } from './compile-select.ts'
import { compileDelete, compileUpdate } from './compile-write.ts'
import { needSecondForm } from '../plan/second-form.ts'
import { Slot, type Template, type Statement } from './statement.ts'

/** What a property of plans is to a key: its own code, and whether it contains values. */
interface Property { readonly code: number, readonly isValue: boolean }

/** The names of each type of a union. */
type NamesOf<T> = T extends unknown ? keyof T : never

/** Lists too, whose length belongs to the key. */
const VALUES = new Set<string>([
  'parameter', 'parameters', 'low', 'high', 'pattern', 'bits', 'jsonPath', 'limit', 'read', 'offset'
] satisfies Array<NamesOf<Condition | JsonTest | JsonPart | SelectPlan | Page>>)

/**
 * They do not change the statement: they belong to the execution of a plan, or follow for a computed column from its
 * function and its source.
 */
const APART: ReadonlyArray<NamesOf<SelectPlan | UpdatePlan | ComputedColumn | Match>> = [
  'inTransaction', 'foreignKeyChecks', 'afterWrite', 'total', 'expect', 'maximum', 'returning', 'dryRun', 'keyed',
  'type', 'sql', 'path'
]

/** The properties by name. Plans have some dozens of names, each of which the service has chosen. */
const properties = new Map<string, Property | null>(APART.map((name) => [name, null]))

function addProperty (name: string): Property {
  const property = { code: 0xc0 + properties.size, isValue: VALUES.has(name) }
  properties.set(name, property)
  return property
}

/** A number of its own for each table and column of the process, whatever their names. */
const ids = new WeakMap<object, number>()
let lastId = 0

const idOf = (object: object): number => getOrCreate(ids, object, () => ++lastId)

/** The list of the columns has another id. */
function idOfTable (table: Table): number {
  const shared = statementTable(table)
  idOf(shared.columnList)
  return idOf(shared)
}

type Node = Readonly<Record<string, unknown>>

// The parts of a key. What follows one has a length that is known, or stands before it, or ends with its own code, so
// that different plans have different keys.
const [LIST, END_OF_LIST, END_OF_OBJECT, VALUE, VALUES_OF_LIST, ID, TEXT, OTHER, NAMED] = [...'[]}?*#:=@']
  .map((part) => part.charCodeAt(0)) as [number, number, number, number, number, number, number, number, number]

/** Of a key that is being written: for a text that grows, V8 would keep 32 bytes for each part. */
let codes = new Uint16Array(1024)
/** The room in it before each part, beside a text. */
const ROOM = 16

/** Writes the key of a plan, collects its values and, if needed, makes a copy with slots, in one pass. */
class Walk {
  readonly values: Cell[] = []
  readonly #isCopy: boolean
  /** The nodes to which several parts of a plan refer, with their copies. */
  #named: Map<object, unknown> | undefined
  #length = 0

  constructor (isCopy: boolean) {
    this.#isCopy = isCopy
  }

  get key (): string {
    return Buffer.from(codes.buffer, 0, this.#length * codes.BYTES_PER_ELEMENT).toString('utf16le')
  }

  #grow (room: number): void {
    const larger = new Uint16Array(2 * codes.length + room)
    larger.set(codes)
    codes = larger
  }

  visit (node: unknown): unknown {
    let part = ID
    let number: number
    let text = ''
    if (typeof node !== 'object' || node === null) {
      part = typeof node === 'string' ? TEXT : OTHER
      text = String(node)
      number = text.length
    } else {
      const id = ids.get(node)
      if (id !== undefined) number = id
      else if (Array.isArray(node)) return this.#visitList(node)
      else if ('columnList' in node) number = idOfTable(node as Table)
      // several parts of a plan refer to computed columns, members, relevances and columns of members
      else if ('call' in node || 'on' in node || 'match' in node || 'member' in node) {
        return this.#visitNamed(node as Node)
      } else if ('declaration' in node) number = idOf(node)
      // an index of a table beside it
      else if ('parts' in node) {
        this.visit((node as Node)['name'])
        return node
      } else return this.#visitObject(node as Node)
    }
    if (this.#length + ROOM + text.length > codes.length) this.#grow(ROOM + text.length)
    codes[this.#length++] = part
    codes[this.#length++] = number >>> 16
    codes[this.#length++] = number & 0xffff
    for (let index = 0; index < text.length; index++) codes[this.#length++] = text.charCodeAt(index)
    return node
  }

  #number (part: number, number: number): void {
    if (this.#length + ROOM > codes.length) this.#grow(ROOM)
    codes[this.#length++] = part
    codes[this.#length++] = number >>> 16
    codes[this.#length++] = number & 0xffff
  }

  #visitList (list: readonly unknown[]): unknown {
    if (this.#length === codes.length) this.#grow(ROOM)
    codes[this.#length++] = LIST
    const copy: unknown[] | undefined = this.#isCopy ? [] : undefined
    for (let index = 0; index < list.length; index++) {
      const visited = this.visit(list[index])
      if (copy !== undefined) copy.push(visited)
    }
    if (this.#length === codes.length) this.#grow(ROOM)
    codes[this.#length++] = END_OF_LIST
    return copy ?? list
  }

  #visitNamed (node: Node): unknown {
    const named = (this.#named ??= new Map())
    if (!named.has(node)) {
      named.set(node, undefined)
      named.set(node, this.#visitObject(node))
    } else this.#number(NAMED, [...named.keys()].indexOf(node))
    return named.get(node)
  }

  #visitObject (node: Node): unknown {
    const copy: Record<string, unknown> | undefined = this.#isCopy ? {} : undefined
    for (const name in node) {
      const value = node[name]
      let visited = value
      let property = value === undefined ? null : properties.get(name)
      if (property === undefined) property = addProperty(name)
      if (property !== null) {
        if (this.#length + ROOM > codes.length) this.#grow(ROOM)
        codes[this.#length++] = property.code
        visited = property.isValue ? this.#take(value) : this.visit(value)
      }
      if (copy !== undefined) copy[name] = visited
    }
    if (this.#length === codes.length) this.#grow(ROOM)
    codes[this.#length++] = END_OF_OBJECT
    return copy ?? node
  }

  /** A value, or a list of them. */
  #take (value: unknown): unknown {
    const first = this.values.length
    if (!Array.isArray(value)) {
      codes[this.#length++] = VALUE
      this.values.push(value as Cell)
      return this.#isCopy ? new Slot(first) : value
    }
    this.#number(VALUES_OF_LIST, value.length)
    for (let index = 0; index < value.length; index++) this.values.push(value[index])
    return this.#isCopy ? value.map((_, index) => new Slot(first + index)) : value
  }
}

export function keyOf (plan: object): { readonly key: string, readonly values: readonly Cell[] } {
  const walk = new Walk(false)
  walk.visit(plan)
  return { key: walk.key, values: walk.values }
}

export interface StatementCounts { cached: number, built: number }

/** Longer texts are not cached: a list of ten thousand values is rarely sent twice with the same length. */
const MAX_LENGTH = 10_000

/**
 * Estimated for V8: two bytes per character because of the column keys, a string for each piece, and an entry of the
 * map.
 */
function sizeOf (key: string, { sql, pieces }: Pick<Template, 'sql' | 'pieces'>): number {
  return 250 + 2 * key.length + 2 * sql.length + 40 * pieces.length
}

/** For all tables of all databases, in bytes: some ten thousand usual statements. */
export const statementCache = new CacheByTable<Template>(16 * 1024 * 1024, sizeOf)

/** Builds the statement if it is not cached, and counts which in `counts`. */
export function findTemplate<P extends { readonly table: Table }> (
  plan: P,
  { counts, key, engine }: { readonly counts: StatementCounts, readonly key: string, readonly engine: Engine },
  build: (plan: P, engine: Engine) => Template
): Template {
  const table = statementTable(plan.table)
  const cached = statementCache.get(table, key)
  counts[cached === undefined ? 'built' : 'cached']++
  if (cached !== undefined) return cached
  const built = build(new Walk(true).visit(plan) as P, engine)
  const isInOrder = built.slots.every((slot, index) => slot instanceof Slot && slot.index === index)
  const template = { ...built, isInOrder }
  if (template.sql.length <= MAX_LENGTH + roomOfRules(plan.table.granted)) statementCache.set(table, key, template)
  return template
}

/** Maximum length of a value of a rule in a statement, twice for texts. */
const VALUE_LENGTH = 100

/** The rules are the same in each of its requests. */
const roomOfRules = ({ rules }: Pick<GrantedAccess, 'rules'> = { rules: [] }): number =>
  rules.flatMap(({ tests }) => tests).reduce((room, test) =>
    room + (test.kind === 'in' ? test.values.length * VALUE_LENGTH : 0), 0)

/** `values`: of the plan, in the order of its key. */
export function fill (
  { slots, isInOrder }: Pick<Template, 'slots' | 'isInOrder'>,
  values: readonly Cell[]
): readonly Cell[] {
  // usually in their order, and thousands
  return isInOrder === true && slots.length === values.length
    ? values
    : slots.map((slot) => slot instanceof Slot ? values[slot.index] as Cell : slot)
}

/** The condition holds all columns of a unique key equal to values. */
function isSingleRow ({ table, condition }: UpdatePlan | DeletePlan): boolean {
  const equal = equalColumns(condition)
  return equal.length > 0 && rowKeysOf(table).some((key) => key.every((column) => equal.includes(column)))
}

/**
 * Without columns that are compared in a form other than the key's, such as JSON of MariaDB, which may equal a value in
 * several rows.
 */
function equalColumns (condition: Condition): readonly Column[] {
  if (condition.kind === 'and') return condition.conditions.flatMap(equalColumns)
  return isEquality(condition) && condition.kind !== 'null' && condition.column.type.comparedColumn === undefined
    ? [condition.column]
    : []
}

/** Of exactly one statement: inserts are divided among statements (compile-insert.ts). */
export type CompiledPlan = Exclude<Plan, InsertPlan> | CountPlan

/** The statement of a plan, with its second form if it has one. Never throws. */
export function compileStatement (
  plan: CompiledPlan,
  engine: Engine,
  counts: StatementCounts = { cached: 0, built: 0 }
): Statement {
  const statement = compileCached(plan, { engine, counts }, describe)
  const { secondForm } = statement
  return secondForm !== undefined && isChange(plan) && mayLeaveRest(plan) ? secondForm() : statement
}

/** Of a plan, or of a part of one, which has no condition of its own and no search. */
type Compiled = Pick<SelectPlan, 'table' | 'isSecondForm'> & { readonly condition?: Condition }

/** `build`: if the statement is not cached. */
export function compileCached<P extends Compiled> (
  plan: P,
  { engine, counts }: { readonly engine: Engine, readonly counts: StatementCounts },
  build: (plan: P, engine: Engine) => Template
): Statement {
  const { key, values } = keyOf(plan)
  const template = findTemplate(plan, { counts, key, engine }, build)
  const { isSearch, hasSecondForm } = template
  const { condition } = plan
  const statement = { ...template, parameters: fill(template, values) }
  if (isSearch !== true && hasSecondForm !== true) return statement
  return {
    ...statement,
    ...isSearch === true && condition !== undefined && { textPath: matchesIn(condition)[0]?.path },
    ...hasSecondForm === true && {
      secondForm: () => compileCached({ ...plan, isSecondForm: true }, { engine, counts }, build)
    }
  }
}

/** Whether a change that fails may not be undone: of a table without transactions, or by a trigger of one. */
function mayLeaveRest ({ table, verb }: UpdatePlan | DeletePlan): boolean {
  const { hasTransactions, seesChanged, seesDeleted } = factsOf(table)
  return !hasTransactions || (verb === 'update' ? seesChanged : seesDeleted)
}

export function buildStatement (plan: CompiledPlan, engine: Engine): BuiltStatement {
  switch (plan.verb) {
    case 'select':
      return plan.groups === undefined ? compileSelect(plan, engine) : compileGroups(plan, plan.groups, engine)
    case 'count': return compileCount(plan, engine)
    case 'update': return compileUpdate(plan, engine)
    case 'delete': return compileDelete(plan, engine)
  }
}

const NONE: readonly Column[] = []
/** The column of a count, with the type that the servers send. */
const COUNT: readonly Column[] = [
  { ...OF_RESULT, name: 'count', type: integerType(64, false), declaration: 'bigint', nullable: false }
]

/** The SQL of numbers of a session of MySQL or MariaDB. */
const NUMBERS = {
  /** The number of the row that the last upsert has found (compile-insert.ts). */
  lastId: 'select last_insert_id() as v0',
  /** The distance between AUTO_INCREMENT numbers. */
  step: 'select @@auto_increment_increment as v0',
  /** The time of the server, in millionths of a second since 1970. */
  clock: "select timestampdiff(microsecond, '1970-01-01', current_timestamp(6)) as v0"
} as const

/** `table`: of the statements beside it, for messages. */
export function compileNumber (name: keyof typeof NUMBERS, table: Table): Statement {
  const sql = NUMBERS[name]
  return {
    verb: 'select',
    table: statementTable(table),
    sql,
    pieces: [sql],
    parameters: [],
    columns: COUNT,
    assigned: NONE,
    confirmations: []
  }
}

const isChange = (plan: CompiledPlan): plan is UpdatePlan | DeletePlan =>
  plan.verb === 'update' || plan.verb === 'delete'

function describe (plan: CompiledPlan, engine: Engine): Template {
  const { verb, condition } = plan
  const built = buildStatement(plan, engine)
  if (verb === 'select' && plan.groups === undefined) {
    const conditions = [condition, ...plan.page?.by === 'position' ? [plan.page.after] : []]
    const { table, order, isSecondForm } = plan
    return describeCells({ table, cells: cellsOf(plan), conditions, order, engine, isSecondForm }, built)
  }
  const table = statementTable(plan.table)
  const groups = verb === 'select' ? plan.groups : undefined
  const grouped = groups === undefined ? [] : groupTables(groups)
  const related = [...existsIn(condition).map((exists) => exists.table), ...grouped]
  const columns = verb === 'select' ? plan.columns : verb === 'count' ? COUNT : NONE
  return {
    verb: verb === 'count' ? 'select' : verb,
    table,
    ...built,
    columns,
    ...columns.some(isRelated) && {
      sources: columns.map((each) => isRelated(each) ? statementTable(each.member.table) : table)
    },
    assigned: verb === 'update' ? plan.assignments.map(({ column }) => column) : NONE,
    confirmations: confirmationsOf(engine, [table, ...related]),
    isSingle: isChange(plan) && isSingleRow(plan),
    isSearch: matchesIn(plan.condition).length > 0,
    isRelated: isChange(plan) && related.length > 0,
    readsView: haveView([table, ...related]),
    hasSecondForm: plan.isSecondForm !== true && needSecondForm([plan.table, ...related])
  }
}
