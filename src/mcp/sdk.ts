/** Loads the implementation of the protocol, an optional peer dependency, and makes it serve the tools. */
import { createRequire } from 'node:module'
import type { Server } from '@modelcontextprotocol/server'
import { ConfigError } from '../config-errors.ts'
import { INSTRUCTIONS } from './descriptions.ts'
import type { Arguments, Caller } from './tool.ts'
import type { Tools } from './tools.ts'

export type Sdk = typeof import('@modelcontextprotocol/server')

const PACKAGE = '@modelcontextprotocol/server'

/** Resolved by package name, because the relative path differs after compilation. */
const { version } = createRequire(import.meta.url)('fastify-row-query/package.json') as { version: string }

/** `load`: imports the package or a part of it. @throws ConfigError if it is not installed */
export async function loadSdk<T> (load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new ConfigError([`mcp: requires the package ${PACKAGE}; install it with: npm install ${PACKAGE}`])
  }
}

/** Creates the server of one connection or one request. */
export function createToolServer ({ Server, ProtocolError, ProtocolErrorCode }: Sdk, tools: Tools, getCaller: (signal: AbortSignal) => Caller): Server {
  const server = new Server({ name: 'row-query', version }, { capabilities: { tools: {} }, instructions: INSTRUCTIONS })
  server.setRequestHandler('tools/list', (_request, { mcpReq: { signal } }) => ({ tools: tools.list(getCaller(signal).grant()) }))
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, { mcpReq: { signal } }) => {
    if (!tools.has(name)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`)
    return await tools.call(name, args as Arguments, getCaller(signal))
  })
  return server
}
