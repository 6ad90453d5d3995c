import t from 'tap'
import { didYouMean, findNearest } from '../src/errors.ts'

const columns = ['id', 'name', 'created_at', 'customer_id', 'status', 'émail']

t.test('a misspelt name is that of the fewest edits', async (t) => {
  for (const [name, meant] of [
    ['nme', 'name'], ['naem', 'name'], ['nam', 'name'], ['names', 'name'], ['ID', 'id'], ['createdAt', 'created_at'],
    ['costumer_id', 'customer_id'],
    ['cusotmerid', 'customer_id'], ['STATSU', 'status'], ['email', 'émail'],
    ['', undefined], ['x', undefined], ['na', undefined], ['price', undefined], ['x'.repeat(1e6), undefined],
    ['constructor', undefined]
  ] as const) t.equal(findNearest(name, columns), meant, name.slice(0, 20))
  t.equal(findNearest('oredr', ['order', 'older']), 'order', 'an exchange is one edit')
})

t.test('the end of a message is JSON, or what else is to be said', async (t) => {
  t.equal(didYouMean('nme', columns), '; did you mean "name"?')
  t.equal(didYouMean('a"', ['A"']), '; did you mean "A\\""?')
  t.equal(didYouMean('price', columns, '; the columns are …'), '; the columns are …')
})

/** The distance by its definition. */
function distanceOf (one: string, other: string): number {
  if (one === '' || other === '') return one.length + other.length
  const [a, b] = [one.slice(1), other.slice(1)]
  const distances = [distanceOf(a, b) + (one[0] === other[0] ? 0 : 1), distanceOf(a, other) + 1, distanceOf(one, b) + 1]
  if (one[0] === other[1] && one[1] === other[0] &&
    one.length > 1) distances.push(distanceOf(one.slice(2), other.slice(2)) + 1)
  return Math.min(...distances)
}

t.test('the distance is that of its definition, up to the largest one', async (t) => {
  const texts = Array.from({ length: 3 ** 5 }, (_, index) =>
    Array.from({ length: 5 }, (_, digit) => 'abc'[Math.floor(index / 3 ** digit) % 3]).join('').slice(0, 3 + index % 3))
  for (const other of texts) {
    const name = 'abcab'
    t.equal(findNearest(name, [other]) !== undefined, distanceOf(name, other) <= 1, other)
  }
})
