/** Laws of rows that are related: random schemas, data and requests, compared with what plain SQL finds. */
import type { Test } from 'tap'
import {
  COLUMNS, createDraw, drawFilters, drawRelated, drawTable, insertOf, KEYS, KINDS, SHOWN, viewOf, type Draw, type Drawn
} from './related-tables.ts'
import { onEachEngine, type Service, TOKEN } from './service.ts'

interface Asked {
  readonly table: Drawn
  readonly body: Record<string, unknown>
  readonly on: ReadonlyArray<readonly [string, string]>
  readonly where: string
  readonly order: string
  readonly limit: number
  readonly as: 'list' | 'object' | undefined
  /** The first term of the order is a column of the member `by`, while there is one; the same in SQL. */
  readonly by?: { readonly term: string, readonly sql: string }
  readonly members: Map<string, Asked>
}

function drawMember (draw: Draw, tables: readonly Drawn[], level: number): Asked {
  const table = draw.one(tables)
  const pairs = new Map(Array.from({ length: draw.chance(0.3) ? 2 : 1 }, () => {
    const kind = draw.one(KINDS)
    return [draw.one(kind), draw.one(kind)] as const
  }))
  const on = [...pairs]
  const [filters, where] = level < 3 && draw.chance(0.3)
    ? drawRelated(draw, tables, { alias: 'c', levels: 3 - level })
    : drawFilters(draw, 'c')
  const terms = draw.chance(0.6) || table.key.length === 0
    ? [
        ...draw.chance(0.5) ? [[draw.one(['a', 'n', 's', 'x']), draw.one(['asc', 'desc'])] as const] : [],
        ...table.key.length === 0 ? [['rid', 'asc'] as const] : []
      ]
    : []
  const direction = terms.at(-1)?.[1] ?? 'asc'
  const completed = [...terms, ...table.key.filter((column) => !terms.some(([name]) => name === column)).map(
    (column) => [column, direction] as const
  )]
  const as = draw.one(['list', 'object', undefined, undefined, undefined, undefined, undefined] as const)
  const limit = as === 'object' ? 1 : draw.one([1, 2, 3, 100])
  const members = new Map(level < 3 && draw.chance(0.6)
    ? Array.from({
      length: 1 + draw.below(2)
    }, (_, index): [string, Asked] => [`in${level}x${index}`, drawMember(draw, tables, level + 1)])
    : [])
  const order = terms.map(([column, to]) => `${column} ${to}`).join(', ')
  const by = level < 3 && table.isView === undefined && terms.length > 0 && draw.chance(0.4)
    ? drawOrder(draw, tables, members)
    : undefined
  const body = {
    table: table.name,
    on: Object.fromEntries(on),
    ...Object.keys(filters).length > 0 && { filters },
    columns: SHOWN,
    ...order !== '' && { orderBy: order },
    ...as !== undefined && { as },
    ...limit < 100 && as !== 'object' && { limit }
  }
  return {
    table,
    as,
    ...by !== undefined && { by },
    body,
    on,
    where,
    order: completed.map(([column, to]) => `c.${column} ${to}`).join(', '),
    limit,
    members
  }
}

/** An order by a member that is one row, which it adds to the members. */
function drawOrder (draw: Draw, [table]: readonly Drawn[], members: Map<string, Asked>): Asked['by'] {
  const [own, column, to] = [
    draw.one(['a', 'b', 'n', 'm', 'rid']), draw.one(['a', 'n', 'x']), draw.one(['asc', 'desc'])
  ]
  const on = [[own, 'rid']] as const
  const [filters, where] = draw.one([[{}, '1 = 1'], [{ a: { $gte: 2 } }, 'c.a >= 2']] as const)
  const { name } = table as Drawn
  members.set('by', {
    table: table as Drawn,
    as: undefined,
    body: { table: name, on: Object.fromEntries(on), filters, columns: SHOWN },
    on,
    where,
    order: 'c.rid',
    limit: 1,
    members: new Map()
  })
  return {
    term: `by.${column} ${to}`,
    sql: `(select o.${column} from ${name} o where o.rid = c.${own} and ${where.replace('c.', 'o.')}) ${to}`
  }
}

const AGGREGATES = { n: { $count: '*' }, last: { $max: 'rid' }, ones: { $count: 'm', filters: { n: 1 } } }

/** `isOne`: without the fields that are refused then. */
function toBody (asked: Asked, kinds: ReadonlyMap<Asked, string>): Record<string, unknown> {
  const { as, columns, limit, ...rest } = asked.body
  delete rest['orderBy']
  const orderBy = [asked.members.has('by') ? asked.by?.term : undefined, asked.body['orderBy']].filter(Boolean).join(
    ', '
  )
  if (kinds.get(asked) === 'computed') return { ...rest, aggregates: AGGREGATES }
  const include = asked.members.size === 0
    ? {}
    : { include: Object.fromEntries(Array.from(asked.members, ([name, member]) => [name, toBody(member, kinds)])) }
  return kinds.get(asked) === 'one'
    ? { ...rest, columns, ...include }
    : { ...asked.body, ...orderBy !== '' && { orderBy }, ...include }
}

interface Placed { readonly path: string, readonly asked: Asked, remove (): void }

const flatten = (members: Map<string, Asked>, path = '/include'): Placed[] =>
  [...members].flatMap(([name, asked]): Placed[] => [
    { path: `${path}/${name}`, asked, remove: () => { members.delete(name) } },
    ...flatten(asked.members, `${path}/${name}/include`)
  ])

/** `runs`: the number of requests. */
type Run = (t: Test, service: Service, tables: readonly Drawn[], options: {
  readonly seed: number, readonly runs: number
}) => Promise<void>

/** Runs a law on random tables on every engine. */
export async function onRandomTables (
  t: Test, name: string, options: { readonly seed: number, readonly runs: number }, run: Run
): Promise<void> {
  let tables: Drawn[] = []
  await onEachEngine(t, `${name}, seed ${options.seed}`, {
    schema: (engine) => {
      const draw = createDraw(options.seed)
      tables = Array.from({ length: KEYS.length }, (_, index) => drawTable(draw, `t${index}`, engine))
      tables.push(...tables.slice(0, 2).map((table, index) => viewOf(table, index === 0)))
      return tables.flatMap(({ sql }) => sql)
    }
  }, async (t, service) => { await run(t, service, tables, options) })
}

/** What `include` returns is what plain SQL returns, asked row by row. */
export const membersAreThoseOfPlainSql: Run = async (t, { post, sql }, tables, { seed, runs }) => {
  const draw = createDraw(seed * 1000)
  const own = [...tables]
  const counts = { returned: 0, ordered: 0, one: 0, object: 0, many: 0, computed: 0, rows: 0, refused: 0, filtered: 0 }
  const expected = async (
    asked: Asked, parent: Drawn, row: Record<string, unknown>, kinds: ReadonlyMap<Asked, string>
  ): Promise<unknown> => {
    const { table, on, where, limit, by } = asked
    const order = by !== undefined && asked.members.has('by') ? `${by.sql}, ${asked.order}` : asked.order
    if (order !== asked.order && kinds.get(asked) !== 'one') counts.ordered++
    const from =
      `from ${table.name} c, ${parent.name} p where p.rid = ${String(row['rid'])} and ` +
        `${on.map(([column, other]) => `c.${other} = p.${column}`).join(' and ')} and ${where}`
    if (kinds.get(asked) === 'computed') {
      counts.computed++
      const [values] = await sql(
        `select count(*) as n, max(c.rid) as last, count(case when c.n = 1 then c.m end) as ones ${from}`
      )
      return { ...values }
    }
    const found = await sql(`select c.rid as rid ${from} order by ${order} limit ${limit}`)
    const rows = await Promise.all(found.map(async ({ rid }) => await withMembers(
      asked.members, table, table.rows.find((each) => each['rid'] === rid) as Record<string, unknown>, kinds
    )))
    counts.rows += rows.length
    if ((asked.as ?? (kinds.get(asked) === 'one' ? 'object' : 'list')) === 'list') {
      counts.many++
      return rows
    }
    counts[asked.as === undefined ? 'one' : 'object']++
    t.ok(rows.length <= 1)
    return rows[0] ?? null
  }
  const withMembers = async (
    members: ReadonlyMap<string, Asked>, table: Drawn, row: Record<string, unknown>, kinds: ReadonlyMap<Asked, string>
  ): Promise<object> => {
    const result: Record<string, unknown> = Object.fromEntries(SHOWN.map((column) => [column, row[column]]))
    for (const [name, asked] of members) result[name] = await expected(asked, table, row, kinds)
    return result
  }
  for (let run = 0; run < runs; run++) {
    const root = draw.one(own)
    const members = new Map(Array.from(
      { length: 1 + draw.below(2) }, (_, index): [string, Asked] => [`in0x${index}`, drawMember(draw, own, 1)]
    ))
    const kinds = new Map<Asked, string>()
    for (const { asked, path } of flatten(members)) {
      if (asked.members.size === 0 && !path.endsWith('/by') && draw.chance(0.3)) kinds.set(asked, 'computed')
    }
    const page = draw.one([{}, {}, root.key.length > 0 ? { after: null } : {}, { offset: 2 }, { total: true }])
    const [filters, where] = draw.chance(0.4) ? drawRelated(draw, own, { alias: 'p', levels: 3 }) : [{}, '1 = 1']
    const selected = new Set(
      (await sql(`select p.rid as rid from ${root.name} p where ${where}`)).map(({ rid }) => Number(rid))
    )
    if (where !== '1 = 1') counts.filtered++
    for (let attempt = 0; attempt < 40; attempt++) {
      const include = Object.fromEntries(Array.from(members, ([name, asked]) => [name, toBody(asked, kinds)]))
      const body = { verb: 'select', columns: SHOWN, orderBy: 'rid', limit: 7, include, filters, ...page }
      const { status, json } = await post(root.name, body)
      const error = json.error
      const place = (error?.details?.[0]?.path ?? '') as string
      const found = flatten(members).find(({ path }) => path === place.replace(/\/(limit|orderBy|on)$/, ''))
      if (status === 400 && found !== undefined) {
        if (/\/(limit|orderBy)$/.test(place)) kinds.set(found.asked, 'one')
        else if (/cannot relate|has no index|at most 10 members/.test(error.message)) found.remove()
        else t.fail(JSON.stringify({ body, error }))
        counts.refused++
        if (members.size === 0) break
        continue
      }
      if (status !== 200) {
        t.fail(`${status} ${JSON.stringify({ body, error })}`)
        break
      }
      // one without an order or a limit is not known before
      for (const [name, asked] of members) for (const row of json.data.rows) noteKinds(row[name], asked, kinds)
      const rows = root.rows.filter((row) => selected.has(Number(row['rid']))).toSorted(
        (a, b) => Number(a['rid']) - Number(b['rid'])
      ).slice('offset' in page ? 2 : 0).slice(0, 7)
      const wanted = await Promise.all(rows.map(async (row) => await withMembers(members, root, row, kinds)))
      if (!t.strictSame(json.data.rows, wanted, JSON.stringify(body))) return
      // a write returns no rows of views
      if (rows.length > 0 && root.key.length > 0 && ![...kinds.values()].includes('computed') &&
        !/"v\d"/.test(JSON.stringify(include))) {
        counts.returned++
        const update = {
          verb: 'update',
          filters: { rid: rows.map((row) => row['rid']) },
          data: { d: { $inc: 0 } },
          returning: SHOWN,
          include,
          ...draw.chance(0.5) && { dryRun: true }
        }
        const { json } = await post(root.name, update)
        t.strictSame(json.data?.rows?.toSorted((a: Record<string, number>, b: Record<string, number>) =>
          (a['rid'] as number) - (b['rid'] as number)), wanted, JSON.stringify({ update, error: json.error }))
      }
      break
    }
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.many > 0 && counts.rows > 0)
  if (runs >= 40) {
    t.ok(counts.one + counts.object > runs / 8 && counts.ordered > runs / 8 && counts.many > runs / 2 &&
    counts.computed > 0 && counts.rows > runs / 2 && counts.filtered > runs / 8, JSON.stringify(counts))
  }
}

function noteKinds (value: unknown, asked: Asked, kinds: Map<Asked, string>): void {
  if (kinds.get(asked) === 'computed') return
  if (!Array.isArray(value) && asked.as === undefined) kinds.set(asked, 'one')
  for (const row of [value].flat()) {
    if (row !== null) {
      for (const [name, inner] of asked.members) {
        noteKinds((row as Record<string, unknown>)[name], inner, kinds)
      }
    }
  }
}

/** A member that is one row by a key of its table, as the rows `alias` of a left join. */
interface Joined {
  readonly member: object
  readonly join: string
  /** The names of the members that lead to its columns, and the alias of these in SQL. */
  readonly places: ReadonlyArray<readonly [names: readonly string[], alias: string]>
}

function drawJoined (draw: Draw, tables: readonly Drawn[], alias: string, parent = 'p', levels = 3): Joined {
  const keyed = tables.filter(({ isView, key }) => isView === undefined && key.length > 0)
  const table = draw.one(keyed)
  const pairs = table.key.map(
    (column) => [draw.one(KINDS.find((kind) => kind.includes(column)) as string[]), column] as const
  )
  // one pair for each column of the row
  if (new Set(pairs.map(([own]) => own)).size < pairs.length) return drawJoined(draw, tables, alias, parent, levels)
  const [filters, where] = levels > 1 && draw.chance(0.3)
    ? drawRelated(draw, tables, { alias, levels: levels - 1 })
    : drawFilters(draw, alias)
  const inner = levels > 1 && draw.chance(0.4) ? drawJoined(draw, tables, `${alias}k`, alias, levels - 1) : undefined
  return {
    member: {
      table: table.name,
      on: Object.fromEntries(pairs),
      ...Object.keys(filters).length > 0 && { filters },
      ...inner !== undefined && { include: { [`${alias}k`]: inner.member } }
    },
    // MySQL finds wrong rows where EXISTS stands in ON
    join: `left join (select * from ${table.name} ${alias} where ${where}) ${alias} on ` +
      `${pairs.map(([own, other]) => `${alias}.${other} = ${parent}.${own}`).join(' and ')} ${inner?.join ?? ''}`,
    places: [[[alias], alias], ...(inner?.places ?? []).map(([names, each]) => [[alias, ...names], each] as const)]
  }
}

/** Columns of which one value is equal to no other. */
const EXACT = ['a', 'b', 'n', 'm', 'x', 'rid']

/** Rows grouped by columns of members, and their aggregates, are what plain SQL groups. */
export const groupsAreThoseOfPlainSql: Run = async (t, { post, sql, server }, tables, { seed, runs }) => {
  const draw = createDraw(seed * 1000 + 1)
  const counts = { groups: 0, nulls: 0, joined: 0, inner: 0, some: 0, having: 0, streamed: 0 }
  for (let run = 0; run < runs; run++) {
    const root = draw.one(tables)
    const members = Array.from(
      { length: 1 + draw.below(2) }, (_, index) => [`j${index}`, drawJoined(draw, tables, `j${index}`)] as const
    )
    const places = members.flatMap(([, joined]) => joined.places)
    const columnOf = ([names]: typeof places[number], column: string): object =>
      names.reduceRight<object | string>((given, name) => ({ [name]: given }), column) as object
    const terms = places.flatMap(
      (place) => Array.from({ length: 1 + draw.below(2) }, () => [place, draw.one(EXACT)] as const)
    ).slice(0, 5)
    // each member is used
    const counted = places.map((place, index) => [`c${index}`, place, draw.one(COLUMNS)] as const)
    const summed = places.map((place, index) => [`m${index}`, place, draw.one(['m', 'n', 'rid'])] as const)
    const own = draw.chance(0.3) ? [draw.one(EXACT)] : []
    const groups = [...own.map((column) => [column, column, `p.${column}`] as const), ...terms.map((
      [place, column], index
    ) => [`g${index}`, { [`g${index}`]: columnOf(place, column) }, `${place[1]}.${column}`] as const)]
    const [filters, where] = draw.chance(0.4)
      ? drawRelated(draw, tables, { alias: 'p', levels: 3 })
      : drawFilters(draw, 'p')
    const [of, passes] = draw.chance(0.5)
      ? drawRelated(draw, tables, { alias: 'p', levels: 2 })
      : drawFilters(draw, 'p')
    const [having, had] = draw.one([
      [{}, '1 = 1'], [{}, '1 = 1'], [{ count: { $gte: 2 } }, 'count(*) >= 2'],
      [{ g0: null }, `${groups.at(own.length)?.[2]} is null`],
      [{ last: { $gt: 15 }, g0: { $null: false } }, `max(p.rid) > 15 and ${groups.at(own.length)?.[2]} is not null`]
    ] as const)
    const body = {
      verb: 'select',
      groupBy: groups.map(([, entry]) => entry),
      aggregates: {
        count: { $count: '*' },
        last: { $max: 'rid' },
        some: { $count: '*', ...Object.keys(of).length > 0 && { filters: of } },
        ...Object.fromEntries(counted.map(([name, place, column]) => [name, { $count: columnOf(place, column) }])),
        ...Object.fromEntries(summed.map(([name, place, column]) => [
          name, { $max: columnOf(place, column), ...Object.keys(of).length > 0 && { filters: of } }
        ]))
      },
      include: Object.fromEntries(members.map(([name, { member }]) => [name, member])),
      filters,
      ...Object.keys(having).length > 0 && { having },
      orderBy: groups.map(([name]) => ({ [name]: 'ASC' })),
      limit: 1000
    }
    const { error, data } = (await post(root.name, body)).json
    const list = groups.map(([name, , column]) => `${column} as ${name}`)
    const computed = [
      'count(*) as count', 'max(p.rid) as last', `count(case when ${passes} then 1 end) as some`,
      ...counted.map(([name, [, alias], column]) => `count(${alias}.${column}) as ${name}`),
      ...summed.map(([name, [, alias], column]) => `max(case when ${passes} then ${alias}.${column} end) as ${name}`)
    ]
    const wanted = await sql(`select ${[...list, ...computed].join(', ')} from ${root.name} p
      ${members.map(([, { join }]) => join).join(' ')} where ${where}
      group by ${groups.map(([, , column]) => column).join(', ')} having ${had}`)
    const textOf = (rows: object[]): string[] => rows.map((row) => JSON.stringify({ ...row }))
    counts.groups += wanted.length
    counts.joined += places.length
    counts.inner += places.length - members.length
    if (JSON.stringify(of).includes('$some')) counts.some++
    if (had !== '1 = 1') counts.having++
    if (wanted.some(({ g0: value }) => value === null)) counts.nulls++
    const why = JSON.stringify({ error, table: root.name, body })
    if (!t.strictSame(textOf(data?.rows ?? []).sort(), textOf(wanted).sort(), why)) return
    const key = ({ [groups[0]?.[0] ?? '']: value }: Record<string, any>): any => value
    t.ok(data.rows.every((row: object, index: number, rows: object[]) => index === 0 ||
      key(rows[index - 1] as object) === null ||
      (key(row as object) !== null && key(rows[index - 1] as object) <= key(row as object))), `in their order: ${why}`)
    if (!draw.chance(0.3)) continue
    counts.streamed++
    const { body: lines } = await server.app.inject({
      method: 'POST',
      url: `/api/shop/${root.name}`,
      headers: { authorization: `Bearer ${TOKEN}`, accept: 'application/x-ndjson' },
      payload: body
    })
    t.same(lines.trim().split('\n').filter(Boolean), textOf(data.rows), `streamed: ${why}`)
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.groups > runs / 2 && counts.joined > runs / 2 && counts.inner > 0 && counts.some > 0 &&
    counts.having > 0, JSON.stringify(counts))
}

/** A list beside `returning`, and the same rows in SQL for a row of the written table. */
function drawList (draw: Draw, tables: readonly Drawn[]): {
  readonly body: object, from (table: string, rid: number): string
} {
  const { name, starts } = draw.one(tables)
  const theirs = draw.one(starts)
  const own = draw.one(KINDS.find((kind) => kind.includes(theirs)) as string[])
  const [filters, where] = drawFilters(draw, 'c')
  return {
    body: { table: name, on: { [own]: theirs }, as: 'list', columns: ['rid'], orderBy: 'rid', filters },
    from: (table, rid) =>
      `(select c.rid as rid from ${name} c, ${table} p where p.rid = ${rid} and c.${theirs} = p.${own} and ${where}) m`
  }
}

/**
 * An update or delete changes the rows that plain SQL finds. With `returning` it returns them, with members as they are
 * then.
 */
export const writesChangeWhatPlainSqlFinds: Run = async (t, { post, sql }, drawn, { seed, runs }) => {
  const tables = drawn.filter(({ isView }) => isView === undefined)
  const draw = createDraw(seed * 1000)
  const ridsOf = async (statement: string): Promise<number[]> =>
    (await sql(`select rid from ${statement} order by rid`)).map(({ rid }) => Number(rid))
  const counts = { some: 0, none: 0, all: 0, included: 0, members: 0 }
  for (let run = 0; run < runs; run++) {
    const table = draw.one(tables)
    const [filters, where] = drawRelated(draw, tables.filter((each) => each !== table), {
      alias: table.name, levels: 3
    })
    const found = await ridsOf(`${table.name} where ${where}`)
    const all = table.rows.length
    counts[found.length === 0 ? 'none' : found.length === all ? 'all' : 'some']++
    const kept = table.rows.map((row) => Number(row['rid'])).filter((rid) => !found.includes(rid))
    const isDelete = draw.chance(0.5)
    const expect = draw.one([{}, { expect: found.length }, { expect: { $lte: found.length } }])
    const returning = table.key.length > 0 && draw.chance(0.6) ? { returning: ['rid'] } : {}
    const member = 'returning' in returning && !isDelete ? drawList(draw, tables) : undefined
    if (member !== undefined) counts.included++
    const body = {
      ...isDelete ? { verb: 'delete' } : { verb: 'update', data: { d: '77.00' } },
      filters,
      ...expect,
      ...returning,
      ...member !== undefined && { include: { found: member.body } }
    }
    const { json } = await post(table.name, body)
    // constants can be all that is left
    if (json.error?.code === 'FILTERS_REQUIRED') {
      t.equal(found.length, all, JSON.stringify(body))
      continue
    }
    t.equal(json.data?.[isDelete ? 'deleted' : 'updated'], found.length, JSON.stringify({ body, error: json.error }))
    if (json.data?.rows !== undefined) {
      t.same(
        json.data.rows.map(({ rid }: { rid: number }) => rid).sort((a: number, b: number) => a - b), found,
        JSON.stringify(body)
      )
    }
    for (const { rid, found: members } of member === undefined ? [] : json.data?.rows ?? []) {
      counts.members += members.length
      t.same(members.map((row: { rid: number }) => row.rid), await ridsOf(member?.from(table.name, rid) ??
        ''), `members of row ${rid} as they are after the write: ${JSON.stringify(body)}`)
    }
    t.same(await ridsOf(isDelete ? table.name : `${table.name} where d <> 77 or d is null`), kept, JSON.stringify(body))
    for (const row of table.rows.filter((each) => found.includes(Number(each['rid'])))) {
      if (!isDelete) await sql(`delete from ${table.name} where rid = ${String(row['rid'])}`)
      await sql(insertOf(table.name, row))
    }
  }
  t.ok(counts.some > 0)
  t.comment(JSON.stringify(counts))
  if (runs >= 40) {
    t.ok(counts.some > runs / 4 && counts.none > runs / 20 && counts.included > runs / 10, JSON.stringify(counts))
  }
}
