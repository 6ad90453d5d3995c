const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d] as const

/** The place after the object that begins at `from`; the end of the bytes if it does not end. */
export function endOfObject (bytes: Uint8Array, from: number): number {
  let depth = 0
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === OPEN) depth++
    else if (byte === CLOSE && --depth === 0) return at + 1
    else if (byte === QUOTE) {
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++
    }
  }
  return bytes.length
}
