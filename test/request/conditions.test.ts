import t from 'tap'
import { findRelatedError } from '../../src/request/check-members.ts'

const LIMITS = { depth: 32, conditions: 4 }
const many = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`c${index}`, 1]))
const some = (members: object): object => ({ $some: members })
const related = (filters: object): object => ({ others: { filters } })

/** Filters with exactly as many conditions as may be, and those with one more and the place of that. */
const cases: ReadonlyArray<readonly [name: string, enough: object, beyond: object, place: string]> = [
  ['columns', many(4), many(5), '/c4'],
  ['columns behind a member', { ...some(related({})), ...many(3) }, { ...some(related({})), ...many(4) }, '/c3'],
  ['columns before a list', { ...many(1), $and: [{}, {}, {}] }, { ...many(1), $and: [{}, {}, {}, {}] }, '/$and/3'],
  ['columns of a member', some(related(many(3))), some(related(many(4))), '/$some/others/filters/c3'],
  ['members', some({ a: {}, b: {}, c: {}, d: {} }), some({ a: {}, b: {}, c: {}, d: {}, e: {} }), '/$some/e'],
  [
    'filters of a list', { $or: [{ a: 1 }, {}, {}, some({ o: {} })] }, { $or: [{ a: 1 }, {}, {}, {}, some({ o: {} })] },
    '/$or/4'
  ]
]

t.test('filters have as many conditions as they may, and one more is refused at its place', async (t) => {
  for (const [name, enough, beyond, place] of cases) {
    t.equal(findRelatedError(enough, ['filters'], LIMITS), undefined, name)
    t.match(findRelatedError(beyond, ['filters'], LIMITS), {
      code: 'INVALID_BODY',
      message: 'The filters contain more than 4 conditions',
      details: [{ path: `/filters${place}` }]
    }, name)
  }
})
