/** Parts are written between turns of the event loop. */
import { PART, type LongWork } from '../in-pieces.ts'
import type { DriverValue, LongValue } from './column-type.ts'
import { checkJson } from './json-text.ts'

/** Bytes that base64 writes without padding. */
const BASE64_PART = PART / 4 * 3

function * textParts (text: string | Buffer): Generator<string | Buffer> {
  for (let from = 0; from < text.length;) {
    const to = typeof text === 'string' ? endOfUnits(text, from + PART) : endOfBytes(text, from + PART)
    yield typeof text === 'string' ? text.slice(from, to) : text.subarray(from, to)
    from = to
  }
}

function endOfUnits (text: string, end: number): number {
  const before = text.charCodeAt(end - 1)
  return end < text.length && before >= 0xd800 && before < 0xdc00 ? end - 1 : Math.min(end, text.length)
}

/** Goes back three bytes at most, because what is not UTF-8 has no beginnings of characters. */
function endOfBytes (bytes: Buffer, end: number): number {
  for (let to = end; to < bytes.length && to > end - 4; to--) if (((bytes[to] as number) & 0xc0) !== 0x80) return to
  return Math.min(end, bytes.length)
}

function * base64Parts (bytes: Buffer): Generator<string> {
  for (let from = 0; from < bytes.length; from += BASE64_PART) yield bytes.toString('base64', from, from + BASE64_PART)
}

const bytesOf = (value: DriverValue): Buffer =>
  typeof value === 'string'
    ? Buffer.from(value)
    : Buffer.from((value as Uint8Array).buffer, (value as Uint8Array).byteOffset, (value as Uint8Array).byteLength)

export function * longText (value: DriverValue): LongWork<LongValue> {
  return { isText: true, parts: textParts(value as string | Buffer) }
}

export function * longBinary (value: DriverValue): LongWork<LongValue> {
  return { isText: true, parts: base64Parts(bytesOf(value)) }
}

/** JSON, which the engine guarantees. */
export function * longJson (value: DriverValue): LongWork<LongValue> {
  return { isText: false, parts: textParts(value as Buffer) }
}

/** JSON, or any other text. */
export function * longCheckedJson (value: DriverValue): LongWork<LongValue> {
  const bytes = bytesOf(value)
  return { isText: !(yield * checkJson(bytes)), parts: textParts(bytes) }
}
