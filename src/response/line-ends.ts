/** Escapes the characters at which readers end a line in JSON text that has been written. */
import { escapeOf, LINE_ENDS } from '../json/line-ends.ts'
import type { Output } from './output.ts'

const ESCAPES = LINE_ENDS.map((character) => {
  return { bytes: Buffer.from(character), escape: Buffer.from(escapeOf(character)) }
})

const BEYOND_ASCII = 0x80

/** Escapes them in the whole output. They are rare, and Node finds them at a hundredth of the cost of writing a row. */
export function escapeLineEnds (output: Output): void {
  const { length } = output
  const text = output.bytes.subarray(0, length)
  let longer = 0
  for (const { bytes, escape } of ESCAPES) {
    for (let at = text.indexOf(bytes); at !== -1; at = text.indexOf(bytes, at + bytes.length)) {
      longer += escape.length - bytes.length
    }
  }
  if (longer === 0) return
  output.reserve(longer)
  output.length = length + longer
  // from the end, so that nothing is overwritten before it has been moved
  const { bytes: target } = output
  for (let from = length, to = output.length; from < to;) {
    const isAscii = (target[from - 1] as number) < BEYOND_ASCII
    const found = isAscii ? undefined : ESCAPES.find(({ bytes }) => endsWith(target, from, bytes))
    if (found === undefined) target[--to] = target[--from] as number
    else {
      to -= found.escape.length
      from -= found.bytes.length
      target.set(found.escape, to)
    }
  }
}

function endsWith (target: Buffer, end: number, bytes: Buffer): boolean {
  for (let back = 1; back <= bytes.length; back++) if (target[end - back] !== bytes[bytes.length - back]) return false
  return true
}
