import { CPU, figures, FIGURES, significant } from './figures.ts'
import type { Results, Row, Stamp, WorkloadResult } from './results.ts'

const HEAD = ['', ...FIGURES, 'CPU ratio (interval)']

/** The whole report. `level`: the level of its headings, such as `##`. */
export function toReport ({ stamp, workloads, growth }: Results, level: string): string {
  return [
    `${stamp.effort}. ${stampText(stamp)}`,
    'CPU is that of the process that answers, in seconds for 10,000 requests. The ratio compares it with the better hand-written route: the median of the rounds and, in parentheses, where the median lies with a confidence of 95 %.',
    workloadTable(workloads),
    `The load generator was busy for at most ${(clientShare(workloads) * 100).toFixed(0)} % of the time.`,
    ...growth.flatMap(({ title, columns, rows }) => [`${level} ${title}`, table(columns, rows)])
  ].join('\n\n') + '\n'
}

/** One line per contender with the CPU and the ratio of each workload; the start time, if measured. */
export function toSummary ({ stamp, workloads, growth }: Results): string {
  const names = [...new Set(workloads.flatMap(({ rows }) => rows.map(({ name }) => name)))]
  const cell = (name: string, { rows }: WorkloadResult): string => {
    const row = rows.find((each) => each.name === name)
    return row === undefined ? '' : `${significant(row.cpu)}${row.ratio === undefined ? '' : ` (${row.ratio.median.toFixed(2)})`}`
  }
  return [
    table(['CPU s for 10,000 requests (ratio)', ...workloads.map(({ workload }) => workload)],
      names.map((name) => [name, ...workloads.map((workload) => cell(name, workload))])),
    ...growth.flatMap(({ summary }) => summary ?? []),
    stampText(stamp)
  ].join('\n\n') + '\n'
}

function stampText ({ date, commit, machine, load, versions }: Stamp): string {
  return `Measured ${date} at commit ${commit} on ${machine} (load before it ${load.toFixed(2)}), with ${Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', ')}.`
}

/** One table for all workloads. */
export function workloadTable (workloads: readonly WorkloadResult[]): string {
  return table(HEAD, workloads.flatMap(({ workload, rows, cold }) => [
    [`**${workload}**`, ...HEAD.slice(1).map(() => '')],
    ...rows.map(cells),
    ...cold.map(({ name, cpu, ratio }) => [name, ...FIGURES.map((figure) => figure === CPU ? significant(cpu) : ''), ratioCell(ratio)])
  ]))
}

function cells (row: Row): string[] {
  return [row.name, ...figures(row), ratioCell(row.ratio)]
}

const ratioCell = (ratio: Row['ratio']): string =>
  ratio === undefined ? '' : `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}-${ratio.max.toFixed(2)})`

/** The highest share of one core that the load generator used in any turn. */
function clientShare (workloads: readonly WorkloadResult[]): number {
  return Math.max(0, ...workloads.flatMap(({ turns }) => turns.flatMap((each) => each.turns.map(({ clientCpuSeconds, seconds }) => clientCpuSeconds / seconds))))
}

/** A table padded for terminals; the first column is text, the others are numbers. */
export function table (head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const widths = head.map((title, column) => Math.max(3, title.length, ...rows.map((row) => (row[column] as string).length)))
  const line = (row: readonly string[]): string => `| ${row.map((cell, column) => column === 0 ? cell.padEnd(widths[0] as number) : cell.padStart(widths[column] as number)).join(' | ')} |`
  const rule = widths.map((width, column) => column === 0 ? '-'.repeat(width) : '-'.repeat(width - 1) + ':')
  return [line(head), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n')
}
