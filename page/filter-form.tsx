/** The filters of a request as a form: one line for each condition. */
import { useRef, useState } from 'preact/hooks'
import { Icon } from './icons.tsx'
import { isList, writeLine, type Json, type JsonObject } from './json.ts'
import { labelColumn } from './bodies.ts'
import { asOptions, Choice } from './choice.tsx'
import { blankCondition, changeOperator, firstOperatorOf, mayCompareColumns, mayIgnoreCase, MATCH_MODES, needsOperand, OPERATORS, operatorsOf, otherColumnOf, pathOf, pathOperatorsOf, readFilters, RELATED_OPERATORS, saysSame, writeFilters, type Condition, type FilterRow, type Match, type Related, type RelatedOperator } from './filter-rows.ts'
import { MembersInput, Picker, ValueInput } from './record-form.tsx'
import { readSearch } from './search.ts'
import { useStage } from './stage.tsx'
import type { Column, Relation, Table } from './table.ts'
import { exampleOf, fromText, pickerOf, readAgo, toText, DAYS, UNITS, writeAgo } from './values.ts'

interface FilterFormProps {
  readonly table: Table
  readonly filters: Json | undefined
  readonly onChange: (filters: JsonObject | undefined) => void
  /** The place of the filter whose related rows these filters are for, with a point: `2.`; empty for those of the request. */
  readonly within?: string
}

/** How many tables deep filters by related rows go (docs/limits.md). */
const LEVELS = 3

interface Numbered { readonly id: number, readonly row: FilterRow }

export function FilterForm ({ table, filters, onChange, within = '' }: FilterFormProps) {
  const { document: { table: findTable } } = useStage()
  const isDeepest = within.split('.').length > LEVELS
  const relations = isDeepest ? [] : table.relations.filter((relation) => findTable(relation.table)?.verbs.includes('select') === true)
  // related rows are not searched by words
  const indexes = within === '' ? table.indexes : []
  const columns = table.columns.filter((column) => operatorsOf(column).length > 0)
  const first = labelColumn({ ...table, columns }) ?? columns[0]
  const next = useRef(0)
  const number = (row: FilterRow): Numbered => ({ id: next.current++, row })
  const blank = (column = first): FilterRow[] => column === undefined ? [] : [blankCondition(column, firstOperatorOf(column))]
  const read = (): Numbered[] => {
    const rows = readFilters(filters, { ...table, relations, indexes })
    return (rows.length > 0 ? rows : blank()).map(number)
  }
  const [rows, setRows] = useState<Numbered[]>(read)
  const seen = useRef(filters)
  let current = rows
  // the text has changed: rows that say the same stay as they are, so that nothing moves while one types
  if (seen.current !== filters) {
    seen.current = filters
    if (!saysSame(rows.map(({ row }) => row), isEmpty(filters) ? undefined : filters)) setRows(current = read())
  }

  const change = (changed: Numbered[]): void => {
    setRows(changed)
    onChange(writeFilters(changed.map(({ row }) => row)))
  }
  const found = within === '' ? readSearch(table, filters) : undefined
  const search = found?.columns === undefined ? found?.text : undefined
  const replace = (id: number, row: FilterRow): void => change(current.map((each) => each.id === id ? { id, row } : each))

  return (
    <fieldset class='filters'>
      <legend>{within === '' ? 'Filters' : `Rows of ${table.name} where`}</legend>
      {current.map(({ id, row }, index) => (
        <div key={id} class='filter'>
          {'key' in row
            ? row.key === '$or' && search !== undefined
              ? <span class='written token'>“{search}” in any text</span>
              : <code class='written' title='This part is written in the body'>{row.key} {writeLine(row.value).slice(0, 120)}</code>
            : 'relation' in row
              ? <RelatedForm row={row} relations={relations} place={`${within}${index + 1}`} onChange={(changed) => replace(id, changed)} />
              : 'text' in row
                ? <MatchForm row={row} table={table} place={`${within}${index + 1}`} onChange={(changed) => replace(id, changed)} />
                : <ConditionForm table={table} row={row} columns={columns} place={`${within}${index + 1}`} onChange={(changed) => replace(id, changed)} />}
          <button type='button' class='quiet' aria-label={`Remove filter ${within}${index + 1}`} title='Remove' onClick={() => change(current.filter((each) => each.id !== id))}><Icon name='close' /></button>
        </div>
      ))}
      <p class='adds'>
        {first !== undefined && <button type='button' class='quiet add' onClick={() => setRows([...current, ...blank(nextColumn(columns, current) ?? first).map(number)])}><Icon name='plus' />{within === '' ? 'Add a filter' : `Add a filter of ${table.name}`}</button>}
        {indexes[0] !== undefined && <button type='button' class='quiet add' onClick={() => setRows([...current.filter(({ row }) => !isUnfinished(row)), number({ columns: indexes[0] as readonly string[], text: '', mode: 'any' })])}><Icon name='plus' />Search words</button>}
        {relations[0] !== undefined && <button type='button' class='quiet add' onClick={() => change([...current.filter(({ row }) => !isUnfinished(row)), number({ relation: relations[0] as Relation, operator: '$some', filters: undefined })])}><Icon name='plus' />{within === '' ? 'Filter by related rows' : `Filter ${table.name} by related rows`}</button>}
      </p>
    </fieldset>
  )
}

/** Whether a row says nothing yet. */
const isUnfinished = (row: FilterRow): boolean => 'column' in row && row.operand === undefined && needsOperand(row.operator)

const isEmpty = (filters: Json | undefined): boolean => filters !== undefined && filters !== null && typeof filters === 'object' && Object.keys(filters).length === 0

const nextColumn = (columns: readonly Column[], rows: readonly Numbered[]): Column | undefined => columns.find(({ name }) => !rows.some(({ row }) => 'column' in row && row.column === name))

interface RelatedProps {
  readonly row: Related
  readonly relations: readonly Relation[]
  readonly place: string
  readonly onChange: (row: FilterRow) => void
}

function RelatedForm ({ row, relations, place, onChange }: RelatedProps) {
  const { document: { table: findTable } } = useStage()
  const { relation, operator, filters, least = 1 } = row
  const setRelation = (name: string): void => onChange({ relation: relations.find((each) => each.name === name) as Relation, operator, filters: undefined })
  return (
    <div class='related'>
      <p>
        <Choice label={`Operator of filter ${place}`} value={operator} options={Object.entries(RELATED_OPERATORS)} onChoice={(chosen) => onChange({ ...row, operator: chosen as RelatedOperator })} />
        <Choice label={`Related rows of filter ${place}`} value={relation.name} options={asOptions(relations.map(({ name }) => name))} onChoice={setRelation} />
        {operator === '$some' && (
          <label>at least <input type='number' min={1} aria-label={`Least number of rows of filter ${place}`} value={least} onInput={({ currentTarget }) => { if (currentTarget.valueAsNumber >= 1) onChange({ ...row, least: Math.floor(currentTarget.valueAsNumber) }) }} /></label>
        )}
      </p>
      <FilterForm key={relation.name} table={findTable(relation.table) as Table} filters={filters} within={`${place}.`} onChange={(changed) => onChange({ ...row, filters: changed })} />
    </div>
  )
}

function MatchForm ({ row, table: { indexes, matchModes }, place, onChange }: { row: Match, table: Table, place: string, onChange: (row: FilterRow) => void }) {
  const nameOf = (columns: readonly string[]): string => columns.join(', ')
  const chosen = indexes.find((index) => index.every((name) => row.columns.includes(name)) && index.length === row.columns.length) ?? row.columns
  return (
    <span class='parts'>
      <Choice label={`Columns of filter ${place}`} value={nameOf(chosen)} options={asOptions(indexes.map(nameOf))} onChoice={(name) => onChange({ ...row, columns: indexes.find((index) => nameOf(index) === name) ?? chosen })} />
      <Choice label={`Words of filter ${place}`} value={row.mode} options={matchModes.map((mode) => [mode, `has ${MATCH_MODES.get(mode) ?? mode}`])} onChoice={(mode) => onChange({ ...row, mode })} />
      <input type='search' aria-label={`Value of filter ${place}`} placeholder='words' autocomplete='off' value={row.text} onInput={({ currentTarget }) => onChange({ ...row, text: currentTarget.value })} />
    </span>
  )
}

interface ConditionProps {
  readonly table: Table
  readonly row: Condition
  readonly columns: readonly Column[]
  readonly place: string
  readonly onChange: (row: FilterRow) => void
}

/** What stands at a path inside a JSON column. */
const asScalar = (column: Column): Column => ({ ...column, kind: 'scalar', type: '', members: undefined })

function ConditionForm ({ table, row, columns, place, onChange }: ConditionProps) {
  const column = columns.find(({ name }) => name === row.column) as Column
  const operators = operatorsOf(column)
  const { path } = row
  const others = columns.filter(({ name, kind, columnOperators }) => name !== column.name && (columnOperators?.length ?? 0) > 0 && (kind === 'decimal' ? 'integer' : kind) === (column.kind === 'decimal' ? 'integer' : column.kind))
  const other = otherColumnOf(row.operand)
  /** `$at` alone is one that the form cannot show: its operand is JSON. */
  const operator = path === undefined ? row.operator : '$at'
  const setOperator = (chosen: string): void => {
    const blank = blankCondition(column, chosen)
    onChange(blank.path === undefined ? { ...blank, operand: changeOperator(path === undefined ? row.operand : undefined, chosen) } : blank)
  }
  const setColumn = (name: string): void => {
    const chosen = columns.find((each) => each.name === name) as Column
    const operator = path === undefined && operatorsOf(chosen).includes(row.operator) && chosen.kind === column.kind ? row.operator : firstOperatorOf(chosen)
    const kept = path === undefined && chosen.kind === column.kind && chosen.members === column.members ? row.operand : undefined
    const blank = blankCondition(chosen, operator)
    onChange(blank.path === undefined ? { ...blank, operand: changeOperator(kept, operator) } : blank)
  }
  return (
    <span class='parts'>
      <Choice label={`Column of filter ${place}`} value={row.column} options={asOptions(columns.map(({ name }) => name))} onChoice={setColumn} />
      <Choice label={`Operator of filter ${place}`} value={operator} options={named([...operators, ...operators.includes(operator) ? [] : [operator]])} onChoice={setOperator} />
      {path !== undefined && (
        <>
          <input type='text' class='path' aria-label={`Path of filter ${place}`} placeholder='$.size or $.tags[last]' autocomplete='off' spellcheck={false} aria-invalid={path !== '' && !isPath(pathOf(path))} value={path} onInput={({ currentTarget }) => onChange({ ...row, path: currentTarget.value })} />
          <Choice label={`Operator at the path of filter ${place}`} value={row.operator} options={named(pathOperatorsOf(column))} onChoice={(chosen) => onChange({ ...row, operator: chosen, operand: changeOperator(row.operand, chosen) })} />
        </>
      )}
      {other !== undefined && path === undefined && <Choice label={`Value of filter ${place}`} value={other} options={asOptions([...others.map(({ name }) => name), ...others.some(({ name }) => name === other) ? [] : [other]])} onChoice={(name) => onChange({ ...row, operand: { $column: name } })} />}
      {(other === undefined || path !== undefined) && needsOperand(row.operator) && <Operand key={`${row.column} ${operator} ${row.operator}`} table={table} column={path === undefined ? column : asScalar(column)} operator={row.operator} operand={row.operand} label={`Value of filter ${place}`} onOperand={(operand) => onChange({ ...row, operand })} />}
      {path === undefined && mayCompareColumns(column, row.operator) && others.length > 0 && row.isInAnyCase !== true && <button type='button' class='quiet' aria-pressed={otherColumnOf(row.operand) !== undefined} aria-label={`Compare filter ${place} with a column`} title='Compare with another column of the same row' onClick={() => onChange({ ...row, operand: otherColumnOf(row.operand) === undefined ? { $column: others[0]?.name ?? '' } : undefined })}><Icon name='table' /></button>}
      {path === undefined && otherColumnOf(row.operand) === undefined && mayIgnoreCase(column, row.operator) && <label><input type='checkbox' checked={row.isInAnyCase === true} onChange={({ currentTarget }) => { const { isInAnyCase, ...others } = row; onChange(currentTarget.checked ? { ...others, isInAnyCase: true } : others) }} /> in any letter case</label>}
    </span>
  )
}

const named = (operators: readonly string[]): Array<[string, string]> => operators.map((operator) => [operator, OPERATORS.get(operator) ?? operator])

/** Names, keys as JSON strings, and indexes, after `$`. */
const isPath = (path: string): boolean => /^\$(\.[a-z_]\w*|\."([^"\\]|\\.)*"|\[\d+\])*$/i.test(path)

interface OperandProps {
  readonly table: Table
  readonly column: Column
  readonly operator: string
  readonly operand: Json | undefined
  readonly label: string
  readonly onOperand: (operand: Json | undefined) => void
}

const TEXT = { kind: 'text', members: undefined } as const

function Operand ({ table, column, operator, operand, label, onOperand }: OperandProps) {
  const example = exampleOf(column)
  // also of a body that compares with such a moment otherwise
  if (operator === 'last' || operator === 'before' || readAgo(operand) !== undefined) {
    const { count, unit = UNITS[1] } = readAgo(operand) ?? {}
    return (
      <span class='ago'>
        <input type='number' min={1} aria-label={label} placeholder={String(DAYS)} value={count ?? ''} onInput={({ currentTarget }) => { if (currentTarget.valueAsNumber >= 1) onOperand(writeAgo({ count: Math.floor(currentTarget.valueAsNumber), unit })) }} />
        <Choice label={`${label}: unit`} value={unit} options={asOptions(UNITS)} onChoice={(chosen) => onOperand(writeAgo({ count: count ?? DAYS, unit: chosen }))} />
        {operator !== 'last' && operator !== 'before' && 'ago'}
      </span>
    )
  }
  if (operator === '$between') {
    const [from, to] = isList(operand) ? operand : []
    return (
      <span class='between'>
        <PartInput column={column} label={`${label}: from`} value={from} placeholder={example} onValue={(value) => onOperand(value === undefined && to === undefined ? undefined : [value ?? '', to ?? value ?? ''])} />
        and
        <PartInput column={column} label={`${label}: to`} value={to} placeholder={example} onValue={(value) => onOperand(value === undefined && from === undefined ? undefined : [from ?? value ?? '', value ?? ''])} />
      </span>
    )
  }
  if (operator === '$in' || operator === '$nin') return column.members === undefined ? <ListInput column={column} label={label} operand={operand} onOperand={onOperand} /> : <MembersInput members={column.members} label={label} value={operand} onValue={(chosen) => onOperand(isList(chosen) && chosen.length === 0 ? undefined : chosen)} />
  const members = operator === '$has' ? column.members : undefined
  const isPattern = ['$like', '$nlike', '$contains', '$startsWith'].includes(operator)
  return (
    <>
      <ValueInput table={isPattern ? undefined : table} column={members !== undefined ? { ...column, ...TEXT, members } : isPattern ? { ...column, ...TEXT } : column} label={label} value={operand} placeholder={isPattern ? operator.includes('like') ? 'rush%' : '' : example} onValue={onOperand} />
      {!isPattern && pickerOf(column) !== undefined && <Picker column={column} label={label} value={operand} onValue={onOperand} />}
    </>
  )
}

function PartInput ({ column, label, value, placeholder, onValue }: { column: Column, label: string, value: Json | undefined, placeholder: string, onValue: (value: Json | undefined) => void }) {
  return <ValueInput column={column} label={label} value={value === '' ? undefined : value} placeholder={placeholder} onValue={onValue} />
}

/** Values separated by commas. */
function ListInput ({ column, label, operand, onOperand }: Omit<OperandProps, 'operator' | 'table'>) {
  const shown = isList(operand) ? operand.map((value) => toText(column, value)).join(', ') : ''
  const [text, setText] = useState(shown)
  const read = (entered: string): Json | undefined => {
    const values = entered.split(',').map((part) => fromText(column, part.trim())).filter((value) => value !== undefined)
    return values.length === 0 ? undefined : values
  }
  const seen = useRef(operand)
  if (seen.current !== operand) {
    seen.current = operand
    if (writeLine(read(text) ?? null) !== writeLine(operand ?? null)) setText(shown)
  }
  const enter = (entered: string): void => {
    setText(entered)
    onOperand(read(entered))
  }
  return <input type='text' aria-label={label} placeholder='values, separated by commas' autocomplete='off' spellcheck={false} value={text} onInput={({ currentTarget }) => enter(currentTarget.value)} />
}
