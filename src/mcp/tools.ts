import { createRequire } from 'node:module'
import type { Server } from '@modelcontextprotocol/server'
import type { FastifyError } from 'fastify'
import type { Grant } from '../access/grant.ts'
import { ConfigError } from '../config-errors.ts'
import { internal, isBug, isServiceError, requestNotFound, type ServiceError } from '../errors.ts'
import { inPieces, type LongWork, PART } from '../in-pieces.ts'
import { parseExactJson } from '../json/exact-json.ts'
import type { Schema } from '../openapi/value-schema.ts'
import { TOOLS } from '../named/definition.ts'
import { logRefusal, type RequestRecord } from '../telemetry/record.ts'
import { createDescribeTable, createListTables } from './describe-table.ts'
import { findNamedTool, namedTools } from './named-tools.ts'
import { createRowTools, INSTRUCTIONS } from './row-tools.ts'
import type { Arguments, Principal, Tool, ToolOptions } from './tool.ts'

interface ToolDescription {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: Schema & { readonly type: 'object' }
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint?: boolean
    readonly openWorldHint: boolean
  }
}

/** The result of a call in the form of the protocol; a type, because an interface has no index signature. */
type ToolResult = {
  content: Array<{ type: 'text', text: string }>
  structuredContent: Record<string, unknown>
  isError?: true
}

export interface Tools {
  /** The tools that the caller may use on any table. Other requests run between those of many named requests. */
  list (grant: Grant): Promise<ToolDescription[]>
  /** Whether there is a tool that the caller may call: others do not learn that there is a named request. */
  has (name: string, grant: () => Grant): boolean
  /** A refusal is returned as a result. */
  call (name: string, args: Arguments, principal: Principal): Promise<ToolResult>
}

export function createTools (options: ToolOptions): Tools {
  const tools: ReadonlyMap<string, Tool> = new Map([
    ['list_tables', createListTables(options)],
    ['describe_table', createDescribeTable(options)],
    ...createRowTools(options)
  ])
  const find = (name: string, grant: Grant): Tool => {
    const tool = tools.get(name) ?? findNamedTool(options, name, grant)
    if (tool === undefined) throw requestNotFound(name)
    return tool
  }
  return {
    list: (grant) => inPieces(describeAll([...tools, ...namedTools(options, grant)], grant)),
    has: (name, grant) => tools.has(name) || findNamedTool(options, name, grant()) !== undefined,
    async call (name, args, { grant, ...principal }) {
      const { record, log, requestId } = principal
      if (record != null) note(options, record, name, args)
      try {
        const caller = grant()
        return toResult(await find(name, caller).run(args, { ...principal, grant: caller }))
      } catch (error) {
        const refusal = isServiceError(error) ? error : internal()
        logRefusal(log, { refusal, error: error as FastifyError, requestId, record })
        return { ...toResult(refusalText(refusal, { requestId, limit: options.resultLimit })), isError: true }
      }
    }
  }
}

/** The description of a named request stands for as much work. */
function * describeAll (tools: ReadonlyArray<[string, Tool]>, grant: Grant): LongWork<ToolDescription[]> {
  const described: ToolDescription[] = []
  for (const [name, tool] of tools) {
    const inputSchema = tool.inputSchema(grant)
    if (inputSchema !== undefined) described.push(describe(name, tool, inputSchema))
    yield PART
  }
  return described
}

const describe = (
  name: string,
  { title, description, isReadOnly, isDestructive }: Tool,
  inputSchema: Schema
): ToolDescription => ({
  name,
  title,
  description,
  inputSchema: inputSchema as ToolDescription['inputSchema'],
  annotations: {
    readOnlyHint: isReadOnly,
    ...(isDestructive !== undefined && { destructiveHint: isDestructive }),
    openWorldHint: false
  }
})

/** Records the names of a call, but only if the service knows them, because the caller chooses them. */
function note (
  { databases, verbs }: ToolOptions,
  record: RequestRecord,
  name: string,
  { database }: Arguments
): void {
  record.tool = name
  record.verb = verbs.find((verb) => verb === name) ?? ''
  if (TOOLS.has(name) && typeof database === 'string' && databases.has(database)) record.database = database
}

const toResult = (text: string): ToolResult => ({
  content: [{ type: 'text', text }],
  structuredContent: parseExactJson(text) as Record<string, unknown>
})

/** Characters of the message of a refusal that are kept if the refusal is too large. */
const KEPT = 1000

/**
 * Includes the request id, by which the log shows the reason of a bug. Beyond `limit`, in bytes, there is only the
 * beginning of the message, because it may repeat what the caller sent.
 */
function refusalText (
  refusal: ServiceError,
  { requestId, limit }: { readonly requestId: string; readonly limit: number }
): string {
  const { code, message, details } = refusal
  const text = JSON.stringify({ code, message, details, ...(isBug(refusal) && { requestId }) })
  return Buffer.byteLength(text) <= limit
    ? text
    : JSON.stringify({ code, message: message.slice(0, KEPT), details: [] })
}

// Loads the implementation of the protocol, an optional peer dependency, and makes it serve the tools.

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

interface Wrapped { readonly sent: Arguments }

/** The implementation copies the arguments of a tool without `__proto__`, but not what they contain. */
export const wrapArguments = (sent: Arguments): Wrapped => ({ sent })

/** Creates the server of one connection or one request. */
export function createToolServer (
  { Server, ProtocolError, ProtocolErrorCode }: Sdk,
  tools: Tools,
  getPrincipal: (signal: AbortSignal) => Principal
): Server {
  const server = new Server(
    { name: 'row-query', version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS }
  )
  server.setRequestHandler('tools/list', async (_request, { mcpReq: { signal } }) => ({
    tools: await tools.list(getPrincipal(signal).grant())
  }))
  server.setRequestHandler(
    'tools/call',
    async ({ params: { name, arguments: args = {} } }, { mcpReq: { signal } }) => {
      const principal = getPrincipal(signal)
      if (!tools.has(name, principal.grant)) {
        const names = (await tools.list(principal.grant())).map((tool) => tool.name).join(', ')
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}; the tools are ${names}`)
      }
      return await tools.call(name, (args as Partial<Wrapped>).sent ?? {}, principal)
    }
  )
  return server
}
