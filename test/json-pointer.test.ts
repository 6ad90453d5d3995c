import t from 'tap'
import { findBySteps, stepsOf } from '../src/json/plain-values.ts'
import { parseExactJson } from '../src/json/exact-json.ts'

const value = parseExactJson(
  '{"a":{"b":[10,{"c":null}],"":"empty"},"a/b":1,"m~n":2,"n":18446744073709551616,"":{"":3},"__proto__":{"x":4}}'
)

const findByPointer = (from: unknown, pointer: string): unknown => findBySteps(from, stepsOf(pointer))

const cases: Array<[pointer: string, found: unknown]> = [
  ['/a/b/0', 10],
  ['/a/b/1/c', null],
  ['/a/', 'empty'],
  ['/', { '': 3 }],
  ['//', 3],
  ['/a~1b', 1],
  ['/m~0n', 2],
  ['/__proto__/x', 4],
  ['/a/b/2', undefined],
  ['/a/b/-', undefined],
  ['/a/b/00', undefined],
  ['/a/b/length', undefined],
  ['/a/b/1/c/d', undefined],
  ['/n/rawJSON', undefined],
  ['/a~1b/toFixed', undefined],
  ['/a/toString', undefined],
  ['/constructor', undefined],
  ['/A', undefined]
]

t.test('a JSON Pointer finds own properties and members only', async (t) => {
  for (const [pointer, found] of cases) t.strictSame(findByPointer(value, pointer), found, pointer)
  t.equal(JSON.stringify(findByPointer(value, '/n')), '18446744073709551616')
  t.equal(findByPointer('text', '/length'), undefined)
  t.equal(findByPointer(undefined, '/a'), undefined)
})
