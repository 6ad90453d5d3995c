/** What a caller may do, and where. */
import { Type } from '@sinclair/typebox'

/** The verbs of the interface: the only list of them. */
export const VERBS = ['select', 'insert', 'update', 'delete'] as const
export type Verb = typeof VERBS[number]
export const VerbSchema = Type.Union(VERBS.map((verb) => Type.Literal(verb)))

/** The grant of a request in process: the fields that an entry for a token has as well. */
export const GrantSchema = Type.Object({
  permissions: Type.Array(VerbSchema),
  databases: Type.Optional(Type.Record(Type.String(), Type.Union([Type.Literal('*'), Type.Array(Type.String())])))
}, { additionalProperties: false })
