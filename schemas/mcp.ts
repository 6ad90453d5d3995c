/** The setting `mcp`: tools for language models, by the Model Context Protocol. */
import { type Static, Type } from '@sinclair/typebox'
import { VERBS } from './grant.ts'
import { closed } from './server-settings.ts'

export const McpSchema = Type.Object({
  // strings with a pattern, so that an environment variable can set the list
  verbs: Type.Optional(Type.Array(Type.String({ pattern: `^(${VERBS.join('|')})$`, description: VERBS.join(', ').replace(/, (?=[^,]*$)/, ' or ') }), {
    minItems: 1,
    uniqueItems: true,
    default: ['select'],
    description: `verbs that are tools, one or more of ${VERBS.join(', ')}; a token never has more than its permissions`
  })),
  resultLimit: Type.Optional(Type.Integer({ minimum: 4096, maximum: 1_073_741_824, default: 262_144, description: 'maximum size of the result of a tool, in bytes' })),
  url: Type.Optional(Type.String({ pattern: '^https?://[^\\s?#]+$', description: 'URL at which clients reach the tools, such as https://rows.example.com/api/mcp; with jwt, metadata for OAuth name it' }))
}, { ...closed, description: 'serves tools for language models at {prefix}/mcp, by the Model Context Protocol; {} for the defaults' })

export type McpOptions = Static<typeof McpSchema>
