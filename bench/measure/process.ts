/** What the system knows about a process, all its threads together (Linux). */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

/** Seconds of CPU time since the process began, of the threads that it has: by the scheduler's own clock, in nanoseconds, and not by its ticks of 10 ms. */
export function cpuSeconds (pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const times = threads.map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]))
  return times.reduce((sum, time) => sum + time, 0) / 1e9
}

/** Resident memory in MB: the most since the last reset, or what it is now. */
export function memory (pid: number, which: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${which}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
}

/** Lets the peak begin anew with what is resident now. */
export function resetPeak (pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
