import { McpSchema, type McpOptions } from '../../schemas/options.ts'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import { withDefaults, type WithDefaults } from './with-defaults.ts'

/** The tools for language models. */
export interface McpSettings {
  /** In the order of VERBS. */
  readonly verbs: readonly Verb[]
  /** Maximum size of a result, in bytes. */
  readonly resultLimit: number
  readonly url: string | undefined
}

/** The last part of the path of the tools, which no database may have as its name while they are enabled. */
export const MCP_PATH = 'mcp'

/** Fills in the defaults, also if the setting is missing, as for `row-query mcp`. */
export function withMcpDefaults (options: McpOptions = {}): McpSettings {
  const { verbs, resultLimit, url } = withDefaults<WithDefaults<McpOptions, 'url'>>(McpSchema, options)
  return { verbs: VERBS.filter((verb) => verbs.includes(verb)), resultLimit, url }
}

/** Adds a line to `errors` for each error. */
export function readMcpSettings (errors: string[], options: McpOptions, databases: object): McpSettings {
  if (Object.hasOwn(databases, MCP_PATH)) errors.push(`databases.${MCP_PATH}: is the path of the tools of "mcp"; give the database another name`)
  return withMcpDefaults(options)
}
