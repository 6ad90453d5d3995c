/** How the bytes of one cell become JSON. */
import type { ByteForm } from '../types/column-type.ts'
import type { Output } from './output.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const FIRST_PRINTABLE = 0x20
const T = 0x54
const Z = 0x5a
/** Where the space between day and time stands: `2026-11-20 10:15:00`. */
const BETWEEN_DAY_AND_TIME = 10
/** Texts longer than this are escaped by the platform, which is faster on them than a loop. */
const LONG_TEXT = 512

/** How a cell's bytes become JSON; anything else by the type's own `write`. */
export type CellWriter = (output: Output, bytes: Buffer, start: number, end: number) => void

/** One for each form that a type may name. */
export const writers: Readonly<Record<ByteForm, CellWriter>> = {
  plain: (output, bytes, start, end) => output.copy(bytes, start, end),
  quoted: writeQuoted,
  text: writeText,
  moment: (output, bytes, start, end) => {
    const at = output.length + 1 + BETWEEN_DAY_AND_TIME
    writeQuoted(output, bytes, start, end)
    output.bytes[at] = T
  },
  instant: (output, bytes, start, end) => {
    writers.moment(output, bytes, start, end)
    output.reserve(1)
    output.bytes[output.length - 1] = Z
    output.byte(QUOTE)
  }
}

function writeQuoted (output: Output, bytes: Buffer, start: number, end: number): void {
  output.reserve(end - start + 2)
  output.byte(QUOTE)
  output.copy(bytes, start, end)
  output.byte(QUOTE)
}

/** UTF-8 in quotes. Most texts need no escape and are copied; the others are left to JSON.stringify. */
function writeText (output: Output, bytes: Buffer, start: number, end: number): void {
  if (end - start > LONG_TEXT || !copyPlain(output, bytes, start, end)) output.text(JSON.stringify(bytes.toString('utf8', start, end)))
}

/** In quotes and in one pass; nothing, and false, where a character needs an escape. */
function copyPlain (output: Output, bytes: Buffer, start: number, end: number): boolean {
  output.reserve(end - start + 2)
  const target = output.bytes
  let at = output.length
  target[at++] = QUOTE
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number
    if (byte < FIRST_PRINTABLE || byte === QUOTE || byte === BACKSLASH) return false
    target[at++] = byte
  }
  target[at++] = QUOTE
  output.length = at
  return true
}
