/** A plan in a few words: what golden files show of it. What is usual is left out: all columns, 100 rows, any row. */
import type { Column, Table } from '../../src/catalog/catalog.ts'
import { isolationOf } from '../../src/plan/write-options.ts'
import {
  type Assignment, type ComputedColumn, type Conflict, type ForeignKeyCheck, type InsertPlan, isComputed, isRelated,
  type Member, type Page, type Plan, type RowRange, type SelectPlan
} from '../../src/plan/plan.ts'
import { whyOneByOne, wayOf } from '../../src/plan/writes.ts'
import { conditionText, orderText, pairsText, valueText, whereText } from './condition-text.ts'

const namesOf = (columns: readonly Column[]): string => columns.map(({ name }) => name).join(', ')

function sourceText (column: Column): string {
  if (isRelated(column)) return `${column.member.name}.${column.origin.name}`
  if (!isComputed(column)) return column.name
  const { call, source, condition } = column as ComputedColumn
  return `${call}(${source === undefined ? '*' : sourceText(source)}${condition === undefined
    ? ''
    : whereText(condition)})`
}

const resultText = (column: Column): string => {
  const source = sourceText(column)
  return source === column.name ? source : `${column.name} = ${source}`
}

function memberText (member: Member): string {
  const { name, kind, table, on, condition } = member
  const rest = kind === 'many'
    ? [
        member.order.length > 0 && ` order ${orderText(member.order)}`,
        member.limit !== 100 && ` limit ${member.limit}`,
        member.isObject === true && ' as object'
      ]
    : []
  const index = kind === 'one' || member.index === undefined
    ? ''
    : ` by ${member.index.index.name}${member.index.direction === undefined ? '' : ` ${member.index.direction}`}`
  const columns = kind === 'computed'
    ? member.columns.map(resultText)
    : [...columnsOf(member.columns, table), ...member.members.map(memberText)]
  return `${name}: ${kind} ${table.name}[${pairsText(on)}${index}${whereText(condition)}${
    rest.filter((each) => each !== false).join('')}]${columns.length === 0 ? '' : `{${columns.join(', ')}}`}`
}

/** Nothing for all visible ones. */
const columnsOf = (columns: readonly Column[], { visibleColumns }: Table): string[] =>
  namesOf(columns) === namesOf(visibleColumns) ? [] : columns.map(resultText)

const rangeText = ({ least, most }: RowRange): string => `${least} to ${most}`

const pageText = (page: Page): string => page.by === 'offset'
  ? `offset ${page.offset}`
  : `page${whereText(page.after)}${page.orderOnly.length === 0 ? '' : ` reads ${namesOf(page.orderOnly)}`}`

function selectLines (plan: SelectPlan): Array<string | false> {
  const { table, columns, groups, condition, order, limit, read, lock, page, total, expect, members } = plan
  return [
    groups === undefined && columnsOf(columns, table).join(', '),
    groups !== undefined && `groups ${[...groups.by, ...groups.aggregates].map(resultText).join(', ')}${
      groups.members === undefined ? '' : ` of ${groups.members.map(memberText).join(', ')}`}${
      whereText(groups.having).replace('where', 'having')}`,
    ...members?.map(memberText) ?? [],
    whereText(condition).trim(),
    order.length > 0 && `order ${orderText(order)}`,
    page !== undefined && pageText(page),
    (limit !== 100 || (read ?? limit) !== limit) &&
      `limit ${limit}${read === undefined || read === limit ? '' : ` reads ${read}`}`,
    total !== undefined && `total ${total.limit ?? ''}`.trim(),
    expect !== undefined && `expect ${rangeText(expect)}`,
    lock !== undefined && `lock ${lock}`
  ]
}

const assignmentsText = (assignments: readonly Assignment[]): string =>
  assignments.map(({ column, parameter, operator }) =>
    `${column.name} ${operator === undefined ? '=' : operator} ${valueText(parameter)}`).join(', ')

function conflictText ({ key, set, condition }: Conflict): string {
  const what = set.kind === 'columns'
    ? namesOf(set.columns)
    : set.kind === 'assignments'
      ? assignmentsText(set.assignments)
      : `given${set.except === undefined || set.except.size === 0 ? '' : ` except ${namesOf([...set.except])}`}`
  return `on conflict (${namesOf(key)}) set ${what === '' ? 'nothing' : what}${
    condition === undefined ? '' : whereText(condition)}`
}

function insertLines (plan: InsertPlan): Array<string | false> {
  const { rows, conflict, key, isFoundByNumber, outcomes } = plan
  const ways = [...new Set(rows.map((row) => wayOf(plan, row).way))].join(', ')
  const oneByOne = whyOneByOne(plan, rows)
  return [
    ...rows.map(({ columns, parameters, index }) => `row${plan.isList ? ` ${index}` : ''} ` +
      assignmentsText(columns.map((column, place) => ({ column, parameter: parameters[place] as never })))),
    conflict !== undefined && conflictText(conflict),
    conflict !== undefined && `way ${ways}`,
    oneByOne !== undefined && `one by one: ${oneByOne}`,
    key !== undefined && `found by ${namesOf(key)}${isFoundByNumber === true ? ', the number' : ''}`,
    outcomes === true && 'outcomes'
  ]
}

const checkText = ({ key, lookups, all }: ForeignKeyCheck): string => {
  const texts = lookups.map(({ condition, isOwn }) => `${conditionText(condition)}${isOwn ? ' or own' : ''}`)
  return `${key.name}: ${texts.join('; ')}${all === undefined ? '' : `, at once ${conditionText(all)}`}`
}

function linesOf (plan: Plan): Array<string | false> {
  switch (plan.verb) {
    case 'select': return selectLines(plan)
    case 'insert': return insertLines(plan)
    case 'update': return [
      plan.assignments.length > 0 && `set ${assignmentsText(plan.assignments)}`,
      ...plan.keyed?.entries.map(({ values, update }) =>
        `${namesOf(plan.keyed?.key ?? [])} ${values.map((value) => valueText(value)).join(', ')}: set ` +
        `${assignmentsText(update.assignments)}${whereText(update.condition)}`) ?? [],
      whereText(plan.condition).trim(),
      plan.key !== undefined && `found by ${namesOf(plan.key)}`
    ]
    case 'delete': return [whereText(plan.condition).trim()]
  }
}

function changeLines (plan: Exclude<Plan, SelectPlan>): Array<string | false> {
  const { returning, dryRun, afterWrite, foreignKeyChecks, inTransaction } = plan
  return [
    plan.verb !== 'insert' && plan.expect !== undefined && `expect ${rangeText(plan.expect)}`,
    plan.verb !== 'insert' && plan.maximum !== undefined && plan.maximum !== Infinity && `at most ${plan.maximum}`,
    ...foreignKeyChecks?.map((check) => `look up ${checkText(check)}`) ?? [],
    afterWrite !== undefined && `then check ${conditionText(afterWrite.rules)}${
      afterWrite.foreignKeys.map(({ key, rules }) => `, ${key.name}${whereText(rules)}`).join('')}`,
    returning !== undefined &&
      `returning ${[namesOf(returning.columns), ...returning.members?.map(memberText) ?? []].join(', ')}`,
    dryRun === true && 'dry run',
    inTransaction === true && `in a transaction, ${isolationOf(plan)}`
  ]
}

/** Without the table and the verb. */
export function planText (plan: Plan): string {
  const lines = [...linesOf(plan), ...plan.verb === 'select' ? [] : changeLines(plan)]
  return lines.filter((line): line is string => line !== false && line !== '').join('; ') || 'all'
}
