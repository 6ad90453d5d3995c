import { X509Certificate } from 'node:crypto'
import t from 'tap'
import { databaseNameOf, parseDatabaseUrl, parseReplicaUrl } from '../../src/config/database-url.ts'
import type { MysqlAddress } from '../../src/dialects/mysql/options.ts'
import { createCertificate } from '../support/certificates.ts'

/** What a URL of MySQL says, over what it may leave out. */
const mysql = (said: Partial<MysqlAddress>) =>
  ({ engine: 'mysql' as const, address: { hosts: [{ host: 'db', port: 3306 }], user: '', password: '', database: 'shop', ssl: undefined, ...said } })
const host = (name: string, port = 3306) => ({ host: name, port })
const { cert, key } = await createCertificate()
const bundle = `# two authorities\n${cert}\n${cert}`
const files = t.testdir({ 'ca.pem': bundle, 'text.pem': 'a certificate', 'key.pem': key, 'cut.pem': cert.slice(0, 200), 'broken.pem': cert + cert.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA'), 'ca.der': new X509Certificate(cert).raw, 'empty.pem': '' })
const ca = `${files}/ca.pem`

const read: Array<[url: string, address: ReturnType<typeof parseDatabaseUrl>, name: string]> = [
  ['mysql://ann:secret@db.example.com:3307/shop', mysql({ hosts: [host('db.example.com', 3307)], user: 'ann', password: 'secret' }), 'shop'],
  ['mariadb://db/shop', mysql({}), 'shop'],
  ['MySQL://ann@db/shop', mysql({ user: 'ann' }), 'shop'],
  ['mysql:///shop', mysql({ hosts: [host('127.0.0.1')] }), 'shop'],
  ['mysql://[::1]:3307/shop', mysql({ hosts: [host('::1', 3307)] }), 'shop'],
  ['mysql://a%40b:%2F%3F%23%25%3A%C3%A9@db/my%20shop', mysql({ user: 'a@b', password: '/?#%:é', database: 'my shop' }), 'my shop'],
  ['mysql://ann:a@b@db/sh%40op', mysql({ user: 'ann', password: 'a@b', database: 'sh@op' }), 'sh@op'],
  ['mysql://ann:a,b@one,two:3307,[::1]/shop', mysql({ hosts: [host('one'), host('two', 3307), host('::1')], user: 'ann', password: 'a,b' }), 'shop'],
  ['mysql://db/shop?ssl=true', mysql({ ssl: { rejectUnauthorized: true, verifyIdentity: true } }), 'shop'],
  ['mysql://db/shop?ssl=verify-ca', mysql({ ssl: { rejectUnauthorized: true, verifyIdentity: false } }), 'shop'],
  [`mysql://db/shop?ssl-ca=${ca}`, mysql({ ssl: { rejectUnauthorized: true, verifyIdentity: true, ca: bundle } }), 'shop'],
  ['sqlite:data/shop.db', { engine: 'sqlite', path: 'data/shop.db' }, 'shop'],
  ['sqlite:/var/lib/shop.v2.sqlite', { engine: 'sqlite', path: '/var/lib/shop.v2.sqlite' }, 'shop.v2'],
  ['sqlite::memory:', { engine: 'sqlite', path: ':memory:' }, 'memory'],
  ['sqlite:shop', { engine: 'sqlite', path: 'shop' }, 'shop']
]

for (const [url, address, name] of read) {
  t.test(`${url.replace(ca, 'ca.pem')} is read, and named ${name}`, async (t) => {
    t.strictSame(parseDatabaseUrl(url), address)
    t.equal(databaseNameOf(address), name)
  })
}

const scheme = 'must begin with mysql://, mariadb:// or sqlite:'
const name = 'must name one database after the host: mysql://host/name'
const parameters = 'only allows the parameters ssl and ssl-ca; ? and # in a password must be written as %3F and %23'
const addresses = 'ssl=true requires host names; use ssl=verify-ca with IP addresses'
const unreadable = 'is not a valid URL; special characters in the user name and the password must be percent-encoded, such as %40 for @ and %2F for /'

const refused: Array<[url: string, message: string]> = [
  ['', 'is empty'],
  ['shop', scheme],
  ['http://db/shop', scheme],
  ['mysql:shop', scheme],
  ['sqlite:', 'must name a file'],
  ['mysql://db', name],
  ['mysql://db/', name],
  ['mysql://db/shop/orders', name],
  ['mysql://db/shop?charset=latin1', parameters],
  ['mysql://db/shop?ssl=true&hunter2', parameters],
  ['mysql://db/shop#a', parameters],
  ['mysql://ann:1?hunter2@db/shop', parameters],
  ['mysql://ann:hunter2#@db/shop', unreadable],
  ['mysql://ann:hunter2/@db/shop', unreadable],
  ['mysql://ann:12/hunter2@db/shop', unreadable],
  ['mysql://ann:12/hunter2@db', unreadable],
  ['mysql://ann:hun@ter/2@db/shop', unreadable],
  ['mysql://db:port/shop', unreadable],
  ['mysql://db1,,db2/shop', unreadable],
  ['mysql://db1,db2:port/shop', unreadable],
  ['mysql://db/shop?ssl=false', 'ssl must be true, or verify-ca to accept a certificate with any host name'],
  ['mysql://10.0.0.1/shop?ssl=true', addresses],
  ['mysql://db,[::1]/shop?ssl-ca=/ca.pem', addresses],
  ['mysql://db/shop?ssl-ca=/hunter2/ca.pem', 'the file of ssl-ca cannot be read'],
  ...['text.pem', 'key.pem', 'cut.pem', 'broken.pem', 'ca.der', 'empty.pem'].map((name): [string, string] => [`mysql://db/shop?ssl-ca=${files}/${name}`, 'the file of ssl-ca is not a certificate in PEM format']),
  ['mysql://ann:hunter2%@db/shop', 'contains a % that is not followed by two hexadecimal digits']
]

for (const [url, message] of refused) {
  t.test(`"${url}" is refused without being repeated`, async (t) => {
    t.throws(() => parseDatabaseUrl(url), new Error(message))
    t.notMatch(message, 'hunter2')
  })
}

t.test('a replica cannot be a SQLite file', async (t) => {
  t.strictSame(parseReplicaUrl('mysql://db/shop'), mysql({}).address)
  t.throws(() => parseReplicaUrl('sqlite:shop.db'), { message: 'must begin with mysql:// or mariadb://' })
  t.throws(() => parseReplicaUrl('db'), { message: scheme })
})
