/** What a person who starts the service reads. */

export const NO_TOKEN_NOTICE = `row-query: no token is configured, so every request is refused.
row-query: Set API_TOKEN, or make one with "row-query token --name me --permissions select" and put its entry into the configuration file.
`

interface Banner {
  readonly address: string
  readonly prefix: string
  readonly path: string
  /** Whether there is a page to look at. */
  readonly docs: boolean
  /** The token made for this start; undefined where tokens are configured, which are never printed. */
  readonly token: string | undefined
}

/** The embedded demo: where it is, with what token, and three requests to paste. */
export function demoBanner ({ address, prefix, path, docs, token }: Banner): string {
  const curl = (table: string, body: object): string =>
    `  curl -s ${address}${prefix}/demo/${table} -H "Authorization: Bearer ${token ?? '$API_TOKEN'}" -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`
  return `
No database is configured, so this is the demo: a small shop in ${path}.
Set DATABASE_URL=mysql://user:password@host/database to use your own.

  address  ${address}${prefix}/demo/{customers,products,orders,order_items}
  token    ${token ?? 'one that is configured; export it as API_TOKEN where you paste these lines'}
${docs ? `  page     ${address}${prefix}/docs\n` : ''}
Try it:

${curl('products', { verb: 'select', columns: ['sku', 'name', 'price'], filters: { price: { $lt: '20.00' } }, orderBy: 'price DESC', limit: 3 })}

${curl('orders', { verb: 'insert', data: { customer_id: 1, total: '12.50', ordered_at: '2026-11-20T10:15:00' } })}

${curl('customers', { verb: 'update', data: { newsletter: true }, filters: { id: [1, 2, 3] } })}

`
}
