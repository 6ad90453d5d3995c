/** The certificate by which clients know the server, read from its files and checked. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { createSecureContext, type SecureContextOptions, type Server as TlsServer, type TlsOptions } from 'node:tls'
import type { FastifyBaseLogger } from 'fastify'
import type { HttpsOptions } from '../../schemas/server.ts'
import { ConfigError } from '../config/config-errors.ts'

const MIN_VERSION = 'TLSv1.2'

/** For the making of a server. With `ca`, clients need a certificate of it. @throws ConfigError naming the setting at fault */
export function readCertificate (paths: HttpsOptions): TlsOptions {
  return { ...readContext(paths), ...(paths.ca !== undefined && { requestCert: true, rejectUnauthorized: true }) }
}

/** Puts the files as they are now in the place of those of before, for connections that are made from now on. */
export function reloadCertificate (server: Server, paths: HttpsOptions, log: FastifyBaseLogger): void {
  try {
    (server as unknown as TlsServer).setSecureContext(readContext(paths))
    log.info('certificate read again')
  } catch (error) {
    log.error({ mistakes: (error as ConfigError).errors }, 'the certificate cannot be used: the one of before stays in use')
  }
}

function readContext ({ cert: certPath, key: keyPath, ca: caPath }: HttpsOptions): SecureContextOptions {
  const cert = read('cert', certPath)
  const key = read('key', keyPath)
  const ca = caPath === undefined ? undefined : read('ca', caPath)
  const certificate = parse('cert', 'is no certificate in PEM form', () => new X509Certificate(cert))
  const privateKey = parse('key', 'is no private key in PEM form without a passphrase', () => createPrivateKey(key))
  if (ca !== undefined) parse('ca', 'is no certificate in PEM form', () => new X509Certificate(ca))
  if (!certificate.checkPrivateKey(privateKey)) throw new ConfigError(['https.key: is not the key of https.cert'])
  const context: SecureContextOptions = { cert, key, minVersion: MIN_VERSION, ...(ca !== undefined && { ca }) }
  parse('cert', 'cannot be used by OpenSSL, such as one that is too weak', () => createSecureContext(context))
  return context
}

function read (setting: string, path: string): Buffer {
  return parse(setting, `${path} cannot be read`, () => readFileSync(path))
}

/** No part of a file or of an error of OpenSSL is repeated. */
function parse<T> (setting: string, mistake: string, make: () => T): T {
  try {
    return make()
  } catch {
    throw new ConfigError([`https.${setting}: ${mistake}`])
  }
}
