/** The figures of costs.json: their table, and what exceeds them. */
import { table } from '../report/markdown.ts'
import type { Calls } from './service.ts'

export interface Cost extends Calls { readonly bytes: number }

/** Counts are those of one Node and one version of MariaDB. */
export interface Costs {
  readonly node: string
  readonly mariadb: string
  readonly requests: Readonly<Record<string, Cost>>
}

const FIGURES: Readonly<Record<keyof Cost, string>> = {
  ours: 'calls of ours', packages: 'calls of packages', node: 'calls of Node', bytes: 'bytes'
}

/** How much more each may be, as a part. */
const LIMITS: ReadonlyArray<{ readonly what: string, readonly more: number, readonly of: (cost: Cost) => number }> = [
  { what: 'calls of ours', more: 0.02, of: ({ ours }) => ours },
  { what: 'calls in all', more: 0.02, of: ({ ours, packages, node }) => ours + packages + node },
  { what: 'bytes', more: 0.05, of: ({ bytes }) => bytes }
]

/** One line for each limit that a request exceeds. */
export function findExcesses (kept: Costs['requests'], measured: Costs['requests']): string[] {
  return Object.entries(kept).flatMap(([name, before]) => {
    const now = measured[name]
    if (now === undefined) return []
    return LIMITS.filter(({ more, of }) => of(now) > of(before) * (1 + more))
      .map(({ what, of }) => `${name}: ${of(now)} ${what}, ${of(before)} before`)
  })
}

/** The lines of all requests: those of this run, and those of the file for requests that have no steady figures now. */
export function renewLines (
  names: readonly string[],
  kept: Costs['requests'],
  measured: Costs['requests']
): Costs['requests'] {
  const lines = names.map((name) => [name, measured[name] ?? kept[name]] as const)
  return Object.fromEntries(lines.filter((line): line is readonly [string, Cost] => line[1] !== undefined))
}

/** What docs/benchmarks.md has of the file. */
export function costSection ({ node, mariadb, requests }: Costs): string {
  return `${costTable(requests)}\n\nCounted with Node ${node} and MariaDB ${mariadb}.`
}

/** `before`: adds by how much each figure differs, in percent. */
export function costTable (requests: Costs['requests'], before: Costs['requests'] = {}): string {
  return table(['', ...Object.values(FIGURES)], Object.entries(requests).map(([name, cost]) => [
    name, ...(Object.keys(FIGURES) as Array<keyof Cost>).map((figure) => format(cost[figure], before[name]?.[figure]))
  ]))
}

function format (now: number, before: number | undefined): string {
  const difference = before === undefined ? 0 : Math.round((now / before - 1) * 1000) / 10
  return `${now.toLocaleString('en')}${difference === 0 ? '' : ` (${difference > 0 ? '+' : ''}${difference} %)`}`
}
