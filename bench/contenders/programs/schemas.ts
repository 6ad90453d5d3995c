/** JSON Schemas of the bodies of the hand-written routes, for Fastify's validator. */
import { STATUSES } from '../../database/orders.ts'

const quantity = { type: 'integer', minimum: -2147483648, maximum: 2147483647 } as const
const status = { enum: STATUSES } as const
const id = { type: 'integer', minimum: 1 } as const

export const keyBody = object({ id })

export const listBody = object({ after: { type: 'integer', minimum: 0 }, limit: { type: 'integer', minimum: 1, maximum: 1000 } })

export const exportBody = object({ format: { enum: ['ndjson', 'csv'] }, limit: { type: 'integer', minimum: 1 } })

export const groupsBody = object({ after: { type: 'integer', minimum: 0 }, rows: { type: 'integer', minimum: 1 } })

const orderedAt = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,3})?$' } as const

/** A page of sales, with related rows. */
export const salesBody = object({ after: { type: 'integer', minimum: 0 }, limit: { type: 'integer', minimum: 1, maximum: 1000 } })

export const matchesBody = object({ text: { type: 'string', minLength: 1, maxLength: 1000 }, limit: { type: 'integer', minimum: 1, maximum: 1000 } })

export const pageBody = object({ after: object({ ordered_at: orderedAt, id }), limit: { type: 'integer', minimum: 1, maximum: 1000 } })

export const insertBody = object({
  quantity,
  status,
  total: { type: 'string', pattern: '^-?\\d{1,8}(\\.\\d{1,2})?$' },
  customer: { type: 'string', maxLength: 100 },
  ordered_at: orderedAt,
  details: { type: 'object' }
})

const item = { type: 'object', properties: insertBody.properties, required: insertBody.required, additionalProperties: false }

export const insertListBody = { type: 'array', items: item, minItems: 1, maxItems: 1000 }

export const upsertListBody = { ...insertListBody, items: { ...item, properties: { id, ...insertBody.properties } } }

const price = { type: 'string', pattern: '^-?\\d{1,8}(\\.\\d{1,2})?$' } as const

export const saveBody = { type: 'array', items: object({ sku: { type: 'string', maxLength: 20 }, price, stock: quantity }), minItems: 1, maxItems: 1000 }

export const lockBody = object({ id, version: quantity, price })

export const transactionBody = object({ id, status, order: insertBody, orders: insertListBody })

export const updateBody = object({ id, quantity, status })

export const updateListBody = { type: 'array', items: updateBody, minItems: 1, maxItems: 1000 }

function object (properties: Record<string, object>) {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}
