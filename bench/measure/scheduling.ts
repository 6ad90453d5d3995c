import { execFileSync } from 'node:child_process'

/**
 * Has this process, and all that it starts from now on, wait for a core until whoever has it gives it up or has used up its time
 * (Linux, `SCHED_BATCH`, sched(7)). By the usual policy a process that wakes up drives the running one off: on a machine whose cores
 * the database, the clients and the measured one share, some hundred times in a thousand requests, and how often hangs on the
 * moment, the one that is measured and even the sessions that the processes were started in (autogroups).
 * @throws Error where there is no `chrt` (util-linux)
 */
export function letRunOn (): void {
  execFileSync('chrt', ['--batch', '--all-tasks', '--pid', '0', String(process.pid)], { stdio: ['ignore', 'ignore', 'inherit'] })
}
