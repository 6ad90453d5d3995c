/** The body of a request with several operations. Each operation is the body of a request to its table (body.ts). */
import { type Static, Type } from '@sinclair/typebox'
import type { Body } from './body.ts'

/** Default and maximum of the setting `limits.operations`. */
export const DEFAULT_OPERATIONS = 100
export const MAX_OPERATIONS = 1000

export const ISOLATIONS = ['repeatableRead', 'serializable'] as const

export const OperationsBodySchema = Type.Object({
  operations: Type.Array(Type.Unknown(), {
    minItems: 1,
    description: 'Run in this order, in one transaction: all of them happen, or none.'
  }),
  isolation: Type.Optional(Type.Union(ISOLATIONS.map((name) => Type.Literal(name)), { description: 'The isolation level; repeatableRead if left out. Operations that only select always read one snapshot.' })),
  dryRun: Type.Optional(Type.Boolean({ description: 'Returns the same answer and changes nothing.' }))
}, { additionalProperties: false })

/** The fields that an operation has besides those of its body. */
export const TABLE_FIELD = Type.String({ description: 'The table or view.' })
export const LOCK_FIELD = Type.Boolean({ description: 'Locks the selected rows until the end of the transaction. Needs the permission update.' })

/** An operation that has been checked. */
export type Operation = Body & { readonly table: string, readonly lock?: boolean }

export type OperationsBody = Omit<Static<typeof OperationsBodySchema>, 'operations'> & { readonly operations: readonly Operation[] }
