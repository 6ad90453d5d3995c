import t from 'tap'
import { BoundedMap, CacheByTable } from '../src/bounded-map.ts'

const keysIn = (map: BoundedMap<string, number>, keys: string): string =>
  [...keys].filter((key) => map.get(key) !== undefined).join('')

t.test('a map keeps exactly as many entries as it may, the newest ones', async (t) => {
  const map = new BoundedMap<string, number>(3)
  for (const key of 'abc') map.set(key, 1)
  t.equal(keysIn(map, 'abcd'), 'abc')
  map.set('a', 2)
  t.equal(keysIn(map, 'abcd'), 'abc', 'an entry that is set again is no other one')
  map.set('d', 1)
  t.equal(keysIn(map, 'abcd'), 'acd', 'and is the newest')
})

t.test('a map keeps entries up to exactly its size; those that leave it make room', async (t) => {
  const map = new BoundedMap<string, number>(Infinity, 10, (size) => size)
  for (const [key, size] of [['a', 4], ['b', 3], ['c', 3]] as const) map.set(key, size)
  t.equal(keysIn(map, 'abcd'), 'abc')
  map.set('d', 1)
  t.equal(keysIn(map, 'abcd'), 'bcd')
  map.set('b', 1)
  map.delete('c')
  map.delete('missing')
  map.set('a', 8)
  t.equal(keysIn(map, 'abcd'), 'abd', 'of an entry that is replaced, the new size counts')
  map.clear()
  map.set('a', 10)
  t.equal(keysIn(map, 'abcd'), 'a')
  map.set('b', 11)
  t.equal(keysIn(map, 'abcd'), '', 'a larger entry is not kept')
})

t.test('a table keeps exactly a hundred values, those that were used last', async (t) => {
  const cache = new CacheByTable<number>(Infinity, () => 10)
  const table = {}
  for (let key = 0; key < 100; key++) cache.set(table, `${key}`, key)
  t.equal(cache.get(table, '0'), 0)
  t.equal(cache.bytes, 1000)
  cache.set(table, '100', 100)
  t.same(['0', '1', '2', '100'].map((key) => cache.get(table, key)), [0, undefined, 2, 100])
  t.equal(cache.bytes, 1000)
})

t.test('all tables together keep values up to exactly the limit', async (t) => {
  const cache = new CacheByTable<number>(30, () => 10)
  const tables = [{}, {}, {}, {}]
  for (const table of tables.slice(0, 3)) cache.set(table, 'key', 1)
  t.same(tables.map((table) => cache.get(table, 'key')), [1, 1, 1, undefined])
  cache.set(tables[3] as object, 'key', 1)
  t.same(tables.map((table) => cache.get(table, 'key')), [undefined, undefined, undefined, 1])
  t.equal(cache.bytes, 10)
})
