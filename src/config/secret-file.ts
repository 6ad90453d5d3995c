import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { orThrow } from '../config-errors.ts'

/** Maximum size of a file, in bytes. Kubernetes and Docker allow secrets of 1 MiB and 500 kB. */
const MAX_SIZE = 1_048_576

/** Returns the text of a file without the newline at its end. @throws Error with the reason, which contains nothing of the file */
export function readSecretFile (path: string): string {
  const bytes = readBytes(path)
  if (bytes.length > MAX_SIZE) throw new Error('is larger than 1 MiB')
  const text = orThrow(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes), () => new Error('is not UTF-8 text')).replace(/\r?\n$/, '')
  if (text === '') throw new Error('is empty')
  return text
}

/** Reads at most one byte more than MAX_SIZE. Without O_NONBLOCK, opening a FIFO would wait for a writer. */
function readBytes (path: string): Buffer {
  const file = orThrow(() => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), (error: NodeJS.ErrnoException) => new Error(`cannot be read (${error.code})`))
  try {
    if (!fstatSync(file).isFile()) throw new Error('is not a regular file')
    const bytes = Buffer.alloc(MAX_SIZE + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read) read = readSync(file, bytes, length, bytes.length - length, null)
    return bytes.subarray(0, length)
  } finally {
    closeSync(file)
  }
}
