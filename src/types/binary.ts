import { Type } from '@sinclair/typebox'
import { createType, expected, ValueTooLong, type ColumnType } from './column-type.ts'
import { longBinary } from './long-values.ts'

// No check of a text of any length repeats a group: V8 keeps a position for each repetition, and runs out of stack.

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Strict (RFC 4648 section 4): padding is required, other characters are refused. @throws ValueRefused */
export function readBase64 (value: unknown): Buffer {
  if (typeof value !== 'string' || value.length % 4 !== 0 || !BASE64.test(value)) throw expected('a base64 string')
  const bytes = Buffer.from(value, 'base64')
  if (bytes.toString('base64') !== value) throw expected('a base64 string whose unused bits are zero')
  return bytes
}

const DIGIT = '[A-Za-z0-9+/]'
const TWO_BYTES = `${DIGIT}{2}[AEIMQUYcgkosw048]=`
const ONE_BYTE = `${DIGIT}[AQgw]==`
/** Repetitions in a regular expression; some engines refuse more. */
const MAX_REPEATED = 1000

/**
 * For large columns it does not limit the length, and `maxLength` allows one or two bytes more. V8 keeps no position
 * for a repeated group that captures nothing and has no quantifier.
 */
function base64Pattern (bytes: number): string {
  const groups = Math.floor(bytes / 3)
  const rest = bytes % 3
  if (groups > MAX_REPEATED) return `^(?:${DIGIT}${DIGIT}${DIGIT}${DIGIT})*(${ONE_BYTE}|${TWO_BYTES})?$`
  if (rest === 2) return `^(${DIGIT}{4}){0,${groups}}(${ONE_BYTE}|${TWO_BYTES})?$`
  if (groups === 0) return `^(${ONE_BYTE})?$`
  return `^(${DIGIT}{4}){0,${groups - 1}}(${DIGIT}{4}${rest === 1 ? `(${ONE_BYTE})?` : ''}|${ONE_BYTE}|${TWO_BYTES})?$`
}

/** Omitted if it exceeds 31 bits, because client generators store lengths as int32. */
function base64Length (bytes: number | null): { maxLength?: number } {
  const length = Math.ceil((bytes ?? Infinity) / 3) * 4
  return length < 2 ** 31 ? { maxLength: length } : {}
}

/** BINARY(n), VARBINARY and the BLOB types. `padded`: pad with zero bytes as BINARY does, in conditions too. */
export function binaryType ({ bytes, padded }: { bytes: number | null, padded: boolean }): ColumnType {
  return createType({
    schema: Type.String({
      title: `Bytes${bytes ?? ''}`,
      contentEncoding: 'base64',
      ...base64Length(bytes),
      pattern: base64Pattern(bytes ?? Infinity),
      description: 'Bytes in base64.',
      examples: ['AA==']
    }),
    unbounded: Type.String({ contentEncoding: 'base64', pattern: base64Pattern(Infinity) }),
    read: (value) => {
      const buffer = readBase64(value)
      if (bytes !== null && buffer.length > bytes) throw new ValueTooLong(`is longer than ${bytes} bytes`)
      return padded && bytes !== null && buffer.length < bytes ? Buffer.concat([buffer], bytes) : buffer
    },
    ...(padded && {
      keeps: (value: unknown) => bytes === null || Buffer.from(String(value), 'base64').length === bytes
    }),
    long: longBinary,
    write: (value) => `"${(value as Buffer).toString('base64')}"`,
    // MySQL shows the bytes up to the first zero byte, and MariaDB shows a ? for bytes that are not text
    defaultOf: () => undefined
  })
}

/** Both servers show defaults so, without leading zeros. */
const BIT_LITERAL = /^b'([01]+)'$/

/** BIT(1) is a boolean, BIT(n) a string of n zeros and ones, the most significant bit first. */
export function bitType (length: number): ColumnType {
  const pattern = new RegExp(`^[01]{1,${length}}$`)
  const show = (bits: bigint): string =>
    length === 1 ? String(bits === 1n) : `"${bits.toString(2).padStart(length, '0')}"`
  return createType({
    schema:
      length === 1
        ? Type.Boolean({ title: 'Bit', examples: [true] })
        : Type.String({
          title: `Bits${length}`,
          pattern: `^[01]{1,${length}}$`,
          description: 'Bits, the most significant bit first.',
          examples: ['1'.padStart(length, '0')]
        }),
    read: (value) => {
      if (length === 1) {
        if (typeof value !== 'boolean') throw expected('true or false')
        return BigInt(value)
      }
      if (typeof value !== 'string' || !pattern.test(value)) {
        throw expected(`a string of at most ${length} zeros and ones`)
      }
      return BigInt('0b' + value)
    },
    write: (value) => show(BigInt('0x' + (value as Buffer).toString('hex'))),
    storedJson: (parameter) => show(parameter as bigint),
    keeps: (value) => length === 1 || String(value).length === length,
    defaultOf: (text) => {
      const [, bits] = BIT_LITERAL.exec(text) ?? []
      return length === 1 && bits !== undefined ? bits === '1' : bits
    },
    ranked: false
  })
}
