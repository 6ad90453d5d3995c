/** The package: a Fastify plugin, and what one needs to give it tokens. */
import { rowQuery } from './app.ts'

export { rowQuery }
export type { PluginOptions } from './app.ts'
export type { DatabaseOptions, RowQueryOptions, TokenOptions } from '../schemas/options.ts'
export { createToken, hashToken } from './tokens.ts'
export default rowQuery
