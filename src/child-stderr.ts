import type { ChildProcess } from 'node:child_process'
import { writeSync } from 'node:fs'
import type { Socket } from 'node:net'

/**
 * Writes what a child process says to standard error of this process, as far as this does not wait. A child that
 * inherits a pipe or a socket makes it blocking for its parent, too.
 */
export function forwardStderr ({ stderr }: ChildProcess): void {
  stderr?.on('data', (bytes: Buffer) => {
    try {
      writeSync(process.stderr.fd, bytes)
    } catch {} // a full disk, or nobody reads it
  });
  (stderr as Socket | null)?.unref()
}
