import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Grant } from '../access/grant.ts'
import { createTokenStore } from '../access/tokens.ts'
import { watchTokens } from '../access/token-settings.ts'
import { withMcpDefaults, type Settings } from '../config/settings.ts'
import { openDatabases } from '../databases/open.ts'
import { unauthenticated } from '../errors.ts'
import { LineTransport } from '../mcp/line-transport.ts'
import { isEnabled } from '../mcp/named-tools.ts'
import { createToolServer, createTools, loadSdk, type Tools } from '../mcp/tools.ts'
import { grantOf, mayCall, NamedRequests } from '../named/call.ts'
import { ResponseBudget } from '../response/budget.ts'
import { createLog, openLogStream } from '../telemetry/log.ts'
import { createCollectors } from '../telemetry/collectors.ts'
import { collect, type Collector, createRecorder, type RequestRecord } from '../telemetry/record.ts'
import { parseFlags } from './commands.ts'
import { commandGrant, type CommandGrant, loadSettings, requireClaims } from './one-database.ts'

/**
 * `row-query mcp`: serves the tools on standard input and output until the input ends. Standard output has only
 * messages; the log goes to standard error. @throws ConfigError
 */
export async function mcp (args: string[]): Promise<number> {
  const { values } = parseFlags('mcp', args)
  const { server: { logLevel, logFormat }, settings } = loadSettings(values)
  const granted = commandGrant(values, settings)
  const options = settings.mcp ?? withMcpDefaults()
  for (const request of settings.requests?.values() ?? []) {
    if (!isEnabled(options, request) || !mayCall(request, granted.grant)) continue
    requireClaims(grantOf(request, granted.grant), values.role === undefined ? '--token-name' : '--claims')
  }
  const [sdk, { serveStdio }] = await loadSdk(() =>
    Promise.all([import('@modelcontextprotocol/server'), import('@modelcontextprotocol/server/stdio')])
  )
  const log = await createLog({ logLevel, logStream: await openLogStream(logFormat, process.stderr) })
  const databases = await openDatabases(settings.databases, { log, budget: new ResponseBudget(settings.answerMemory) })
  const grants = followGrant(granted, settings, log)
  const collectors = await createCollectors({ ...settings, metrics: false }, { databases, log })
  const named = settings.requests && new NamedRequests({ databases, limits: settings.limits }, settings.requests)
  const tools = createTools({ databases, limits: settings.limits, named, ...options })
  const recorded = recordCalls(tools, collectors, createRecorder(collectors, { requestLog: settings.requestLog }))
  const transport = new LineTransport({
    input: process.stdin,
    output: process.stdout,
    maxLength: settings.bodyLimit,
    parse: sdk.parseJSONRPCMessage
  })
  const serving = serveStdio(() => createToolServer(sdk, recorded, (signal) => ({
    grant: grants.current,
    client: { get destroyed () { return signal.aborted } },
    record: undefined,
    requestId: randomUUID(),
    log
  })), { transport })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => { serving.close() })
  await transport.closed
  grants.stop()
  await Promise.all(Array.from(databases.values(), (database) => database.close()))
  return 0
}

/** `current` throws UNAUTHENTICATED once the token has expired or is no longer in the token file. */
function followGrant (
  { grant, token }: CommandGrant,
  { tokens, tokenFile }: Settings,
  log: FastifyBaseLogger
): { current (): Grant, stop (): void } {
  if (token === undefined) return { current: () => grant, stop () {} }
  const store = createTokenStore(tokens, tokenFile?.tokens)
  const watch = tokenFile && watchTokens({ file: tokenFile.file, log, onChange: store.replace })
  return {
    current: () => {
      const current = store.findGrant(token.sha256)
      if (current === undefined) throw unauthenticated(`The token "${grant.name}" has expired or was removed`)
      return current
    },
    stop: () => watch?.stop()
  }
}

const OK = 200

/** There is no HTTP request that has a record. */
function recordCalls (tools: Tools, collectors: readonly Collector[], createRecord: () => RequestRecord): Tools {
  return {
    ...tools,
    async call (name, args, caller) {
      const record = createRecord()
      const grant = (): Grant => {
        const current = caller.grant()
        record.token = current.name
        return current
      }
      try {
        return await tools.call(name, args, { ...caller, record, grant })
      } finally {
        record.end()
        record.requestId = caller.requestId
        record.status = record.refusal?.statusCode ?? OK
        collect(collectors, record)
      }
    }
  }
}
