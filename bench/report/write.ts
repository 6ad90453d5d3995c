import { mkdirSync, writeFileSync } from 'node:fs'
import { toChart } from './chart.ts'
import { toReport, toSummary } from './markdown.ts'
import type { Results } from './results.ts'
import { writeSection } from './sections.ts'

const ROOT = new URL('../../', import.meta.url)

/** Writes the results as data and as tables, without the single latencies. */
export function writeResults (folder: URL, results: Results): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL('benchmark.md', folder), `# Benchmark\n\n\`docs/internals/benchmarking.md\` says what is compared, and how.\n\n${toReport(results, '##')}`)
  writeFileSync(new URL('benchmark.json', folder), JSON.stringify(results, (key, value: unknown) => key === 'latencies' ? undefined : value, 1) + '\n')
}

/** Writes the tables in the documents and the chart. `own` is the contender that the chart highlights. */
export function writeDocuments (results: Results, own: string): void {
  writeFileSync(new URL('docs/benchmarks.svg', ROOT), toChart(results, own))
  writeSection(new URL('docs/benchmarks.md', ROOT), toSummary(results), 'benchmark')
}
