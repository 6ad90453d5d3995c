/** Maximum number of insertions, deletions and replacements of characters between a misspelt name and the intended one. */
const MAX_DISTANCE = 3

/** Returns the name that is most similar to a misspelt one; undefined if none is similar. */
export function findNearest (name: string, known: Iterable<string>): string | undefined {
  let nearest: string | undefined
  let least = Math.min(MAX_DISTANCE, Math.floor(name.length / 3)) + 1
  for (const other of known) {
    if (Math.abs(other.length - name.length) >= least) continue
    const distance = distanceOf(name, other)
    if (distance < least) [nearest, least] = [other, distance]
  }
  return nearest
}

/** The Levenshtein distance. */
function distanceOf (one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [line, character] of [...one].entries()) {
    const next = [line + 1]
    for (let index = 0; index < other.length; index++) {
      const replaced = row[index] as number + (other[index] === character ? 0 : 1)
      next.push(Math.min(replaced, row[index + 1] as number + 1, next[index] as number + 1))
    }
    row = next
  }
  return row.at(-1) as number
}
