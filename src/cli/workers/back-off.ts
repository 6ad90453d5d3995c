/** The first pause before a worker is replaced, in milliseconds. */
const FIRST = 100
/** Pauses double up to this one, in milliseconds. */
const LONGEST = 30_000
/** A worker that has run for so many milliseconds begins with the first pause again. */
const STABLE = 60_000

/** Returns the pause before a worker is replaced. `before`: the pause before it was started; `lived`: how long it has run, in milliseconds. */
export function nextPause (before: number | undefined, lived: number): number {
  return before === undefined || lived >= STABLE ? FIRST : Math.min(before * 2, LONGEST)
}
