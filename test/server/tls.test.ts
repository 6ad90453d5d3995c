import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { generate } from 'selfsigned'
import { readCertificate } from '../../src/server/tls.ts'
import { ConfigError } from '../../src/config-errors.ts'
import { createCertificate } from '../support/certificates.ts'

const one = await createCertificate()
const other = await createCertificate()
const weak = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 512, algorithm: 'sha256' }).catch(() => undefined)
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256', privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'hunter2' }, publicKeyEncoding: { type: 'spki', format: 'pem' } })

const folder = t.testdir({
  'cert.pem': one.cert,
  'key.pem': one.key,
  'other.pem': other.key,
  'locked.pem': privateKey,
  'empty.pem': '',
  ...(weak !== undefined && { 'weak-cert.pem': weak.cert, 'weak-key.pem': weak.private })
})
const at = (name: string): string => join(folder, name)
const right = { cert: at('cert.pem'), key: at('key.pem') }

t.test('a certificate and its key are read, for TLS 1.2 or later', async (t) => {
  t.strictSame(readCertificate(right), { cert: Buffer.from(one.cert), key: Buffer.from(one.key), minVersion: 'TLSv1.2' })
  t.match(readCertificate({ ...right, ca: at('cert.pem') }), { ca: Buffer.from(one.cert), requestCert: true, rejectUnauthorized: true })
})

const refused: Array<[because: string, paths: Parameters<typeof readCertificate>[0], mistake: string]> = [
  ['a certificate that is not there', { ...right, cert: at('nowhere.pem') }, 'https.cert: the file cannot be read'],
  ['a key that is not there', { ...right, key: at('nowhere.pem') }, 'https.key: the file cannot be read'],
  ['an authority that is not there', { ...right, ca: at('nowhere.pem') }, 'https.ca: the file cannot be read'],
  ['a key in the place of the certificate', { ...right, cert: at('key.pem') }, 'https.cert: is not a certificate in PEM format'],
  ['an empty file', { ...right, cert: at('empty.pem') }, 'https.cert: is not a certificate in PEM format'],
  ['a certificate in the place of the key', { ...right, key: at('cert.pem') }, 'https.key: is not a private key in PEM format without a passphrase'],
  ['a key with a passphrase', { ...right, key: at('locked.pem') }, 'https.key: is not a private key in PEM format without a passphrase'],
  ['the key of another certificate', { ...right, key: at('other.pem') }, 'https.key: is not the key of https.cert'],
  ['an authority that is none', { ...right, ca: at('key.pem') }, 'https.ca: is not a certificate in PEM format'],
  ['a key that is too weak', { cert: at('weak-cert.pem'), key: at('weak-key.pem') }, 'https.cert: is rejected by OpenSSL; it may be too weak']
]

for (const [because, paths, mistake] of refused) {
  t.test(`the start stops because of ${because}`, async (t) => {
    const { errors } = t.throws(() => readCertificate(paths), ConfigError) as ConfigError
    t.same(errors.map((line) => line.replace(folder + '/', '')), [mistake])
  })
}
