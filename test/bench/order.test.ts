import t from 'tap'
import { turnOrder } from '../../bench/measure/order.ts'

const everybody = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const rounds = Array.from({ length: 6 }, (_, round) => turnOrder(everybody, round, 3))

t.test('everybody has one turn in each round', async (t) => {
  for (const order of rounds) t.same(order.toSorted(), everybody)
})

t.test('the first three stay neighbours, and six rounds have them in every order', async (t) => {
  const orders = rounds.map((order) => {
    const close = order.filter((name) => 'abc'.includes(name)).join('')
    t.ok(order.join('').includes(close))
    return close
  })
  t.same(orders.toSorted(), ['abc', 'acb', 'bac', 'bca', 'cab', 'cba'])
})

t.test('they begin a round, end one and stand between the others', async (t) => {
  const places = Array.from({ length: 5 }, (_, round) => turnOrder(everybody, round, 3).findIndex((name) => 'abc'.includes(name)))
  t.same(places, [0, 1, 2, 3, 4])
})

t.test('without neighbours the list goes round, forwards and backwards', async (t) => {
  t.same([0, 1, 2, 3].map((round) => turnOrder(['x', 'y', 'z'], round, 0).join('')), ['xyz', 'zyx', 'yzx', 'xzy'])
  t.same(turnOrder([], 1, 0), [])
})

t.test('who takes part alone has every turn', async (t) => {
  t.same([0, 1].map((round) => turnOrder(['x'], round, 1)), [['x'], ['x']])
})
