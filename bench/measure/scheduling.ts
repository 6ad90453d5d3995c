import { execFileSync } from 'node:child_process'

/**
 * Makes this process and its future children wait for a core until the running process yields it or has used its time slice
 * (Linux, `SCHED_BATCH`, sched(7)). By default a process that wakes up preempts the running one. On a machine where
 * the database, the clients and the measured process share the cores, this happens some hundred times per thousand requests, and depends on
 * the moment, the measured process and even the sessions in which the processes were started (autogroups).
 * @throws Error if `chrt` (util-linux) is missing
 */
export function letRunOn (): void {
  execFileSync('chrt', ['--batch', '--all-tasks', '--pid', '0', String(process.pid)], { stdio: ['ignore', 'ignore', 'inherit'] })
}
