/** Clients that others generate from the document of a real database: they compile, work, and refuse mistakes before they are sent. */
import t, { type Test } from 'tap'
import { createWorkshop, type Workshop } from '../support/programs.ts'
import { get } from '../support/documents.ts'
import { onEachEngine, TOKEN, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const generators: Array<{ name: string, program: string, generate: (workshop: Workshop) => Promise<string> }> = [
  {
    name: 'openapi-typescript and openapi-fetch',
    program: 'openapi-fetch.ts',
    generate: ({ run }) => run('openapi-typescript', 'openapi-typescript', 'shop.json', '-o', 'shop.ts')
  },
  {
    name: '@hey-api/openapi-ts',
    program: 'hey-api.ts',
    generate: ({ run }) => run('@hey-api/openapi-ts', 'openapi-ts', '-i', 'shop.json', '-o', 'client', '--no-log-file')
  }
]

/** Only MySQL's ENUM says which values there are. */
const enumMistake = `
export const known: Body = { verb: 'update', data: { status: 'old' }, filters: { status: ['new', 'old'] } }
// @ts-expect-error: no member of the ENUM
export const unknown: Body = { verb: 'update', data: { status: 'odd' }, filters: { status: 'new' } }
`
const bodyTypes = new Map([
  ['openapi-fetch.ts', "import type { operations } from './shop.ts'\ntype Body = operations['queryCustomers']['requestBody']['content']['application/json']\n"],
  ['hey-api.ts', "import type { QueryCustomersData } from './client/index.js'\ntype Body = QueryCustomersData['body']\n"]
])

async function prove (t: Test, { server, sql, engine }: Service, { program, generate }: typeof generators[number]): Promise<void> {
  const workshop = createWorkshop(t)
  workshop.write('shop.json', (await get(server, '/shop/openapi.json')).text)
  await generate(workshop)
  workshop.add(program)
  if (engine !== 'sqlite') workshop.write('enum.ts', bodyTypes.get(program) + enumMistake)
  t.equal(await workshop.compile(), '', 'it compiles under strict, and every mistake in it is one')

  const address = await server.app.listen({ port: 0 })
  const output = JSON.parse(await workshop.start(program, { BASE: `${address}/api`, TOKEN }))
  const [{ id }] = output.rows
  t.match(output, {
    updated: { success: true, data: { updated: 1 } },
    rows: [{ id, note: null }],
    note: null,
    lines: { success: true, data: { count: 1 } },
    deleted: { success: true, data: { deleted: 1 } },
    code: 'FOREIGN_KEY_VIOLATION'
  })
  t.same(await sql('select id from orders where id = ?', [id]), [])
}

for (const generator of generators) {
  await onEachEngine(t, `a client of ${generator.name} compiles, works, and knows a mistake`, { schema: shop, only: ['sqlite', 'mariadb'] }, (t, service) => prove(t, service, generator))
}
