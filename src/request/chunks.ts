/** Bounds the small parts in which a body arrives: each takes Node about a microsecond, and its client six bytes. */

/** A part of fewer bytes counts as one of so many. */
const LEAST = 256

/** How many bytes parts may count beyond those that they have, if nothing allows more: those of 4112 parts of one byte. */
export const MAX_PADDING = 1_048_576

/** How many bytes a part counts beyond those that it has. */
export const paddingOf = ({ length }: Buffer): number => Math.max(0, LEAST - length)
