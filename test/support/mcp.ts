/** Calls the tools of a service: with the official client, or with messages as they are. */
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
// loaded here, because the start of a plugin has a time limit
import '@modelcontextprotocol/server'
import type { Test } from 'tap'
import { TOKEN, type Answer, type startService } from './service.ts'

type Service = Pick<Awaited<ReturnType<typeof startService>>, 'server'>

/** Maximum time of a start or a call, in milliseconds, however busy the machine is. */
const PATIENCE = { timeout: 300_000 }

/** The revisions of the protocol: that of 2026-07-28, and those before. */
export const ERAS = ['auto', 'legacy'] as const

export interface Called { readonly isError: boolean, readonly result: any, readonly text: string }

export interface Connected {
  readonly client: Client
  /**
   * Calls a tool. @throws for an error of JSON-RPC; where the text of the result is not the same JSON as its structure
   */
  call (name: string, args?: Record<string, unknown>): Promise<Called>
}

export async function connect (t: Test, transport: Transport, era: typeof ERAS[number] = 'auto'): Promise<Connected> {
  const client = new Client({ name: 'test', version: '1.0.0' }, {
    versionNegotiation: { mode: era, probe: { timeoutMs: PATIENCE.timeout } }
  })
  await client.connect(transport, PATIENCE)
  t.teardown(async () => { await client.close() })
  return {
    client,
    async call (name, args = {}) {
      const { content, structuredContent: result, isError = false } = await client.callTool({
        name, arguments: args
      }, PATIENCE)
      const [{ text }] = content as unknown as [{ text: string }]
      t.strictSame(JSON.parse(text), result, 'the text is the same JSON')
      return { isError, result, text }
    }
  }
}

/** Connects over HTTP. */
export async function connectTo (t: Test, service: Service, { token = TOKEN, era }: {
  token?: string, era?: typeof ERAS[number]
} = {}): Promise<Connected> {
  const url = await addressOf(service)
  return await connect(
    t, new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: `Bearer ${token}` } } }), era
  )
}

const addresses = new WeakMap<object, Promise<string>>()

async function addressOf ({ server: { app } }: Service): Promise<URL> {
  const known = addresses.get(app) ?? app.listen({ host: '127.0.0.1', port: 0 })
  addresses.set(app, known)
  return new URL(`${await known}/api/mcp`)
}

export interface Sent {
  token?: string | null,
  headers?: Record<string, string | string[]>,
  method?: 'POST' | 'GET' | 'DELETE' | 'PUT' | 'OPTIONS'
}

/** Sends a message, or text, as it is. */
export async function send (
  { server: { app } }: Service, message: unknown, { token = TOKEN, headers = {}, method = 'POST' }: Sent = {}
): Promise<Answer> {
  const response = await app.inject({
    method,
    url: '/api/mcp',
    headers: {
      ...token !== null && { authorization: `Bearer ${token}` },
      ...method === 'POST' && { 'content-type': 'application/json' },
      ...headers
    },
    ...method === 'POST' &&
      { payload: typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message) }
  })
  const isJson = String(response.headers['content-type']).startsWith('application/json')
  return {
    status: response.statusCode,
    headers: response.headers,
    text: response.body,
    json: isJson ? JSON.parse(response.body) : undefined
  }
}

/** The text of a message that calls a tool; `args` may be text, for numbers that JavaScript does not have. */
export const callOf = (name: string, args: string | object, id: number | string = 1): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":{"name":` +
    `${JSON.stringify(name)},"arguments":${typeof args === 'string' ? args : JSON.stringify(args)}}}`
