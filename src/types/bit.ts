/** BIT columns. */
import { Type } from '@sinclair/typebox'
import { createType, expected, type ColumnType } from './column-type.ts'

/** The form in which both servers show the default of a BIT column, without leading zeros. */
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
