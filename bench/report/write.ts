import { mkdirSync, writeFileSync } from 'node:fs'
import { toChart } from './chart.ts'
import { toMarkdown } from './markdown.ts'
import type { Results } from './results.ts'

/** The table, the chart and everything that was measured. `own` is the contender that the chart is about. */
export function writeResults (folder: URL, results: Results, own: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL('benchmark.md', folder), toMarkdown(results))
  writeFileSync(new URL('benchmark.svg', folder), toChart(results, own))
  writeFileSync(new URL('benchmark.json', folder), JSON.stringify(results, undefined, 1) + '\n')
}
