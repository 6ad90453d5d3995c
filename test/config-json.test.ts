import t from 'tap'
import { parseConfigJson } from '../src/config-json.ts'

t.test('integers that JavaScript would round are bigints', async (t) => {
  t.strictSame(parseConfigJson('{"a":9007199254740991,"b":9007199254740993,"c":[-18446744073709551616],"d":1e20,"e":0.1,"f":"9007199254740993"}'), {
    a: 9007199254740991, b: 9007199254740993n, c: [-18446744073709551616n], d: 1e20, e: 0.1, f: '9007199254740993'
  })
})

t.test('a repeated key is refused, and so is what is not JSON, without quoting the file', async (t) => {
  t.throws(() => parseConfigJson('{"claims":{"tenant":1,"tenant":2}}'), { message: 'has a key twice in one object' })
  t.throws(() => parseConfigJson('{"claims":{"tenant":1,"t\\u0065nant":2}}'), { message: 'has a key twice in one object' })
  t.throws(() => parseConfigJson('{"a":1,\n}'), { message: 'is not valid JSON, line 2 column 1' })
  t.throws(() => parseConfigJson('{"secret": hunter2}'), { message: 'is not valid JSON, line 1 column 12' })
  t.throws(() => parseConfigJson(''), { message: 'is empty' })
  t.strictSame(parseConfigJson('{"a":":","b":{"a":1},"c":[{"a":2},{"a":3}]}'), { a: ':', b: { a: 1 }, c: [{ a: 2 }, { a: 3 }] })
})
