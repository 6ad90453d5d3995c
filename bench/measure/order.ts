/**
 * The order of the contenders in a round. The first ones of the list are compared with each other: they stay next to each other,
 * so that little time passes between them, and their position in the round changes each time. In six rounds three contenders have
 * every possible order.
 */
export function turnOrder<T> (list: readonly T[], round: number, neighbours: number): T[] {
  const close = arrange(list.slice(0, neighbours), round)
  const others = arrange(list.slice(neighbours), round)
  const place = round % (others.length + 1)
  return [...others.slice(0, place), ...close, ...others.slice(place)]
}

/** Rotated after every second round and reversed in every other one, so that no contender always follows the same one. */
function arrange<T> (list: readonly T[], round: number): T[] {
  if (list.length === 0) return []
  const start = Math.floor(round / 2) % list.length
  const rotated = [...list.slice(start), ...list.slice(0, start)]
  return round % 2 === 0 ? rotated : rotated.reverse()
}
