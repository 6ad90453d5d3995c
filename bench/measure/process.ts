/** What the system knows about a process, all its threads together (Linux). */
import { readFileSync, writeFileSync } from 'node:fs'

/** Length of the clock's ticks that /proc counts in, in seconds: a constant of the interface on every common architecture. */
const TICK = 0.01

/** Seconds of CPU time since the process began. */
export function cpuSeconds (pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // the program's name comes second, in parentheses, and may hold spaces
  const [, ...fields] = stat.slice(stat.lastIndexOf(')')).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK
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
