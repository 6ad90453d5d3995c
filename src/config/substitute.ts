/**
 * Replaces `${NAME}` and `${file:path}` in the strings of a configuration file, so that it need not contain secrets.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { decodeUtf8, orThrow } from '../config-errors.ts'
import type { Environment } from './variables.ts'

/** Maximum size of a file, in bytes. Kubernetes and Docker allow secrets of 1 MiB and 500 kB. */
const MAX_SIZE = 1_048_576

/** Without the newline at the end. @throws Error with the reason, which contains nothing of the file */
function readSecretFile (path: string): string {
  const bytes = readBytes(path)
  if (bytes.length > MAX_SIZE) throw new Error('is larger than 1 MiB')
  const text = decodeUtf8(bytes).replace(/\r?\n$/, '')
  if (text === '') throw new Error('is empty')
  return text
}

/** Reads at most one byte more than MAX_SIZE. Without O_NONBLOCK, opening a FIFO would wait for a writer. */
function readBytes (path: string): Buffer {
  const file = orThrow(
    () => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
    (error: NodeJS.ErrnoException) => new Error(`cannot be read (${error.code})`)
  )
  try {
    if (!fstatSync(file).isFile()) throw new Error('is not a regular file')
    const bytes = Buffer.alloc(MAX_SIZE + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null)
    }
    return bytes.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

const FORM =
  'after ${, the name of a variable or file:path and a closing brace are required; write $${ for the characters ${'

/** `$${` stands for `${`. A reference ends at the next brace; without one it is invalid. */
const REFERENCE = /\$\$\{|\$\{(?:([^}]*)\})?/g

/**
 * Replaces the references in all strings of a parsed file, in place. Keys stay as they are, and inserted texts are not
 * searched again. Returns a line for each string with an invalid reference, by its setting (`databases.shop.url`). No
 * line contains a value.
 */
export function substitute (root: object, env: Environment): Map<string, string> {
  const errors = new Map<string, string>()
  const visit = (holder: Record<string, unknown>, path: string): void => {
    for (const key of Object.keys(holder)) {
      const { [key]: value } = holder
      const setting = path === '' ? key : `${path}.${key}`
      if (typeof value === 'object' && value !== null) visit(value as Record<string, unknown>, setting)
      else if (typeof value === 'string') {
        holder[key] = replace(value, env, (reason) => errors.set(setting, `${setting}: ${reason}`))
      }
    }
  }
  visit(root as Record<string, unknown>, '')
  return errors
}

function replace (text: string, env: Environment, refuse: (reason: string) => void): string {
  return text.replace(REFERENCE, (match, reference: string | undefined) => {
    if (match.startsWith('$$')) return match.slice(1)
    try {
      return resolve(reference ?? '', env)
    } catch (error) {
      refuse((error as Error).message)
      return match
    }
  })
}

function resolve (reference: string, env: Environment): string {
  if (reference.startsWith('file:') && reference.length > 'file:'.length) {
    const path = reference.slice('file:'.length)
    return orThrow(() => readSecretFile(path), ({ message }) => new Error(`the file ${path} ${message}`))
  }
  // a text with other characters may be part of a password, so the error does not repeat it
  if (!/^[A-Za-z_]\w*$/.test(reference)) throw new Error(FORM)
  const value = Object.hasOwn(env, reference) ? env[reference] : undefined
  if (value === undefined) throw new Error(`the variable ${reference} is not set`)
  if (value === '') throw new Error(`the variable ${reference} is empty`)
  return value
}
