/** What a select returns: its columns, related rows, groups and aggregates, how many rows. */
import { useId, useState } from 'preact/hooks'
import { Icon } from './icons.tsx'
import { isList, isObject, memberOf, withMembers, type Json, type JsonObject } from './json.ts'
import { firstBody, PAGE, relatedMember } from './bodies.ts'
import { asOptions, Choice } from './choice.tsx'
import { Menu } from './menu.tsx'
import { useStage } from './stage.tsx'
import type { Column, Relation, Table } from './table.ts'

interface MenuProps {
  readonly table: Table
  readonly body: JsonObject
  readonly onBody: (body: JsonObject) => void
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

/** Searches in lists that are longer. */
const LONG_LIST = 12

export function ColumnsMenu ({ table, body, onBody }: MenuProps) {
  const [search, setSearch] = useState('')
  const all = table.columns.map(({ name }) => name)
  const given = memberOf(body, 'columns')
  const chosen = new Set(isList(given) ? given as string[] : all)
  const choose = (names: ReadonlySet<string>): void => {
    const columns = all.filter((name) => names.has(name))
    onBody(withMembers(body, { columns: columns.length === all.length || columns.length === 0 ? undefined : columns }))
  }
  const found = all.filter((name) => name.toLowerCase().includes(search.toLowerCase()))
  return (
    <Menu label='Columns' summary={chosen.size === all.length ? 'all' : `${chosen.size} of ${all.length}`}>
      {() => (
        <>
          {all.length > LONG_LIST && <input type='search' aria-label='Search columns' placeholder='Search columns' value={search} onInput={({ currentTarget }) => setSearch(currentTarget.value)} />}
          <p class='buttons'>
            <button type='button' onClick={() => choose(new Set(all))}>All</button>
            <button type='button' onClick={() => choose(new Set([...table.primaryKey.length > 0 ? table.primaryKey : all.slice(0, 1)]))}>{table.primaryKey.length > 0 ? 'Key only' : 'First only'}</button>
          </p>
          <div class='checks'>
            {found.map((name) => (
              <label key={name}>
                <input type='checkbox' checked={chosen.has(name)} disabled={chosen.size === 1 && chosen.has(name)} onChange={() => choose(new Set(all.filter((each) => chosen.has(each) !== (each === name))))} />{name}
              </label>
            ))}
          </div>
        </>
      )}
    </Menu>
  )
}

/** Rows of a list that a member shows. */
const MEMBER_ROWS = 20

const isOf = (relation: Relation, name: string, member: Json): boolean => name === relation.name || (memberOf(member, 'table') ?? name) === relation.table

export function RelatedMenu ({ table, body, onBody }: MenuProps) {
  const { document } = useStage()
  if (table.relations.length === 0 && document.tables.length < 2) return null
  const include = memberOf(body, 'include')
  const members = isObject(include) ? Object.entries(include) : []
  const find = (relation: Relation) => members.find(([name, member]) => name === relation.name || (relation.isOnly && isOf(relation, name, member)))
  const has = (relation: Relation): boolean => find(relation) !== undefined
  const toggle = (relation: Relation): void => {
    const { name, isMany, isOnly } = relation
    const member: JsonObject = { ...relatedMember(relation), ...isMany && { limit: MEMBER_ROWS } }
    const kept = members.filter(([key, each]) => key !== name && !(isOnly && isOf(relation, key, each)))
    write(has(relation) ? kept : [...kept, [name, member] as const])
  }
  const write = (changed: ReadonlyArray<readonly [string, Json]>): void => onBody(withMembers(body, { include: changed.length === 0 ? undefined : Object.fromEntries(changed) }))
  /** The other form than that of the keys: a list of one row, or the first row of several, which has no limit. */
  const setOther = (name: string, isMany: boolean, isOther: boolean): void => {
    const form = isMany ? { as: isOther ? 'object' : undefined, limit: isOther ? undefined : MEMBER_ROWS } : { as: isOther ? 'list' : undefined, limit: undefined, orderBy: undefined }
    write(members.map(([key, each]) => [key, key === name ? withMembers(each as JsonObject, form) : each]))
  }
  const isView = (name: string): boolean => document.tables.some((each) => each.name === name && each.isView)
  const written = members.filter(([name]) => !table.relations.some((relation) => find(relation)?.[0] === name))
  return (
    <Menu label='Related' summary={members.length === 0 ? 'none' : members.map(([name]) => name).join(', ').slice(0, 24)}>
      {() => (
        <>
          <div class='checks'>
            {table.relations.map((relation) => {
              const [name, member] = find(relation) ?? []
              return (
                <div key={relation.name}>
                  <label>
                    <input type='checkbox' checked={has(relation)} onChange={() => toggle(relation)} />
                    <span>{relation.name} <span class='muted'>{relation.isMany ? 'rows' : 'one row'} · {relation.on.map(([own, other]) => `${own} = ${relation.table}.${other}`).join(', ')}</span></span>
                  </label>
                  {name !== undefined && isObject(member) && memberOf(member, 'aggregates') === undefined && <FormChoice name={relation.name} member={member} isMany={relation.isMany} onOther={(isOther) => setOther(name, relation.isMany, isOther)} />}
                </div>
              )
            })}
            {written.map(([name, member]) => {
              const other = String(memberOf(member, 'table') ?? name)
              const on = memberOf(member, 'on')
              return (
                <div key={name}>
                  <label>
                    <input type='checkbox' checked onChange={() => write(members.filter(([key]) => key !== name))} />
                    <span>{name} <span class='muted'>{isView(other) ? 'view' : 'rows'} · {Object.entries(isObject(on) ? on : {}).map(([own, column]) => `${own} = ${other}.${String(column as string)}`).join(', ')}</span></span>
                  </label>
                  {isView(other) && memberOf(member, 'aggregates') === undefined && <FormChoice name={name} member={member} isMany onOther={(isOther) => setOther(name, true, isOther)} />}
                </div>
              )
            })}
          </div>
          <OnForm table={table} taken={members.map(([name]) => name)} onMember={(name, member) => write([...members, [name, member]])} />
        </>
      )}
    </Menu>
  )
}

function FormChoice ({ name, member, isMany, onOther }: { name: string, member: Json, isMany: boolean, onOther: (isOther: boolean) => void }) {
  const isOther = memberOf(member, 'as') === (isMany ? 'object' : 'list')
  return <Choice label={`Form of ${name}`} value={isOther ? 'other' : ''} options={[['', isMany ? 'a list' : 'one row'], ['other', isMany ? 'the first row' : 'a list']]} onChoice={(chosen) => onOther(chosen !== '')} />
}

type Pair = readonly [own: string, other: string]

/** Columns that can be equal: the service knows more of their types. */
const canRelate = (own: Column | undefined, other: Column): boolean => own !== undefined && own.kind === other.kind && own.kind !== 'json' && own.kind !== 'list'

/** Columns of two tables that probably mean the same: of one name, or a key and the name of its table with it. */
function guessPair (table: Table, other: Table): Pair {
  const pairs = table.columns.flatMap((own) => other.columns.filter((column) => canRelate(own, column)).map((column) => ({ own, column })))
  const rate = ({ own, column }: typeof pairs[number]): number => {
    const single = table.name.replace(/s$/i, '').toLowerCase()
    if (own.isKey && column.name.toLowerCase() === `${single}_${own.name}`.toLowerCase()) return 3
    if (own.name === column.name) return own.isKey || /_/.test(own.name) ? 2 : 1
    return 0
  }
  const [best] = [...pairs].sort((one, two) => rate(two) - rate(one))
  return [best?.own.name ?? table.columns[0]?.name ?? '', best?.column.name ?? other.columns[0]?.name ?? '']
}

interface OnFormProps {
  readonly table: Table
  readonly taken: readonly string[]
  readonly onMember: (name: string, member: JsonObject) => void
}

/** Relates rows of a view, which has no keys, or of any table, by columns that are chosen. */
function OnForm ({ table, taken, onMember }: OnFormProps) {
  const { document } = useStage()
  const [on, setOn] = useState<readonly Pair[]>([])
  const [name, setName] = useState('')
  const [isObject, setObject] = useState(false)
  const id = useId()
  const other = name === '' ? undefined : document.table(name)
  const [views, tables] = [true, false].map((isView) => document.tables.filter((each) => each.isView === isView && each.name !== table.name))
  const choose = (chosen: string): void => {
    const found = document.table(chosen)
    setName(chosen)
    setOn(found === undefined ? [] : [guessPair(table, found)])
  }
  const setPair = (index: number, pair: Pair): void => setOn(on.map((each, at) => at === index ? pair : each))
  const add = (): void => {
    if (other === undefined) return
    const member = nameResult(/^[a-z]/i.test(name) ? name : `related_${name}`, [...taken, ...table.columns.map((column) => column.name)])
    onMember(member, withMembers({ ...member !== name && { table: name }, on: Object.fromEntries(on) }, other.isView ? isObject ? { as: 'object' } : { limit: MEMBER_ROWS } : {}))
    choose('')
  }
  return (
    <div class='part'>
      <h3 id={id}>By other columns</h3>
      <select aria-labelledby={id} value={name} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value=''>a view or table …</option>
        {views?.[0] !== undefined && <optgroup label='Views'>{views.map((each) => <option key={each.name} value={each.name}>{each.name}</option>)}</optgroup>}
        <optgroup label='Tables'>{tables?.map((each) => <option key={each.name} value={each.name}>{each.name}</option>)}</optgroup>
      </select>
      {other !== undefined && !other.verbs.includes('select') && <p class='muted'>The token may not read {name}.</p>}
      {other?.verbs.includes('select') === true && (
        <>
          {on.map(([own, column], index) => {
            const fitting = other.columns.filter((each) => canRelate(table.columns.find((found) => found.name === own), each))
            const options = asOptions((fitting.length > 0 ? fitting : other.columns).map((each) => each.name))
            return (
              <p key={index} class='pair'>
                <Choice label={`Column of ${table.name} ${index + 1}`} value={own} options={asOptions(table.columns.filter((each) => canRelate(each, each)).map((each) => each.name))} onChoice={(chosen) => setPair(index, [chosen, column])} />
                =
                <Choice label={`Column of ${name} ${index + 1}`} value={column} options={options.some(([each]) => each === column) ? options : [['', '–'], ...options]} onChoice={(chosen) => setPair(index, [own, chosen])} />
              </p>
            )
          })}
          {other.isView ? <Choice label={`Form of ${name}`} value={isObject ? 'object' : 'list'} options={[['list', 'a list'], ['object', 'the first row']]} onChoice={(chosen) => setObject(chosen === 'object')} /> : <p class='muted'>An index of {name} must begin with its column.</p>}
          <p class='buttons'>
            <button type='button' class='quiet add' onClick={() => setOn([...on, guessPair({ ...table, columns: table.columns.filter((each) => !on.some(([own]) => own === each.name)) }, other)])}><Icon name='plus' />and another column</button>
            <span class='spacer' />
            <button type='button' onClick={add}>Add {name}</button>
          </p>
        </>
      )}
    </div>
  )
}

const FUNCTIONS: ReadonlyMap<string, string> = new Map([['$count', 'number of'], ['$countDistinct', 'different'], ['$sum', 'sum of'], ['$avg', 'average of'], ['$min', 'least'], ['$max', 'greatest']])
const PARTS: ReadonlyMap<string, string> = new Map([['$year', 'year'], ['$month', 'month'], ['$week', 'week'], ['$date', 'day'], ['$hour', 'hour']])

/** A group as one text: a column, or a part of time or a member and its column. `given`: a column behind several members. */
interface Group { readonly column: string, readonly part?: string | undefined, readonly name: string, readonly given?: JsonObject }
/** `given`: a column of a member. */
interface Aggregate { readonly name: string, readonly call: string, readonly column: string, readonly given?: JsonObject, readonly rest: JsonObject }

/** A column of a member as text: `credit of customer`. */
const describeMember = (given: JsonObject): string => Object.entries(given).map(([name, inner]) => `${isObject(inner) ? describeMember(inner) : String(inner)} of ${name}`).join()

function readGroups (body: JsonObject): Group[] {
  const groupBy = memberOf(body, 'groupBy')
  return (isList(groupBy) ? groupBy : []).flatMap((entry): Group[] => {
    if (typeof entry === 'string') return [{ column: entry, name: entry }]
    const [[name, value] = []] = isObject(entry) ? Object.entries(entry) : []
    const [[part, column] = []] = isObject(value) ? Object.entries(value) : []
    if (name === undefined || part === undefined) return []
    return typeof column === 'string' ? [{ column, part, name }] : isObject(column) ? [{ column: describeMember(column), part, name, given: column }] : []
  })
}

function readAggregates (body: JsonObject): Aggregate[] {
  const aggregates = memberOf(body, 'aggregates')
  return (isObject(aggregates) ? Object.entries(aggregates) : []).flatMap(([name, value]): Aggregate[] => {
    const [call, column] = isObject(value) ? Object.entries(value).find(([key]) => key.startsWith('$')) ?? [] : []
    if (call === undefined) return []
    const rest = withMembers(value as JsonObject, { [call]: undefined })
    return typeof column === 'string' ? [{ name, call, column, rest }] : isObject(column) ? [{ name, call, column: describeMember(column), given: column, rest }] : []
  })
}

const describeGroup = ({ part, column }: Group): string => part === undefined ? column : part.startsWith('$') ? `${PARTS.get(part) ?? part} of ${column}` : `${column} of ${part}`

/** A name that no other result has: letters, digits and `_`. */
function nameResult (wanted: string, taken: readonly string[]): string {
  const name = wanted.replaceAll(/\W/g, '_').slice(0, 60)
  return [name, ...Array.from({ length: 200 }, (_, index) => `${name}_${index + 2}`)].find((each) => !taken.includes(each)) ?? name
}

/** The body with these groups and aggregates: the greatest first, or in the order of time. Without any, the body of rows again. */
function writeGroups (table: Table, body: JsonObject, groups: readonly Group[], aggregates: readonly Aggregate[]): JsonObject {
  const filters = memberOf(body, 'filters')
  if (groups.length === 0 && aggregates.length === 0) return withMembers(firstBody(table, 'select'), { filters })
  const [time] = groups.filter(({ part }) => part?.startsWith('$'))
  // members that are one row by their keys, which groups and aggregates name
  const named = [
    ...groups.flatMap(({ part, given }) => part === undefined || part.startsWith('$') ? [] : [[part, given !== undefined] as const]),
    ...aggregates.flatMap(({ given = {} }) => Object.entries(given).map(([name, inner]) => [name, isObject(inner)] as const))
  ]
  const names = new Set(named.map(([name]) => name))
  const isThrough = (name: string): boolean => named.some(([each, isDeep]) => each === name && isDeep)
  const members = [...names].map((name): [string, JsonObject] => {
    const given = memberOf(memberOf(body, 'include'), name)
    const relation = table.relations.find((each) => each.name === name)
    const [other, on, own, inner] = ['table', 'on', 'filters', 'include'].map((field) => memberOf(given, field))
    return [name, given === undefined && relation !== undefined ? relatedMember(relation) : withMembers({}, { table: other, on, filters: own, include: isThrough(name) ? inner : undefined })]
  })
  const [value] = aggregates
  const orderBy = time !== undefined ? time.name : value !== undefined && groups.length > 0 ? `${value.name} DESC` : undefined
  return withMembers({ verb: 'select' }, {
    filters,
    groupBy: groups.length === 0 ? undefined : groups.map(({ name, column, part, given }) => part === undefined ? column : { [name]: { [part]: given ?? column } }),
    aggregates: aggregates.length === 0 ? undefined : Object.fromEntries(aggregates.map(({ name, call, column, given, rest }) => [name, { [call]: given ?? column, ...rest }])),
    having: memberOf(body, 'having'),
    include: members.length === 0 ? undefined : Object.fromEntries(members),
    orderBy,
    limit: groups.length === 0 ? undefined : memberOf(body, 'limit') ?? PAGE,
    offset: groups.length === 0 ? undefined : 0
  })
}

/** Columns that groups are made of. */
const groupableOf = ({ columns, aggregates }: Table): Column[] => columns.filter(({ isSortable, isGenerated, name }) => isSortable || isGenerated || (aggregates.get('$count') ?? []).includes(name))

export function GroupsMenu ({ table, body, onBody }: MenuProps) {
  const { document } = useStage()
  const groups = readGroups(body)
  const aggregates = readAggregates(body)
  const taken = [...groups, ...aggregates].map(({ name }) => name)
  const write = (changed: readonly Group[], values: readonly Aggregate[]): void => onBody(writeGroups(table, body, changed, values))
  const addGroup = (key: string): void => {
    const [part = '', column = ''] = key.split(/:(.*)/s)
    const group = part === '' ? { column, name: column } : { column, part, name: nameResult(part.startsWith('$') ? `${column}_${PARTS.get(part) ?? ''}` : `${part}_${column}`, [...taken, ...table.columns.map(({ name }) => name)]) }
    // groups without a number say little: how many rows each has is what most people ask first
    write([...groups, group], aggregates.length === 0 ? [{ name: nameResult('rows', [...taken, group.name]), call: '$count', column: '*', rest: {} }] : aggregates)
  }
  const addAggregate = (key: string): void => {
    const [call = '', column = ''] = key.split(/:(.*)/s)
    write(groups, [...aggregates, { name: nameResult(call === '$count' && column === '*' ? 'rows' : `${call.slice(1).toLowerCase()}_${column}`, taken), call, column, rest: {} }])
  }
  const parts = [...table.parts].flatMap(([part, columns]) => columns.map((column) => ({ part, column })))
  const groupable = groupableOf(table)
  const related = table.relations.filter(({ isMany }) => !isMany).flatMap(({ name, table: other }) => {
    const found = document.table(other)
    return found?.verbs.includes('select') === true ? [{ name, columns: groupableOf(found) }] : []
  })
  const summary = [...aggregates.map(({ call, column }) => `${FUNCTIONS.get(call) ?? call} ${column === '*' ? 'rows' : column}`), ...groups.length > 0 ? [`by ${groups.map(({ name }) => name).join(', ')}`] : []].join(', ')
  return (
    <Menu label='Summarize' summary={summary === '' ? 'no' : summary.slice(0, 40)}>
      {() => (
        <>
          <div class='part'>
            <h3>Compute</h3>
            {aggregates.map((aggregate) => <p key={aggregate.name} class='chosen'><span>{FUNCTIONS.get(aggregate.call) ?? aggregate.call} {aggregate.column === '*' ? 'rows' : aggregate.column}</span><button type='button' class='quiet' aria-label={`Remove ${aggregate.name}`} onClick={() => write(groups, aggregates.filter((each) => each !== aggregate))}><Icon name='close' /></button></p>)}
            <select aria-label='Add a value to compute' value='' onChange={({ currentTarget }) => { addAggregate(currentTarget.value); currentTarget.value = '' }}>
              <option value=''>a number …</option>
              {[...table.aggregates].map(([call, columns]) => (
                <optgroup key={call} label={FUNCTIONS.get(call) ?? call}>
                  {(call === '$count' ? ['*', ...columns.filter((column) => column !== '*')] : columns).map((column) => <option key={column} value={`${call}:${column}`}>{FUNCTIONS.get(call) ?? call} {column === '*' ? 'rows' : column}</option>)}
                </optgroup>
              ))}
            </select>
          </div>
          <div class='part'>
            <h3>For each</h3>
            {groups.map((group) => <p key={group.name} class='chosen'><span>{describeGroup(group)}</span><button type='button' class='quiet' aria-label={`Remove ${group.name}`} onClick={() => write(groups.filter((each) => each !== group), aggregates)}><Icon name='close' /></button></p>)}
            <select aria-label='Add a group' value='' onChange={({ currentTarget }) => { addGroup(currentTarget.value); currentTarget.value = '' }}>
              <option value=''>a column …</option>
              {parts.length > 0 && <optgroup label='Parts of time'>{parts.map(({ part, column }) => <option key={part + column} value={`${part}:${column}`}>{PARTS.get(part) ?? part} of {column}</option>)}</optgroup>}
              <optgroup label='Columns'>{groupable.filter(({ name }) => !taken.includes(name)).map(({ name }) => <option key={name} value={`:${name}`}>{name}</option>)}</optgroup>
              {related.map(({ name, columns }) => <optgroup key={name} label={`Columns of ${name}`}>{columns.map((column) => <option key={column.name} value={`${name}:${column.name}`}>{column.name} of {name}</option>)}</optgroup>)}
            </select>
          </div>
          <p class='muted'>{summary === '' ? 'Such as the sum of a column for each value of another one.' : `${plural(aggregates.length, 'number')}${groups.length > 0 ? ` for each ${groups.map(({ name }) => name).join(', ')}` : ' of all rows'}`}</p>
          {summary !== '' && <p class='buttons'><button type='button' onClick={() => write([], [])}>Show rows again</button></p>}
        </>
      )}
    </Menu>
  )
}

export function LimitInput ({ body, onBody }: Pick<MenuProps, 'body' | 'onBody'>) {
  const limit = memberOf(body, 'limit')
  return (
    <label class='limit'>Rows <input type='number' min={1} max={1000} value={typeof limit === 'number' ? limit : 100} onInput={({ currentTarget }) => { if (currentTarget.valueAsNumber >= 1) onBody({ ...body, limit: Math.floor(currentTarget.valueAsNumber) }) }} /></label>
  )
}
