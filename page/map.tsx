/** The start: the tables with their numbers of rows, what refers to what, summaries that may be worth a look, and where one left off. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Icon } from './icons.tsx'
import { readKept } from './kept.ts'
import { memberOf, writeLine, type JsonObject } from './json.ts'
import { arrangeMap, HEIGHT, type Placed } from './map-layout.ts'
import { useNarrow } from './menu.tsx'
import { writeRoute } from './route.ts'
import { useStage } from './stage.tsx'
import type { Table } from './table.ts'

/** Rows that are counted at most, tables that are counted, at a time so many. */
const COUNTED = 10_000
const MAX_COUNTED = 60
const AT_ONCE = 4
/** Tables that are drawn; more are in the list alone. */
const MAX_DRAWN = 40
const MAX_LISTED = 200
const MAX_SUMMARIES = 3

/** Where the page keeps the names of the tables that were opened last. */
export const RECENT = 'tables opened of '

const describeCount = (count: number): string => count >= COUNTED ? '10,000+ rows' : count === 1 ? '1 row' : `${count.toLocaleString('en')} rows`

export function DatabaseMap () {
  const { document, service } = useStage()
  const tables = useMemo(() => document.tables.slice(0, MAX_LISTED).map(({ name }) => document.table(name) as Table), [document])
  /** Why nothing is counted: the documents may be public, and rows are not. */
  const [refusal, setRefusal] = useState('')
  const [counts, setCounts] = useState<ReadonlyMap<string, number>>(new Map())
  useEffect(() => {
    const controller = new AbortController()
    const queue = tables.filter(({ verbs }) => verbs.includes('select')).slice(0, MAX_COUNTED)
    const count = async (): Promise<void> => {
      for (let table = queue.shift(); table !== undefined; table = queue.shift()) {
        const { name, path } = table
        const { data, failure, status } = await service.look(path, writeLine({ verb: 'select', limit: 1, total: COUNTED }), controller.signal)
        if (status === 401 && failure !== undefined) {
          setRefusal(failure.message)
          return
        }
        const total = memberOf(data, 'total')
        if (typeof total === 'number') setCounts((before) => new Map([...before, [name, total]]))
      }
    }
    for (let lane = 0; lane < AT_ONCE; lane++) count().catch(() => {})
    return () => controller.abort()
  }, [document])
  const linked = tables.filter((table) => table.relations.length > 0).slice(0, MAX_DRAWN)
  const others = tables.filter((table) => !linked.includes(table))
  const kept = readKept(RECENT + service.base + document.name)
  const recent = (Array.isArray(kept) ? kept as string[] : []).filter((name) => tables.some((table) => table.name === name))
  const summaries = useMemo(() => tables.flatMap((table) => summaryOf(table) ?? []).slice(0, MAX_SUMMARIES), [document])
  return (
    <div class='map'>
      {refusal !== '' && <p class='failure' role='alert'>{refusal}</p>}
      {recent.length > 0 && <p class='chips' role='group' aria-label='Opened last'><span class='muted'>Where you left off</span>{recent.map((name) => <a key={name} class='chip' href={writeRoute({ database: document.name, table: name })}><Icon name='table' />{name}</a>)}</p>}
      {summaries.length > 0 && <p class='chips' role='group' aria-label='Summaries'><span class='muted'>Worth a look</span>{summaries.map(({ title, table, body }) => <a key={title} class='chip' href={writeRoute({ database: document.name, table, body })}><Icon name='chart' />{title}</a>)}</p>}
      {linked.length > 0 && <Picture tables={linked} counts={counts} />}
      {others.length > 0 && (
        <ul class='cards' aria-label={linked.length > 0 ? 'Tables without relations' : 'Tables'}>
          {others.map(({ name, isView, comment, verbs }) => <li key={name}><a href={writeRoute({ database: document.name, table: name })}><Icon name={isView ? 'view' : 'table'} /><b>{name}</b><span class='muted'>{counts.has(name) ? describeCount(counts.get(name) as number) : verbs.includes('select') ? '…' : verbs.join(', ')}{isView ? ' · view' : ''}</span>{comment !== '' && <span class='muted comment'>{comment}</span>}</a></li>)}
        </ul>
      )}
      {document.tables.length > MAX_LISTED && <p class='muted'>and {document.tables.length - MAX_LISTED} more: search for them in the list.</p>}
    </div>
  )
}

/** Tables as boxes, on the left those that others refer to. */
function Picture ({ tables, counts }: { tables: readonly Table[], counts: ReadonlyMap<string, number> }) {
  const { document } = useStage()
  const [pointed, setPointed] = useState<string>()
  const isNarrow = useNarrow()
  const { boxes, boxWidth, width, height } = useMemo(() => arrangeMap(tables, isNarrow), [tables.map(({ name }) => name).join(), isNarrow])
  const characters = Math.floor((boxWidth - 20) / 8)
  const at = new Map(boxes.map((box) => [box.table.name, box]))
  const edges = boxes.flatMap((from) => from.table.relations.filter(({ isReferring, table }) => !isReferring && at.has(table)).map(({ table, on }) => ({ from, to: at.get(table) as Placed, on })))
  return (
    <div class='picture' tabIndex={0} role='region' aria-label='What refers to what'>
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height}>
        <defs><marker id='arrow' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='8' markerHeight='8' orient='auto'><path class='arrow' d='M0 0.500L7 4L0 7.500z' /></marker></defs>
        {edges.map(({ from, to, on }) => (
          <path key={`${from.table.name} ${to.table.name} ${writeLine(on.flat())}`} class={pointed === from.table.name || pointed === to.table.name ? 'edge near' : 'edge'} d={isNarrow ? edgeUp(from, to, boxWidth) : edgeOf(from, to, boxWidth)} marker-end='url(#arrow)'><title>{`${from.table.name}.${on.map(([own]) => own).join(', ')} refers to ${to.table.name}`}</title></path>
        ))}
        {boxes.map(({ table: { name }, x, y }) => (
          <a key={name} href={writeRoute({ database: document.name, table: name })} onPointerEnter={() => setPointed(name)} onPointerLeave={() => setPointed(undefined)} onFocus={() => setPointed(name)} onBlur={() => setPointed(undefined)}>
            <rect class='box' x={x} y={y} width={boxWidth} height={HEIGHT} rx={8} />
            <text class='name' x={x + 12} y={y + 20}>{name.length > characters ? `${name.slice(0, characters - 1)}…` : name}</text>
            <text class='count' x={x + 12} y={y + 37}>{counts.has(name) ? describeCount(counts.get(name) as number) : '…'}</text>
          </a>
        ))}
      </svg>
    </div>
  )
}

/** From the side of the table that refers to the other one; a table that refers to itself has a loop. */
function edgeOf (from: Placed, to: Placed, width: number): string {
  const [y1, y2] = [from.y + HEIGHT / 2, to.y + HEIGHT / 2]
  if (from === to) return loopOf(from, width)
  if (from.x > to.x) {
    const [x1, x2] = [from.x, to.x + width + 2]
    const bend = Math.max(24, (x1 - x2) / 2)
    return `M${x1} ${y1}C${x1 - bend} ${y1} ${x2 + bend} ${y2} ${x2} ${y2}`
  }
  const [x1, x2] = [from.x + width, to.x + width + 2]
  const bend = Math.max(x1, x2) + 40
  return `M${x1} ${y1}C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`
}

/** Over the upper corner on the right: no other edge is there. */
const loopOf = ({ x, y }: Placed, width: number): string => `M${x + width - 28} ${y}c0 -14 40 -14 40 2c0 6 -4 6 -10 6`

/** From the top of the table that refers to the other one, which is above it; or along the side. */
function edgeUp (from: Placed, to: Placed, width: number): string {
  if (from === to) return loopOf(from, width)
  if (from.y <= to.y) return `M${from.x + width} ${from.y + HEIGHT / 2 - 8}c18 -8 18 24 ${to.x - from.x + 2} ${to.y - from.y + 16}`
  const [x1, y1, x2, y2] = [from.x + width / 2, from.y, to.x + width / 2, to.y + HEIGHT + 2]
  const bend = Math.max(16, (y1 - y2) / 2)
  return `M${x1} ${y1}C${x1} ${y1 - bend} ${x2} ${y2 + bend} ${x2} ${y2}`
}

/** The rows of each month, with the sum of what looks like money. */
function summaryOf (table: Table): { readonly title: string, readonly table: string, readonly body: string } | undefined {
  const [moment] = table.parts.get('$month') ?? []
  const sums = table.aggregates.get('$sum') ?? []
  const money = table.columns.find(({ name, kind }) => kind === 'decimal' && sums.includes(name))
  if (moment === undefined || money === undefined || table.isView || !table.verbs.includes('select')) return undefined
  const body: JsonObject = { verb: 'select', groupBy: [{ month: { $month: moment } }], aggregates: { [`sum_${money.name}`]: { $sum: money.name }, rows: { $count: '*' } }, orderBy: 'month', limit: 100, offset: 0 }
  return { title: `${money.name} of ${table.name} by month`, table: table.name, body: writeLine(body) }
}
