/**
 * Who runs on which core (Linux). What is measured has one to itself and everything else - database, clients, this process - the
 * others: left to the system, they drive each other off their cores some hundred times in a thousand requests, which costs whoever
 * is measured up to a third more in one second and nothing in the next.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const [own, ...others] = coresOf(readFileSync('/proc/self/status', 'utf8'))

/** What a command begins with that is to have the core; nothing where there is only one. */
export const ON_OWN_CORE: readonly string[] = others.length === 0 ? [] : ['taskset', '-c', String(own)]

/** Takes this process, with all that it starts from now on, off that core. @throws Error where there is no `taskset` (util-linux) */
export function leaveOwnCore (): void {
  if (others.length > 0) execFileSync('taskset', ['-a', '-p', '-c', others.join(), String(process.pid)], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** The cores that a process may run on, from its status: `Cpus_allowed_list: 0-2,5`. */
export function coresOf (status: string): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? ''
  return list.split(',').flatMap((part) => {
    const [first, last = first] = part.split('-').map(Number) as [number, number?]
    return Array.from({ length: last as number - first + 1 }, (_, index) => first + index)
  })
}
