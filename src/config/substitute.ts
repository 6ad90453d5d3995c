/** Replaces `${NAME}` and `${file:path}` in the strings of a configuration file, so that secrets can be kept elsewhere. */
import { orThrow } from '../config-errors.ts'
import { readSecretFile } from './secret-file.ts'
import type { Environment } from './variables.ts'

const FORM = 'after ${, the name of a variable or file:path and a closing brace are required; write $${ for the characters ${'

/** `$${` stands for `${`. A reference ends at the next brace; without one it is invalid. */
const REFERENCE = /\$\$\{|\$\{(?:([^}]*)\})?/g

/**
 * Replaces the references in all strings of a parsed file, in place. Keys stay as they are, and inserted texts are not searched again.
 * Returns a line for each string with an invalid reference, by its setting (`databases.shop.url`). No line contains a value.
 */
export function substitute (root: object, env: Environment): Map<string, string> {
  const errors = new Map<string, string>()
  const visit = (holder: Record<string, unknown>, path: string): void => {
    for (const key of Object.keys(holder)) {
      const { [key]: value } = holder
      const setting = path === '' ? key : `${path}.${key}`
      if (typeof value === 'object' && value !== null) visit(value as Record<string, unknown>, setting)
      else if (typeof value === 'string') holder[key] = replace(value, env, (reason) => errors.set(setting, `${setting}: ${reason}`))
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
  // a text of another form may be part of a password, so the error does not repeat it
  if (!/^[A-Za-z_]\w*$/.test(reference)) throw new Error(FORM)
  const value = Object.hasOwn(env, reference) ? env[reference] : undefined
  if (value === undefined) throw new Error(`the variable ${reference} is not set`)
  if (value === '') throw new Error(`the variable ${reference} is empty`)
  return value
}
