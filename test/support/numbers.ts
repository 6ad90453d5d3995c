/** Selects the numbers from 0 up to but without `count`, on each engine. */
export const numbers = (count: number): string =>
  `with recursive n (i) as (select 0 union all select i + 1 from n where i < ${count - 1}) select i from n`

const DIGIT = `(${Array.from({ length: 10 }, (_, n) => `select ${n} n`).join(' union ')})`

/** A table `numbers` of the numbers `n` that have up to so many digits, more than the servers allow a recursion. */
export function numbersOf (digits: number): string {
  const places = Array.from({ length: digits }, (_, place) => place)
  return `(select ${places.map((place) => `${10 ** place} * d${place}.n`).join(' + ')} n
    from ${places.map((place) => `${DIGIT} d${place}`).join(', ')}) numbers`
}
