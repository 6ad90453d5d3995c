export const NO_TOKEN_NOTICE = `row-query: no token is configured, so all requests are refused.
row-query: Set API_TOKEN, or create a token with "row-query token --name me --permissions select" and add its entry to the configuration file.
`

interface Banner {
  readonly address: string
  readonly prefix: string
  readonly path: string
  /** Whether the docs page is enabled. */
  readonly docs: boolean
  /** The token that was created for this start; undefined if tokens are configured, which are never printed. */
  readonly token: string | undefined
}

/** Shows the address and the token of the demo, and three requests to try. */
export function demoBanner ({ address, prefix, path, docs, token }: Banner): string {
  const curl = (table: string, body: object): string =>
    `  curl -s ${address}${prefix}/demo/${table} -H "Authorization: Bearer ${token ?? '$API_TOKEN'}" -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`
  return `
No database is configured. This is the demo: a small shop database in ${path}.
Set DATABASE_URL=mysql://user:password@host/database to use your own database.

  address  ${address}${prefix}/demo/{customers,categories,products,orders,order_items}
  token    ${token ?? 'use a configured token: export it as API_TOKEN before you run these commands'}
${docs ? `  page     ${address}${prefix}/docs${token === undefined ? '' : `#token=${token}`}\n` : ''}
Try it:

${curl('products', { verb: 'select', columns: ['sku', 'name', 'price'], filters: { price: { $lt: '20.00' } }, orderBy: 'price DESC', limit: 3, include: { category: { table: 'categories', columns: ['name'] } } })}

${curl('orders', { verb: 'insert', data: { customer_id: 1, total: '12.50', ordered_at: '2026-11-20T10:15:00' } })}

${curl('customers', { verb: 'update', data: { newsletter: true }, filters: { id: [1, 2, 3] } })}

`
}
