/** What a select returns: its columns, related rows, groups and aggregates, how many rows. */
import { useState } from 'preact/hooks'
import { isList, isObject, memberOf, withMembers, type Json, type JsonObject } from './json.ts'
import { firstBody, PAGE, relatedMember } from './bodies.ts'
import { Menu } from './menu.tsx'
import type { Relation, Table } from './table.ts'

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
  if (table.relations.length === 0) return null
  const include = memberOf(body, 'include')
  const members = isObject(include) ? Object.entries(include) : []
  const find = (relation: Relation) => members.find(([name, member]) => name === relation.name || (relation.isOnly && isOf(relation, name, member)))
  const has = (relation: Relation): boolean => find(relation) !== undefined
  const toggle = (relation: Relation): void => {
    const { name, isMany, isOnly } = relation
    const member: JsonObject = { ...relatedMember(relation), ...isMany && { limit: MEMBER_ROWS } }
    const kept = members.filter(([key, each]) => key !== name && !(isOnly && isOf(relation, key, each)))
    const changed = has(relation) ? kept : [...kept, [name, member] as const]
    onBody(withMembers(body, { include: changed.length === 0 ? undefined : Object.fromEntries(changed) }))
  }
  /** The other form than that of the keys: a list of one row, or the first row of several, which has no limit. */
  const setOther = (name: string, { isMany }: Relation, isOther: boolean): void => {
    const form = isMany ? { as: isOther ? 'object' : undefined, limit: isOther ? undefined : MEMBER_ROWS } : { as: isOther ? 'list' : undefined, limit: undefined, orderBy: undefined }
    onBody(withMembers(body, { include: Object.fromEntries(members.map(([key, each]) => [key, key === name ? withMembers(each as JsonObject, form) : each])) }))
  }
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
                  {name !== undefined && isObject(member) && memberOf(member, 'aggregates') === undefined && (
                    <select aria-label={`Form of ${relation.name}`} value={memberOf(member, 'as') === (relation.isMany ? 'object' : 'list') ? 'other' : ''} onChange={({ currentTarget }) => setOther(name, relation, currentTarget.value !== '')}>
                      <option value=''>{relation.isMany ? 'a list' : 'one row'}</option>
                      <option value='other'>{relation.isMany ? 'the first row' : 'a list'}</option>
                    </select>
                  )}
                </div>
              )
            })}
          </div>
        </>
      )}
    </Menu>
  )
}

const FUNCTIONS: ReadonlyMap<string, string> = new Map([['$count', 'number of'], ['$countDistinct', 'different'], ['$sum', 'sum of'], ['$avg', 'average of'], ['$min', 'least'], ['$max', 'greatest']])
const PARTS: ReadonlyMap<string, string> = new Map([['$year', 'year'], ['$month', 'month'], ['$week', 'week'], ['$date', 'day'], ['$hour', 'hour']])

/** A group as one text: a column, or a part of time or a member and its column. */
interface Group { readonly column: string, readonly part?: string | undefined, readonly name: string }
interface Aggregate { readonly name: string, readonly call: string, readonly column: string, readonly rest: JsonObject }

function readGroups (body: JsonObject): Group[] {
  const groupBy = memberOf(body, 'groupBy')
  return (isList(groupBy) ? groupBy : []).flatMap((entry): Group[] => {
    if (typeof entry === 'string') return [{ column: entry, name: entry }]
    const [[name, value] = []] = isObject(entry) ? Object.entries(entry) : []
    const [[part, column] = []] = isObject(value) ? Object.entries(value) : []
    return name === undefined || typeof column !== 'string' ? [] : [{ column, part, name }]
  })
}

function readAggregates (body: JsonObject): Aggregate[] {
  const aggregates = memberOf(body, 'aggregates')
  return (isObject(aggregates) ? Object.entries(aggregates) : []).flatMap(([name, value]): Aggregate[] => {
    const [call, column] = isObject(value) ? Object.entries(value).find(([key]) => key.startsWith('$')) ?? [] : []
    return call === undefined || typeof column !== 'string' ? [] : [{ name, call, column, rest: withMembers(value as JsonObject, { [call]: undefined }) }]
  })
}

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
  const include = memberOf(body, 'include')
  const members = isObject(include) ? Object.entries(include).filter(([name]) => groups.some(({ part }) => part === name)) : []
  const [value] = aggregates
  const orderBy = time !== undefined ? time.name : value !== undefined && groups.length > 0 ? `${value.name} DESC` : undefined
  return withMembers({ verb: 'select' }, {
    filters,
    groupBy: groups.length === 0 ? undefined : groups.map(({ name, column, part }) => part === undefined ? column : { [name]: { [part]: column } }),
    aggregates: aggregates.length === 0 ? undefined : Object.fromEntries(aggregates.map(({ name, call, column, rest }) => [name, { [call]: column, ...rest }])),
    having: memberOf(body, 'having'),
    include: members.length === 0 ? undefined : Object.fromEntries(members),
    orderBy,
    limit: groups.length === 0 ? undefined : memberOf(body, 'limit') ?? PAGE,
    offset: groups.length === 0 ? undefined : 0
  })
}

export function GroupsMenu ({ table, body, onBody }: MenuProps) {
  const groups = readGroups(body)
  const aggregates = readAggregates(body)
  const taken = [...groups, ...aggregates].map(({ name }) => name)
  const write = (changed: readonly Group[], values: readonly Aggregate[]): void => onBody(writeGroups(table, body, changed, values))
  const addGroup = (key: string): void => {
    const [part = '', column = ''] = key.split(/:(.*)/s)
    const group = part === '' ? { column, name: column } : { column, part, name: nameResult(`${column}_${PARTS.get(part) ?? ''}`, [...taken, ...table.columns.map(({ name }) => name)]) }
    // groups without a number say little: how many rows each has is what most people ask first
    write([...groups, group], aggregates.length === 0 ? [{ name: nameResult('rows', [...taken, group.name]), call: '$count', column: '*', rest: {} }] : aggregates)
  }
  const addAggregate = (key: string): void => {
    const [call = '', column = ''] = key.split(/:(.*)/s)
    write(groups, [...aggregates, { name: nameResult(call === '$count' && column === '*' ? 'rows' : `${call.slice(1).toLowerCase()}_${column}`, taken), call, column, rest: {} }])
  }
  const parts = [...table.parts].flatMap(([part, columns]) => columns.map((column) => ({ part, column })))
  const groupable = table.columns.filter(({ isSortable, isGenerated, name }) => isSortable || isGenerated || (table.aggregates.get('$count') ?? []).includes(name))
  const summary = [...aggregates.map(({ call, column }) => `${FUNCTIONS.get(call) ?? call} ${column === '*' ? 'rows' : column}`), ...groups.length > 0 ? [`by ${groups.map(({ name }) => name).join(', ')}`] : []].join(', ')
  return (
    <Menu label='Summarize' summary={summary === '' ? 'no' : summary.slice(0, 40)}>
      {() => (
        <>
          <div class='part'>
            <h3>Compute</h3>
            {aggregates.map((aggregate) => <p key={aggregate.name} class='chosen'><span>{FUNCTIONS.get(aggregate.call) ?? aggregate.call} {aggregate.column === '*' ? 'rows' : aggregate.column}</span><button type='button' class='quiet' aria-label={`Remove ${aggregate.name}`} onClick={() => write(groups, aggregates.filter((each) => each !== aggregate))}>×</button></p>)}
            <select aria-label='Add a value to compute' value='' onChange={({ currentTarget }) => { addAggregate(currentTarget.value); currentTarget.value = '' }}>
              <option value=''>+ a number …</option>
              {[...table.aggregates].map(([call, columns]) => (
                <optgroup key={call} label={FUNCTIONS.get(call) ?? call}>
                  {(call === '$count' ? ['*', ...columns.filter((column) => column !== '*')] : columns).map((column) => <option key={column} value={`${call}:${column}`}>{FUNCTIONS.get(call) ?? call} {column === '*' ? 'rows' : column}</option>)}
                </optgroup>
              ))}
            </select>
          </div>
          <div class='part'>
            <h3>For each</h3>
            {groups.map((group) => <p key={group.name} class='chosen'><span>{group.part === undefined ? group.column : `${PARTS.get(group.part) ?? group.part} of ${group.column}`}</span><button type='button' class='quiet' aria-label={`Remove ${group.name}`} onClick={() => write(groups.filter((each) => each !== group), aggregates)}>×</button></p>)}
            <select aria-label='Add a group' value='' onChange={({ currentTarget }) => { addGroup(currentTarget.value); currentTarget.value = '' }}>
              <option value=''>+ a column …</option>
              {parts.length > 0 && <optgroup label='Parts of time'>{parts.map(({ part, column }) => <option key={part + column} value={`${part}:${column}`}>{PARTS.get(part) ?? part} of {column}</option>)}</optgroup>}
              <optgroup label='Columns'>{groupable.filter(({ name }) => !taken.includes(name)).map(({ name }) => <option key={name} value={`:${name}`}>{name}</option>)}</optgroup>
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
