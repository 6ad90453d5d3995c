/** Reads the arguments of tools that do not send requests. */
import { at, invalidBody, limitOutOfRange, type ServiceError } from '../errors.ts'
import { clampNumbers } from '../request/check-body.ts'
import type { Arguments } from './tool.ts'

/** Refuses unknown arguments, and makes numbers ordinary ones. @throws INVALID_BODY */
export function readArguments<Name extends string> (args: Arguments, names: readonly Name[]): Readonly<Partial<Record<Name, unknown>>> {
  const other = Object.keys(args).find((name) => !names.includes(name as Name))
  if (other !== undefined) throw refuse(other, `"${other}" is not an argument; the arguments are ${names.join(', ')}`)
  return clampNumbers({ ...args }) as Partial<Record<Name, unknown>>
}

/** Reads a string; undefined if it is omitted. @throws INVALID_BODY for any other value */
export function readText (name: string, value: unknown): string | undefined {
  if (value !== undefined && typeof value !== 'string') throw refuse(name, `"${name}" must be a string`)
  return value
}

/** @throws INVALID_BODY */
export function requireText (name: string, value: unknown, hint: string): string {
  const text = readText(name, value)
  if (text === undefined) throw refuse(name, `"${name}" is required: ${hint}`)
  return text
}

/** @throws INVALID_BODY, LIMIT_OUT_OF_RANGE */
export function readLimit (value: unknown, { fallback, most }: { readonly fallback: number, readonly most: number }): number {
  if (value === undefined) return fallback
  if (!Number.isInteger(value)) throw refuse('limit', '"limit" must be a whole number')
  if ((value as number) < 1 || (value as number) > most) throw at(['limit'], limitOutOfRange(most))
  return value as number
}

export const refuse = (name: string, message: string): ServiceError => at([name], invalidBody(message))
