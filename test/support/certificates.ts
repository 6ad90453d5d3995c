/** Creates certificates for tests. */
import { generate } from 'selfsigned'

export interface TestCertificate { readonly cert: string, readonly key: string }

/** Creates a self-signed certificate for a server on this machine or for a client. */
export async function createCertificate (name = 'localhost'): Promise<TestCertificate> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, digitalSignature: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: name }, { type: 7, ip: '127.0.0.1' }] }
    ]
  })
  return { cert, key }
}
