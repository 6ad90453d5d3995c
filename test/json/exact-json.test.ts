import fc from 'fast-check'
import t from 'tap'
import { lookOver, numberText, parseExactJson, repeatsKey } from '../../src/json/exact-json.ts'
import '../support/seed.ts'

t.test('a number that a double cannot represent keeps its text', async (t) => {
  for (const text of [
    '18446744073709551615', '-9223372036854775809', '9007199254740993', '0.1234567890123456789', '1e400', '-1e-400',
    '123456789012345678901234567890.5', '1.00000000000000000001'
  ]) {
    t.equal(numberText(parseExactJson(text)), text)
    t.equal(JSON.stringify(parseExactJson(`{"a":[${text}]}`)), `{"a":[${text}]}`)
  }
})

t.test('a number that JavaScript would write differently keeps its text', async (t) => {
  for (const text of [
    '52.0', '12.50', '-0', '0.0', '-0.0', '1e2', '1E2', '1e+2', '1.5e-3', '0e0', '0.0000001', '1234567890123456.5',
    '100000000000000000000000', '1e21', '1E400', '5e-324'
  ]) {
    t.equal(numberText(parseExactJson(text)), text)
    t.equal(JSON.stringify(parseExactJson(`{"a":[${text},1.5]}`)), `{"a":[${text},1.5]}`)
  }
})

t.test('every other number is an ordinary number', async (t) => {
  for (const text of [
    '0', '1', '-1.5', '52', '0.5', '-0.5', '10', '9007199254740991', '123456789.123456', '0.000001', '1234567890123456',
    '1e-7', '1.5e+300'
  ]) {
    t.equal(parseExactJson(text), Number(text), text)
  }
  t.equal(numberText(-0), '-0')
  t.equal(numberText('1'), undefined)
  t.equal(numberText({ rawJSON: '1' }), undefined, 'an object that looks like one is none')
})

t.test('every number is written with its original text', async () => {
  const digits = fc.string({ unit: fc.constantFrom(...'0011259'), minLength: 1, maxLength: 18 })
  const number = fc.tuple(
    fc.constantFrom('', '-'), digits, fc.option(digits, { nil: '' }), fc.constantFrom('', '', 'e5', 'E-7', 'e+0')
  )
    .map(([sign, whole, fraction, exponent]) =>
      `${sign}${whole.replace(/^0+(?=\d)/, '')}${fraction === '' ? '' : '.' + fraction}${exponent}`)
  fc.assert(fc.property(fc.array(number, { maxLength: 5 }), (numbers) => {
    const text = `{"e":"1.0","list":[${numbers.join()}],"true":true}`
    return JSON.stringify(parseExactJson(text)) === text
  }), { numRuns: 2000 })
})

t.test('JSON text is parsed as by JSON.parse, except for the text of numbers', async () => {
  fc.assert(fc.property(fc.json({ stringUnit: 'grapheme' }), (text) =>
    JSON.stringify(JSON.parse(JSON.stringify(parseExactJson(text)))) === JSON.stringify(JSON.parse(text))))
})

t.test('a number of any length keeps its value', async () => {
  const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 40 })
  const number = fc.tuple(
    fc.constantFrom('', '-'), digits, fc.option(digits, { nil: '' }), fc.integer({ min: -20, max: 20 })
  )
    .map(([sign, whole, fraction, exponent]) =>
      `${sign}${whole.replace(/^0+(?=\d)/, '')}${fraction === '' ? '' : '.' + fraction}e${exponent}`)
  const scaled = (text: string): string => {
    const [, sign, whole = '', fraction = '', exponent = '0'] = /^(-?)(\d+)\.?(\d*)(?:e([-+]?\d+))?$/.exec(
      text
    ) as RegExpExecArray
    const scale = 120 - fraction.length + Number(exponent)
    const value = BigInt(whole + fraction) * 10n ** BigInt(scale)
    return (value === 0n ? '' : sign) + String(value)
  }
  fc.assert(fc.property(number, (text) => scaled(numberText(parseExactJson(text)) as string) === scaled(text)))
})

t.test('keys such as __proto__ become ordinary own properties', async (t) => {
  for (const text of [
    '{"__proto__":{"polluted":1}}', '{"__proto__":{"polluted":12345678901234567890}}',
    '{"constructor":{"prototype":{"polluted":1}}}'
  ]) {
    const value = parseExactJson(text) as object
    t.equal((value as { polluted?: unknown }).polluted, undefined)
    t.equal(({} as { polluted?: unknown }).polluted, undefined)
    t.equal(JSON.stringify(value), text)
  }
})

t.test('only a key that appears twice in one object counts as repeated', async (t) => {
  const repeats = (text: string): boolean => repeatsKey(lookOver(text), parseExactJson(text))
  const polluted = (text: string): boolean => {
    const shared: { stranger?: number } = Object.prototype
    Object.defineProperty(shared, 'stranger', { value: 1, enumerable: true, configurable: true })
    try {
      return repeats(text)
    } finally {
      delete shared.stranger
    }
  }
  t.ok(polluted('{"a":1,"a":2}'), 'what stands in the prototype of every object is no key of the text')
  for (const text of [
    '{"a":1,"a":1}', '[{"b":{"a":1, "a" :2}}]', '{"a":1,"\\u0061":1}', '{"":1,"":1}', '{"\\"":1,"\\"":2}',
    '{"__proto__":1,"__proto__":{}}', '{"a":12345678901234567890,"a":1}'
  ]) {
    t.equal(repeats(text), true, text)
  }
  for (const text of [
    '1', '"a:a"', '{}', '{"a":{"a":{"a":1}}}', '[{"a":1},{"a":1}]', '{"a:":":","b":"\\\\","c":"\\":"}',
    '{"__proto__":{"__proto__":null}}', '{"a":12345678901234567890,"A":1}'
  ]) {
    t.equal(repeats(text), false, text)
  }
  fc.assert(fc.property(fc.json(), (text) => !repeats(text)))
})

t.test('invalid JSON is refused with the errors of JSON.parse', async (t) => {
  for (const text of ['', '{', '[1,]', '01', '{"a":12345678901234567890', 'NaN']) {
    t.throws(
      () => parseExactJson(text), SyntaxError
    )
  }
})

t.test('behind the last key of the text no object is looked at for keys', async (t) => {
  let reads = 0
  const list = new Proxy(Array.from({ length: 5000 }, () => ({})), {
    get (target, name) {
      reads++
      return Reflect.get(target, name)
    }
  })
  t.equal(repeatsKey({ pairs: 1, items: 5001, mayChange: false }, { list }), false)
  t.equal(reads, 0)
  t.equal(repeatsKey({ pairs: 2, items: 5001, mayChange: false }, { list }), true)
  t.ok(reads >= 5000)
})
