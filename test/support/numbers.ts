/** Selects the numbers from 0 up to but without `count`, on each engine. */
export const numbers = (count: number): string =>
  `with recursive n (i) as (select 0 union all select i + 1 from n where i < ${count - 1}) select i from n`
