import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createGrant } from '../../src/access/grant.ts'
import { REMEMBER_LIMITS, RememberedTokens } from '../../src/access/jwt.ts'
import { createTokenFile, readTokenFile } from '../../src/access/token-settings.ts'
import { createTokenStore } from '../../src/access/tokens.ts'
import { ConfigError } from '../../src/config-errors.ts'
import { loadConfig } from '../../src/config/load.ts'
import { resolveSettings } from '../../src/config/settings.ts'

const databases = { shop: { url: 'mysql://root@db/shop' } }
const entry = { name: 'reader', sha256: 'a'.repeat(64), permissions: ['select' as const] }
const fixed = { name: 'fixed', sha256: 'f'.repeat(64), permissions: ['select' as const] }
const file = createTokenFile('tokens.json', { databases, tokens: [fixed] })

t.test('a token file contains the same entries as the configuration', async (t) => {
  t.match(file.parse(JSON.stringify([
    entry, { ...entry, name: 'b', sha256: 'b'.repeat(64), databases: { shop: ['orders'] }, expires: '2027-01-01' }
  ])), [
    { sha256: entry.sha256, grant: { name: 'reader', databases: 'all' }, expiresAt: undefined },
    {
      sha256: 'b'.repeat(64),
      grant: { databases: new Map([['shop', { tables: new Map([['orders', {}]]) }]]) },
      expiresAt: Date.UTC(2027, 0, 1)
    }
  ])
  t.same(file.parse('[]'), [], 'none of which there need be')
  t.same(createTokenFile('tokens.json', { databases }).parse(JSON.stringify([fixed])).length, 1)
})

t.test('a token is valid until its time of expiry, and no longer', async (t) => {
  const stored = { sha256: 'a', grant: createGrant('reader', { permissions: ['select'] }), expiresAt: 2000 }
  const store = createTokenStore([stored])
  t.equal(store.findGrant('a', 1999), stored.grant)
  t.equal(store.findGrant('a', 2000), undefined)
  t.same([store.findExpired('a', 1999), store.findExpired('a', 2000)], [undefined, 'reader'])
})

const SECRET = 'hunter2'

const refused: Array<{ because: string, text: string, errors: string[] }> = [
  { because: 'nothing in it', text: '', errors: ['tokensFile: the file is empty'] },
  {
    because: 'half a list',
    text: `[{ "name": "${SECRET}"`,
    errors: [
      'tokensFile: the file is not valid JSON, line 1 column 21'
    ]
  },
  {
    because: 'an object',
    text: JSON.stringify({ tokens: [entry] }),
    errors: [
      'tokensFile: must be a list (of entries as "row-query token" prints them)'
    ]
  },
  {
    because: 'entries that are none',
    text: JSON.stringify([{ ...entry, sha256: SECRET }, { name: 'x', sha256: 'b'.repeat(64) }]),
    errors: [
      'tokensFile.0.sha256: must be the SHA-256 of the token, as 64 lower-case hexadecimal digits',
      'tokensFile.1.permissions: is required (one or more of select, insert, update, delete)'
    ]
  },
  {
    because: 'entries that mean nothing here',
    text: JSON.stringify([
      { ...entry, databases: { shpo: '*' } }, { ...entry, name: 'b', sha256: 'b'.repeat(64), expires: 'soon' }, entry,
      fixed
    ]),
    errors: [
      'tokensFile.0.databases.shpo: is not a configured database; the databases are shop',
      'tokensFile.1.expires: must be a date or a time with an offset, such as 2027-01-01 or 2027-01-01T12:00:00Z',
      'tokensFile.2.sha256: is the same as that of tokensFile.0',
      'tokensFile.2.name: is the same as that of tokensFile.0',
      'tokensFile.3.sha256: is already in "tokens"',
      'tokensFile.3.name: is already in "tokens"'
    ]
  }
]

for (const { because, text, errors } of refused) {
  t.test(`an invalid token file is refused: ${because}`, async (t) => {
    const error = t.throws(() => file.parse(text), ConfigError) as ConfigError
    t.same(error.errors, errors)
    t.notMatch(error.message, SECRET)
  })
}

t.test('an invalid token file stops the start and is reported with the other errors', async (t) => {
  const folder = t.testdir({ 'tokens.json': '[]', 'broken.json': '{' })
  const path = join(folder, 'tokens.json')
  t.match(resolveSettings({ databases, tokensFile: path }), { tokenFile: { file: { path }, tokens: [] } })
  const said = (options: object): readonly string[] => (t.throws(
    () => resolveSettings(options), ConfigError
  ) as ConfigError).errors.map((line) => line.replace(folder + '/', ''))
  t.same(said({ databases, tokensFile: join(folder, 'nowhere.json') }), ['tokensFile: the file cannot be read'])
  t.same(said({ databases: { shop: { url: 'x' } }, tokensFile: join(folder, 'broken.json') }), [
    'databases.shop.url: must begin with mysql://, mariadb:// or sqlite:',
    'tokensFile: the file is not valid JSON, line 1 column 2'
  ])
})

t.test('with API_TOKENS_FILE the demo creates no token', async (t) => {
  t.match(loadConfig({ API_TOKENS_FILE: 'tokens.json' }, {}), {
    config: { tokensFile: 'tokens.json', tokens: undefined }, demo: { token: undefined }
  })
  t.throws(() => loadConfig({ API_TOKENS_FILE: '' }, {}), { message: /^API_TOKENS_FILE: is empty/ })
})

const grant = createGrant('reader', { permissions: ['select'] })
const token = (size: number, expiresAt = 2000) => ({ grant, expiresAt, key: undefined, size })

t.test('a token is remembered until it expires', async (t) => {
  const tokens = new RememberedTokens()
  tokens.set('a', token(1))
  t.equal(tokens.find('a', 1999)?.grant, grant)
  t.equal(tokens.find('b', 1999), undefined)
  t.equal(tokens.find('a', 2000), undefined)
  t.equal(tokens.find('a', 1999), undefined, 'it was dropped')
})

t.test('a token is forgotten when its key is withdrawn', async (t) => {
  const tokens = new RememberedTokens()
  const key = { withdrawn: false }
  tokens.set('a', { ...token(1), key })
  t.ok(tokens.find('a', 0))
  key.withdrawn = true
  t.equal(tokens.find('a', 0), undefined)
})

t.test('the number of tokens is limited; the oldest is dropped first', async (t) => {
  const tokens = new RememberedTokens({ tokens: 3, size: 1000 })
  for (const name of ['a', 'b', 'c', 'd']) tokens.set(name, token(1))
  t.same(['a', 'b', 'c', 'd'].map((name) => tokens.find(name, 0) !== undefined), [false, true, true, true])
})

t.test('the size of all tokens is limited', async (t) => {
  const tokens = new RememberedTokens({ tokens: 100, size: 10 })
  tokens.set('a', token(4))
  tokens.set('b', token(4))
  tokens.set('a', token(4))
  tokens.set('c', token(2))
  t.same([
    'a', 'b', 'c'
  ].map((name) => tokens.find(name, 0) !== undefined), [true, true, true], 'a token that is added again counts once')
  tokens.set('d', token(10))
  t.same(['a', 'b', 'c', 'd'].map((name) => tokens.find(name, 0) !== undefined), [false, false, false, true])
  tokens.set('e', token(11))
  t.equal(tokens.find('e', 0), undefined, 'one that is larger than the limit is not kept')
  tokens.set('f', token(10))
  t.ok(tokens.find('f', 0), 'and the size is counted down')
  tokens.find('f', 3000)
  tokens.set('g', token(10))
  t.ok(tokens.find('g', 0), 'also for a token that has expired')
})

t.test('the limits keep the memory of claims below a hundred megabytes', async (t) => {
  t.ok(REMEMBER_LIMITS.size * 20 < 100e6)
  t.ok(REMEMBER_LIMITS.tokens <= 10_000)
})

t.test('a token file with many wrong entries has 20 errors and the number of the others, and ' +
  'its size is limited', (t) => {
  const errorsOf = (text: string): readonly string[] => {
    try {
      file.parse(text)
      return []
    } catch (error) {
      return (error as ConfigError).errors
    }
  }
  for (const wrong of [{ ...entry, sha256: 'x' }, { nothing: 1 }, entry]) {
    const errors = errorsOf(JSON.stringify(Array.from({ length: 20_000 }, () => wrong)))
    t.equal(errors.length, 21)
    t.match(errors.at(-1), /^tokensFile: at least \d+ more errors$/)
    t.ok(errors.join().length < 10_000)
  }
  t.match(errorsOf(`[${' '.repeat(17_000_000)}]`), [/larger than 16777216/])
  t.end()
})

t.test('a token file that is too large is refused before it is read', async (t) => {
  const path = join(t.testdir({ 'tokens.json': '' }), 'tokens.json')
  truncateSync(path, 2 ** 30) // of zeros, which take no space, and more than a text can have
  t.throws(() => readTokenFile(createTokenFile(path, { databases: {} })), {
    errors: [/larger than 16777216 characters/]
  })
})
