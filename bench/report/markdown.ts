import { figures, FIGURES } from './figures.ts'
import type { Results, Row, WorkloadResult } from './results.ts'

const HEAD = ['', ...FIGURES, 'CPU ratio (spread)']

/** The whole report as Markdown. */
export function toMarkdown ({ stamp, workloads, growth }: Results): string {
  return [
    '# Benchmark',
    `${stamp.date}, commit ${stamp.commit}, ${stamp.machine}. ${stamp.effort}.`,
    Object.entries(stamp.versions).map(([name, version]) => `${name} ${version}`).join(', ') + '.',
    'CPU is that of the process that answers, in seconds for 10,000 requests. The ratio compares it with the better hand-written route: the median of the rounds and, in parentheses, the least and the most.',
    workloadTable(workloads),
    ...growth.flatMap(({ title, columns, rows }) => [`## ${title}`, table(columns, rows)])
  ].join('\n\n') + '\n'
}

/** One table for all workloads. */
export function workloadTable (workloads: readonly WorkloadResult[]): string {
  return table(HEAD, workloads.flatMap(({ workload, rows }) => [
    [`**${workload}**`, ...HEAD.slice(1).map(() => '')],
    ...rows.map(cells)
  ]))
}

function cells (row: Row): string[] {
  const { name, ratio } = row
  return [name, ...figures(row), ratio === undefined ? '' : `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}-${ratio.max.toFixed(2)})`]
}

/** Padded, so that it reads as well in a terminal; the first column is text, the others are numbers. */
export function table (head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const widths = head.map((title, column) => Math.max(3, title.length, ...rows.map((row) => (row[column] as string).length)))
  const line = (row: readonly string[]): string => `| ${row.map((cell, column) => column === 0 ? cell.padEnd(widths[0] as number) : cell.padStart(widths[column] as number)).join(' | ')} |`
  const rule = widths.map((width, column) => column === 0 ? '-'.repeat(width) : '-'.repeat(width - 1) + ':')
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}
