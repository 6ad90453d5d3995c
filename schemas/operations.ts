/**
 * The body of a request with several operations. Each operation is the body of a request to its table (body.ts),
 * without the fields that belong to the whole and with fields of its own. The check of bodies, the documents and the
 * types are derived from these schemas.
 */
import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox'
import { BODIES, type Body } from './body.ts'
import type { Verb } from './grants.ts'

/** Default and maximum of the setting `limits.operations`. */
export const DEFAULT_OPERATIONS = 100
export const MAX_OPERATIONS = 1000

export const ISOLATIONS = ['repeatableRead', 'serializable'] as const

/** The additional fields of operations of every verb. */
const common = {
  table: Type.String({ description: 'The table or view.' })
}

/** The additional fields of operations that select. */
const ofSelect = {
  lock: Type.Optional(
    Type.Boolean({
      description: 'Locks the selected rows until the end of the transaction. Needs the permission update.'
    })
  )
}

/** The body of a request that is a part of a transaction. */
export type BodyInTransaction = Body & Static<TObject<typeof ofSelect>>
/** An operation that has been checked. */
export type Operation = BodyInTransaction & Static<TObject<typeof common>>

export const OperationsBodySchema = Type.Object(
  {
    // each operation is checked by the schema of its verb, whose errors are clearer than those of a union
    operations: Type.Array(Type.Unsafe<Operation>(Type.Unknown()), {
      minItems: 1,
      description: 'Run in this order, in one transaction: all of them happen, or none.'
    }),
    isolation: Type.Optional(
      Type.Union(
        ISOLATIONS.map((name) => Type.Literal(name)),
        {
          description:
            'The isolation level; repeatableRead if left out. Operations that only select always read one snapshot.'
        }
      )
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'Returns the same answer and changes nothing.' }))
  },
  { additionalProperties: false }
)

export type OperationsBody = Static<typeof OperationsBodySchema>

/** The properties of the body. `most`: operations that a request may have, which is a setting. */
export function propertiesOf (most: number): TProperties {
  const { operations, ...rest } = OperationsBodySchema.properties
  return { operations: { ...operations, maxItems: most }, ...rest }
}

/** Whether a field of bodies belongs to the whole request, so that no operation may have it. */
export const isOfWhole = (field: string): boolean => Object.hasOwn(OperationsBodySchema.properties, field)

const operationOf = (verb: Verb, own: TProperties = {}): TObject =>
  Type.Object(
    {
      ...common,
      ...Object.fromEntries(
        Object.entries<TProperties[string]>(BODIES[verb].properties).filter(([field]) => !isOfWhole(field))
      ),
      ...own
    },
    { additionalProperties: false }
  )

/** Verb -> schema of an operation. */
export const OPERATIONS: Readonly<Record<Verb, TObject>> = {
  select: operationOf('select', ofSelect),
  insert: operationOf('insert'),
  update: operationOf('update'),
  delete: operationOf('delete')
}
