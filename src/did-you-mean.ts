/** Suggests the name that a misspelt one may mean. The caller passes only names that it may show. */

/** Longest name that is compared; MySQL's have at most 64 characters. */
const MAX_LENGTH = 100
/** Maximum number of insertions, deletions, replacements and exchanges of neighbours in a misspelt name. */
const MAX_DISTANCE = 3

/** Returns the end of an error message, `; did you mean "name"?`, or `otherwise` if no name is similar. */
export function didYouMean (name: string, known: Iterable<string>, otherwise = ''): string {
  const nearest = findNearest(name, known)
  return nearest === undefined ? otherwise : `; did you mean ${JSON.stringify(nearest)}?`
}

/**
 * Returns the name that is most similar to a misspelt one, whatever the letter case; undefined if none is similar. The
 * time is proportional to the number of known names and the length of the misspelt one.
 */
export function findNearest (name: string, known: Iterable<string>): string | undefined {
  if (name.length > MAX_LENGTH) return undefined
  const folded = name.toLowerCase()
  let nearest: string | undefined
  let most = Math.min(MAX_DISTANCE, Math.floor(name.length / 3))
  for (const other of known) {
    if (most < 0) break
    if (Math.abs(other.length - name.length) > most) continue
    const distance = distanceWithin(most, folded, other.toLowerCase())
    if (distance !== undefined) [nearest, most] = [other, distance - 1]
  }
  return nearest
}

/**
 * The distance of two texts (Damerau and Levenshtein, with exchanges of neighbours only) if it is at most `most`.
 * Computes only the cells around the diagonal that can be so small.
 */
function distanceWithin (most: number, one: string, other: string): number | undefined {
  const far = most + 1
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let line = 1; line <= one.length; line++) {
    const from = Math.max(1, line - most)
    const to = Math.min(other.length, line + most)
    const next: number[] = []
    next[from - 1] = from === 1 ? line : far
    let least = next[from - 1] as number
    for (let index = from; index <= to; index++) {
      const isSame = one[line - 1] === other[index - 1]
      const isExchanged = one[line - 1] === other[index - 2] && one[line - 2] === other[index - 1]
      const distance = Math.min(
        (row[index - 1] ?? far) + (isSame ? 0 : 1),
        (row[index] ?? far) + 1,
        (next[index - 1] ?? far) + 1,
        isExchanged ? (before[index - 2] ?? far) + 1 : far
      )
      next[index] = distance
      least = Math.min(least, distance)
    }
    if (least > most) return undefined
    ;[before, row] = [row, next]
  }
  const distance = row[other.length] ?? far
  return distance > most ? undefined : distance
}
