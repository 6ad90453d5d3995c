import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { loadConfig, splitConfig, type ServerSettings } from '../config/load.ts'
import { parseFlags } from './commands.ts'

/** How long the server may take to respond, in milliseconds. */
const PATIENCE = 4000

/**
 * `row-query health`: asks the server that has this configuration, on this machine, whether it is alive. Returns the
 * exit code: 0 if it is, otherwise 1. @throws ConfigError
 */
export async function health (args: string[]): Promise<number> {
  const { values } = parseFlags('health', args)
  const { server } = splitConfig(loadConfig(process.env, values).config)
  try {
    await askServer(server)
    process.stdout.write('alive\n')
    return 0
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException
    const reason = name === 'AbortError' ? `no response within ${PATIENCE} ms` : code ?? message
    process.stdout.write(`not alive: ${reason}\n`)
    return 1
  }
}

/** The local address at which a server that listens on all addresses is asked. */
const ownAddresses = new Map([['0.0.0.0', '127.0.0.1'], ['::', '::1']])

/** Resolves if the server is alive. @throws Error that says why it is not */
async function askServer ({ host, port, https }: Pick<ServerSettings, 'host' | 'port' | 'https'>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const request = (https === undefined ? requestPlain : requestTls)({
    host: ownAddresses.get(host) ?? host,
    port,
    path: '/health/live',
    agent: false,
    rejectUnauthorized: false, // the certificate names the host that clients use, and nothing secret is sent
    signal: AbortSignal.timeout(PATIENCE)
  })
  request.on('error', reject)
  request.once('response', ({ statusCode }) =>
    statusCode === 200 ? resolve() : reject(new Error(`status ${statusCode}`))
  )
  // a server with a CA for clients does not accept this program, so the handshake is enough to show that it is alive
  if (https?.ca !== undefined) request.once('socket', (socket) => socket.once('secureConnect', resolve))
  request.end()
  try {
    await promise
  } finally {
    request.destroy()
  }
}
