import { works } from './shell.ts'
import type { Program } from './program.ts'

/** The number of `nobody` on every Linux: its group has different names. */
const NOBODY = 65534

/** As whom a server runs, and the words before and after the program that make it so. */
export interface User { before: string[], options: string[], uid?: number }

/**
 * The servers refuse to run as root by accident. If we are root they run as `nobody`; where `nobody`
 * cannot read the program or the temporary folder (a project under /root, say), they are told
 * `--user=root`. Where the system can do it, the server dies with this process, whatever happens to it.
 */
export function userFor (program: Program, folder: string): User {
  const lifeline = works(['setpriv', '--pdeathsig', 'KILL', 'true']) ? ['--pdeathsig', 'KILL'] : []
  const alone: User = { before: lifeline.length > 0 ? ['setpriv', ...lifeline] : [], options: [] }
  if (process.getuid?.() !== 0) return alone
  const drop = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...lifeline]
  const env = Object.entries(program.env).map(([name, value]) => `${name}=${value}`)
  const canRun = works([...drop, 'env', ...env, ...program.words, '--no-defaults', '--version'])
  const canReach = works([...drop, 'test', '-x', folder])
  return canRun && canReach ? { before: drop, options: [], uid: NOBODY } : { ...alone, options: ['--user=root'] }
}
