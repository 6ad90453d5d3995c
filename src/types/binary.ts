import { Type } from '@sinclair/typebox'
import { createType, expected, ValueRefused, type ColumnType } from './column-type.ts'

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** The bytes of a base64 string (RFC 4648 section 4, padded; nothing is skipped or guessed). */
export function readBase64 (value: unknown): Buffer {
  if (typeof value !== 'string' || !BASE64.test(value)) throw expected('a base64 string')
  const bytes = Buffer.from(value, 'base64')
  if (bytes.toString('base64') !== value) throw expected('a base64 string whose last digits hold no stray bits')
  return bytes
}

/** How long the base64 of so many bytes is; left out where 32 bits do not hold it, in which generators keep lengths. */
function base64Length (bytes: number | null): { maxLength?: number } {
  const length = Math.ceil((bytes ?? Infinity) / 3) * 4
  return length < 2 ** 31 ? { maxLength: length } : {}
}

/** BINARY(n), VARBINARY and the BLOBs. `padded`: BINARY fills up with zero bytes, in a condition too. */
export function binaryType ({ bytes, padded }: { bytes: number | null, padded: boolean }): ColumnType {
  return createType({
    schema: Type.String({ title: 'Bytes', contentEncoding: 'base64', ...base64Length(bytes), description: 'Bytes in base64.', examples: ['AA=='] }),
    read: (value) => {
      const given = readBase64(value)
      if (bytes !== null && given.length > bytes) throw new ValueRefused(`is longer than ${bytes} bytes`)
      return padded && bytes !== null && given.length < bytes ? Buffer.concat([given], bytes) : given
    },
    write: (value) => `"${(value as Buffer).toString('base64')}"`
  })
}
