/** Statistics of a process, for all its threads (Linux). */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

/** Seconds of CPU time of the existing threads since the process started: by the scheduler's clock in nanoseconds, not by ticks of 10 ms. */
export function cpuSeconds (pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const times = threads.map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]))
  return times.reduce((sum, time) => sum + time, 0) / 1e9
}

/** Resident memory in MB: the peak since the last reset, or the current value. */
export function memory (pid: number, which: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${which}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
}

/** Resets the peak to the current value. */
export function resetPeak (pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
