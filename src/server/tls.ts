/** Reads the files of the TLS certificate and checks them. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { createSecureContext, type SecureContextOptions, type Server as TlsServer, type TlsOptions } from 'node:tls'
import type { FastifyBaseLogger } from 'fastify'
import type { HttpsOptions } from '../../schemas/server-settings.ts'
import { ConfigError, orThrow } from '../config-errors.ts'

const MIN_VERSION = 'TLSv1.2'

/**
 * Returns the options for a TLS server. With `ca`, clients must present a certificate. @throws ConfigError that names
 * the invalid setting
 */
export function readCertificate (paths: HttpsOptions): TlsOptions {
  return { ...readContext(paths), ...(paths.ca !== undefined && { requestCert: true, rejectUnauthorized: true }) }
}

/** Reads the files again. New connections use the new certificate. */
export function reloadCertificate (server: Server, paths: HttpsOptions, log: FastifyBaseLogger): void {
  try {
    (server as unknown as TlsServer).setSecureContext(readContext(paths))
    log.info('certificate reloaded')
  } catch (error) {
    log.error(
      { errors: (error as ConfigError).errors },
      'the certificate cannot be used; the previous one stays in use'
    )
  }
}

function readContext ({ cert: certPath, key: keyPath, ca: caPath }: HttpsOptions): SecureContextOptions {
  const cert = read('cert', certPath)
  const key = read('key', keyPath)
  const ca = caPath === undefined ? undefined : read('ca', caPath)
  const certificate = parse('cert', 'is not a certificate in PEM format', () => new X509Certificate(cert))
  const privateKey = parse('key', 'is not a private key in PEM format without a passphrase', () =>
    createPrivateKey(key)
  )
  if (ca !== undefined) parse('ca', 'is not a certificate in PEM format', () => new X509Certificate(ca))
  if (!certificate.checkPrivateKey(privateKey)) throw new ConfigError(['https.key: is not the key of https.cert'])
  const context: SecureContextOptions = { cert, key, minVersion: MIN_VERSION, ...(ca !== undefined && { ca }) }
  parse('cert', 'is rejected by OpenSSL; it may be too weak', () => createSecureContext(context))
  return context
}

function read (setting: string, path: string): Buffer {
  return parse(setting, 'the file cannot be read', () => readFileSync(path))
}

/** The error contains no part of the file and no message of OpenSSL. */
function parse<T> (setting: string, reason: string, make: () => T): T {
  return orThrow(make, () => new ConfigError([`https.${setting}: ${reason}`]))
}
