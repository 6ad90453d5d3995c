/** Statistics of a process with its children, for all their threads (Linux). */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

/** The process and its children: a service with workers has several. */
function familyOf (pid: number): number[] {
  const threads = readdirSync(`/proc/${pid}/task`)
  const children = threads.flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number))
  return [pid, ...children.flatMap(familyOf)]
}

/** Seconds of CPU time of the existing threads since the process started: by the scheduler's clock in nanoseconds, not by ticks of 10 ms. */
export function cpuSeconds (pid: number): number {
  const files = familyOf(pid).flatMap((each) => readdirSync(`/proc/${each}/task`).map((thread) => `/proc/${each}/task/${thread}/schedstat`))
  const times = files.map((file) => Number(readFileSync(file, 'utf8').split(' ')[0]))
  return times.reduce((sum, time) => sum + time, 0) / 1e9
}

/**
 * Seconds of CPU time of the threads besides the first one of each process: they compile code and collect garbage.
 */
export function otherSeconds (pid: number): number {
  const main = familyOf(pid).map((each) => Number(readFileSync(`/proc/${each}/task/${each}/schedstat`, 'utf8').split(' ')[0]))
  return cpuSeconds(pid) - main.reduce((sum, time) => sum + time, 0) / 1e9
}

/** Resident memory in MB: the peak since the last reset, or the current value. */
export function memory (pid: number, which: 'VmHWM' | 'VmRSS'): number {
  const statuses = familyOf(pid).map((each) => readFileSync(`/proc/${each}/status`, 'utf8'))
  return statuses.reduce((sum, status) => sum + Number(new RegExp(`^${which}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024, 0)
}

/** Resets the peak to the current value. */
export function resetPeak (pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
