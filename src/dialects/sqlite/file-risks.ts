import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Risks } from '../dialect.ts'

/** Permission bits of POSIX: every account may write, and only the owner of a file may remove it from a shared folder. */
const WRITABLE = 0o002
const STICKY = 0o1000

/** Finds out whether other accounts of this machine may change the database. */
export function findFileRisks (path: string): Risks {
  const risks: string[] = []
  if ((statSync(path).mode & WRITABLE) !== 0) risks.push('every account of this machine may write the file: chmod o-w')
  if ((statSync(dirname(path)).mode & (WRITABLE | STICKY)) === WRITABLE) risks.push('every account of this machine may replace the file: chmod o-w its folder')
  return { excess: [], risks, enough: [] }
}
