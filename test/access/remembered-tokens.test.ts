import t from 'tap'
import { createGrant } from '../../src/access/grant.ts'
import { createRememberedTokens, REMEMBER_LIMITS } from '../../src/access/remembered-tokens.ts'

const grant = createGrant('reader', { permissions: ['select'] })
const token = (size: number, expiresAt = 2000) => ({ grant, expiresAt, key: undefined, size })

t.test('a token is remembered until it expires', async (t) => {
  const tokens = createRememberedTokens()
  tokens.add('a', token(1))
  t.equal(tokens.find('a', 1999)?.grant, grant)
  t.equal(tokens.find('b', 1999), undefined)
  t.equal(tokens.find('a', 2000), undefined)
  t.equal(tokens.find('a', 1999), undefined, 'it was dropped')
})

t.test('a token is forgotten when its key is withdrawn', async (t) => {
  const tokens = createRememberedTokens()
  const key = { withdrawn: false }
  tokens.add('a', { ...token(1), key })
  t.ok(tokens.find('a', 0))
  key.withdrawn = true
  t.equal(tokens.find('a', 0), undefined)
})

t.test('the number of tokens is limited; the oldest is dropped first', async (t) => {
  const tokens = createRememberedTokens({ tokens: 3, size: 1000 })
  for (const name of ['a', 'b', 'c', 'd']) tokens.add(name, token(1))
  t.same(['a', 'b', 'c', 'd'].map((name) => tokens.find(name, 0) !== undefined), [false, true, true, true])
})

t.test('the size of all tokens is limited', async (t) => {
  const tokens = createRememberedTokens({ tokens: 100, size: 10 })
  tokens.add('a', token(4))
  tokens.add('b', token(4))
  tokens.add('a', token(4))
  tokens.add('c', token(2))
  t.same(['a', 'b', 'c'].map((name) => tokens.find(name, 0) !== undefined), [true, true, true], 'a token that is added again counts once')
  tokens.add('d', token(10))
  t.same(['a', 'b', 'c', 'd'].map((name) => tokens.find(name, 0) !== undefined), [false, false, false, true])
  tokens.add('e', token(11))
  t.equal(tokens.find('e', 0), undefined, 'one that is larger than the limit is not kept')
  tokens.add('f', token(10))
  t.ok(tokens.find('f', 0), 'and the size is counted down')
  tokens.find('f', 3000)
  tokens.add('g', token(10))
  t.ok(tokens.find('g', 0), 'also for a token that has expired')
})

t.test('the limits keep the memory of claims below a hundred megabytes', async (t) => {
  t.ok(REMEMBER_LIMITS.size * 20 < 100e6)
  t.ok(REMEMBER_LIMITS.tokens <= 10_000)
})
