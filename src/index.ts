/** The public API of the package. */
import { rowQuery } from './app.ts'

export { createRowQuery, rowQuery } from './app.ts'
export type { PluginOptions, RowQuery } from './app.ts'
export type { Config as RowQueryConfig, DatabaseOptions, TokenOptions } from '../schemas/options.ts'
export type { AppOptions as RowQueryOptions } from './config/settings.ts'
export type { Authenticate, CallGrant, HostGrant } from './access/host-grant.ts'
export { ServiceError } from './errors.ts'
export type { GrantOptions, TableGrantOptions } from './access/grant.ts'
export type { OnWrite, WriteEvent } from './in-process/on-write.ts'
export type { InProcessTransaction, InProcessTransactionOptions } from './in-process/transaction.ts'
export { createToken, hashGivenToken as hashToken } from './access/tokens.ts'
export type { Column, Filters, Insert, Position, Row, Update } from './in-process/fields.ts'
export default rowQuery
