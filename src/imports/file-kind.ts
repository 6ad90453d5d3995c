/** Tells what a file is that is no text in UTF-8, and what to do about it. */

const SAVE = 'in a spreadsheet, save it as "CSV UTF-8"'
const UTF_16 = `text in UTF-16: save it in UTF-8; ${SAVE}`
const WORKBOOK = `a workbook: ${SAVE}`

/** The first bytes of files that people send in place of a text. */
const BEGINNINGS: ReadonlyArray<readonly [bytes: readonly number[], kind: string]> = [
  [[0x50, 0x4b, 0x03, 0x04], `an XLSX or ZIP file: ${SAVE}, or unpack it`],
  [[0xd0, 0xcf, 0x11, 0xe0], WORKBOOK],
  [[0x25, 0x50, 0x44, 0x46], 'a PDF'],
  [[0x1f, 0x8b], 'compressed with gzip: send Content-Encoding: gzip, or unpack it'],
  [[0xff, 0xfe], UTF_16],
  [[0xfe, 0xff], UTF_16]
]

/** Bytes that `findKind` looks at. */
export const BEGINNING = 4

/** What a file is that begins with these bytes; undefined for what may be text in UTF-8. */
export function findKind (bytes: Buffer): string | undefined {
  const known = BEGINNINGS.find(([beginning]) => beginning.every((byte, index) => bytes[index] === byte))
  if (known !== undefined) return known[1]
  // every second byte of a text in UTF-16 without a mark is zero
  const zeros = [...bytes.subarray(0, BEGINNING)].map((byte) => byte === 0 ? '0' : 'x').join('')
  return zeros === '0x0x' || zeros === 'x0x0' ? UTF_16 : undefined
}

/** The first byte that is not UTF-8, and the character that it is in the encoding of older files. */
export function describeByte (bytes: Buffer): string {
  const rest = new TextDecoder().decode(bytes)
  const good = Buffer.byteLength(rest.slice(0, rest.indexOf('\ufffd')))
  const byte = bytes[good] as number
  const hex = byte.toString(16).toUpperCase()
  return `it has the byte ${hex}, which is "${LATIN.decode(Uint8Array.of(byte))}" in Windows and Latin-1 files; ${SAVE}`
}

const LATIN = new TextDecoder('windows-1252')
