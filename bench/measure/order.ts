/**
 * Who follows whom in a round. The first few of the list are the ones that are compared with each other: they stay neighbours,
 * so that little time passes between them, and stand in another place of the round each time. Six rounds give three of them
 * every order that there is.
 */
export function turnOrder<T> (list: readonly T[], round: number, neighbours: number): T[] {
  const close = arrange(list.slice(0, neighbours), round)
  const others = arrange(list.slice(neighbours), round)
  const place = round % (others.length + 1)
  return [...others.slice(0, place), ...close, ...others.slice(place)]
}

/** Rotated by every second round and reversed in every other, so that nobody always follows the same one. */
function arrange<T> (list: readonly T[], round: number): T[] {
  if (list.length === 0) return []
  const start = Math.floor(round / 2) % list.length
  const rotated = [...list.slice(start), ...list.slice(0, start)]
  return round % 2 === 0 ? rotated : rotated.reverse()
}
