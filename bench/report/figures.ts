import type { Row } from './results.ts'

export const CPU = 'CPU s / 10,000'

/** The columns of a measurement, and the cells of a row. */
export const FIGURES = ['requests/s', 'p50 ms', 'p99 ms', CPU, 'peak MB', 'not 2xx'] as const

export function figures ({ requestsPerSecond, p50, p99, cpu, peakMemory, bad }: Row): string[] {
  return [requestsPerSecond.toFixed(0), p50.toFixed(1), p99.toFixed(1), significant(cpu), peakMemory.toFixed(0), String(bad)]
}

/** Two decimals below ten, otherwise one. */
export function significant (value: number): string {
  return value.toFixed(value < 10 ? 2 : 1)
}
