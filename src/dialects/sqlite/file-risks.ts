import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Risks } from '../dialect.ts'

/** Permission bits of POSIX: what every account may write, and the one that keeps a file in a shared folder its owner's. */
const WRITABLE = 0o002
const STICKY = 0o1000

/** Who else on this machine may change the database. */
export function findFileRisks (path: string): Risks {
  const risks: string[] = []
  if ((statSync(path).mode & WRITABLE) !== 0) risks.push('every account of this machine may write the file: chmod o-w')
  if ((statSync(dirname(path)).mode & (WRITABLE | STICKY)) === WRITABLE) risks.push('every account of this machine may replace the file: chmod o-w its folder')
  return { excess: [], risks, enough: [] }
}
