/** What somebody is allowed who asks in process: what the entry for a token says of it. */
import { Type } from '@sinclair/typebox'

export const GrantSchema = Type.Object({
  permissions: Type.Array(Type.Union([Type.Literal('select'), Type.Literal('insert'), Type.Literal('update'), Type.Literal('delete')])),
  databases: Type.Optional(Type.Record(Type.String(), Type.Union([Type.Literal('*'), Type.Array(Type.String())])))
}, { additionalProperties: false })
