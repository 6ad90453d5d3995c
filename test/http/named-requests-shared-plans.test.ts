/** Plans of named requests are kept for all callers: none gets the rows, the rights or the values of another one. */
import t from 'tap'
import { tokenOf } from '../grants/support.ts'
import { createPair, jwtSetting, serveKeys, sign } from '../support/issuer.ts'
import { define, param } from '../support/named-requests.ts'
import { anyEngine } from '../support/rotation.ts'
import { onEachEngine, type Service } from '../support/service.ts'

const TENANTS = [1, 2] as const
const schema = () => [
  'create table things (id int primary key, tenant int not null, name varchar(40) not null)',
  `insert into things values ${Array.from({ length: 100 }, (_, index) =>
    `(${index}, ${index % 2 + 1}, 'thing ${index}')`).join()}`
]
const permissions = ['select', 'insert', 'update', 'delete'] as const
const ofTenant = { shop: { things: { rows: { tenant: { $claim: '/tenant' } } } } }
const [id, ids, tenant, name] = ['id', 'ids', 'tenant', 'name'].map(param)
const bodies = {
  find: { verb: 'select', columns: ['id', 'name'], filters: { id: { $in: ids } }, orderBy: 'id' },
  add: { verb: 'insert', data: { id, tenant, name } },
  change: { verb: 'update', filters: { id: { $in: ids } }, data: { name } },
  move: { verb: 'update', filters: { id: { $in: ids } }, data: { tenant } },
  remove: { verb: 'delete', filters: { id: { $in: ids } } }
}
/** With the rights of the caller, and with those of a role. */
const requests = Object.fromEntries(Object.entries(bodies).flatMap(([name, body]) => [
  [name, define('things', body)], [`${name}_as`, define('things', body, { as: 'ofRequests' })]
]))
const pair = await createPair('one')
const keys = await serveKeys(t, [pair.jwk])
const jwts = Object.fromEntries(await Promise.all(TENANTS.map(async (tenant) =>
  [tenant, await sign(pair, { role: 'seller', tenant } as never)] as const)))
const options = {
  requests,
  jwt: [jwtSetting({ jwks: keys.url })],
  roles: {
    seller: { permissions: [...permissions], databases: ofTenant, requests: '*' as const },
    ofRequests: { for: 'requests' as const, permissions: [...permissions], databases: ofTenant }
  }
}
const tokens = [tokenOf('all', {}), tokenOf('reader', { permissions: ['select'] })]
const only = await anyEngine(t)

/** Returns `data`, or the code. */
async function call (service: Service, name: string, token: string, given: object): Promise<any> {
  const { json: { data, error } } = await service.call(name, given, { token })
  return error?.code ?? data
}

await onEachEngine(t, 'two JWTs of one role', { only, schema, options }, async (t, service) => {
  const { sql } = service
  const as = (tenant: number, name: string, parameters: object): Promise<any> =>
    call(service, name, jwts[tenant] as string, parameters)
  const state = async (tenant: number): Promise<string> =>
    JSON.stringify(await sql('select id, name from things where tenant = ? order by id', [tenant]))

  for (const suffix of ['', '_as']) {
    await t.test(`have rows of their own, three times each, with every verb${suffix}`, async (t) => {
      for (let time = 0; time < 3; time++) {
        for (const tenant of TENANTS) {
          const others = await state(3 - tenant)
          const ids = [tenant - 1, 2 - tenant].map((id) => id + 10 * time)
          const mine = ids[0] as number
          const shown = (name: string): object => ({ rows: [{ id: mine, name }], count: 1 })
          const [id, name] = [1000 + 10 * time + tenant, `of ${tenant}, ${time}${suffix}`]
          const [before] = await sql('select name from things where id = ?', [mine])
          t.same(await as(tenant, `find${suffix}`, { ids }), shown(before.name))
          t.same(await as(tenant, `change${suffix}`, { ids, name }), { updated: 1 })
          t.same(await as(tenant, `find${suffix}`, { ids }), shown(name))
          t.match(await as(tenant, `add${suffix}`, { id, tenant, name: 'new' }), { inserted: 1 })
          t.same(await as(3 - tenant, `remove${suffix}`, { ids: [id] }), { deleted: 0 })
          t.same(await as(tenant, `remove${suffix}`, { ids: [...ids.slice(1), id] }), { deleted: 1 })
          t.equal(await state(3 - tenant), others, 'the rows of the other one')
        }
      }
    })

    await t.test(`a value within the rules, one outside, and one within${suffix}`, async (t) => {
      for (const [time, given] of [1, 2, 1, 2, 2, 1].entries()) {
        for (const tenant of TENANTS) {
          const id = 2000 + 10 * time + tenant
          const before = await state(3 - tenant)
          const [added, moved, found] = [
            await as(tenant, `add${suffix}`, { id, tenant: given, name: 'new' }),
            await as(tenant, `move${suffix}`, { ids: [id], tenant: given }),
            await as(tenant, `find${suffix}`, { ids: [given - 1] })
          ]
          if (given === tenant) {
            t.match([added, moved, found], [{ inserted: 1 }, {}, { count: 1 }], `${time} ${tenant}`)
          } else {
            const denied = 'PERMISSION_DENIED'
            t.match([added, moved, found], [denied, denied, { count: 0 }], `${time} ${tenant}`)
          }
          t.equal(await state(3 - tenant), before, 'the rows of the other one')
          await sql('delete from things where id >= 2000')
        }
      }
    })
  }
})

await onEachEngine(t, 'a token that only reads is refused where another one, who sees the same, has just written', {
  only, schema, tokens, options
}, async (t, service) => {
  for (let time = 0; time < 3; time++) {
    for (const [name, parameters, answer] of [
      ['find', { ids: [time] }, { count: 1 }], ['add', { id: 1000 + time, tenant: 1, name: 'new' }, { inserted: 1 }],
      ['change', { ids: [time], name: `new ${time}` }, { updated: 1 }],
      ['remove', { ids: [1000 + time] }, { deleted: 1 }]
    ] as const) {
      t.match(await call(service, name, 'all', parameters), answer, name)
      const read = await call(service, name, 'reader', parameters)
      if (name === 'find') t.match(read, answer)
      else t.equal(read, 'PERMISSION_DENIED', name)
    }
  }
})

await onEachEngine(t, 'on one session, 200 calls of one request at once have values of their own', {
  only, schema, options, database: { pool: { size: 1, queue: 1000, wait: 60_000 } }
}, async (t, service) => {
  const all = Array.from({ length: 200 }, (_, index) => ({ id: index % 100, tenant: Math.floor(index / 3) % 2 + 1 }))
  const isOwn = ({ id, tenant }: { id: number, tenant: number }): boolean => id % 2 + 1 === tenant
  const as = (tenant: number, name: string, parameters: object): Promise<any> =>
    call(service, name, jwts[tenant] as string, parameters)
  const found = await Promise.all(all.map(({ id, tenant }) => as(tenant, 'find', { ids: [id] })))
  t.same(found.map(({ rows }) => rows), all.map(
    (each) => isOwn(each) ? [{ id: each.id, name: `thing ${each.id}` }] : []
  ))
  await Promise.all(all.map(({ id, tenant }) => as(tenant, 'change', { ids: [id], name: `of ${tenant}: ${id}` })))
  const written = new Set(all.filter(isOwn).map(({ id }) => id))
  t.same((await service.sql('select id, name from things order by id')).map(({ name }) => name), Array.from(
    { length: 100 }, (_, id) => written.has(id) ? `of ${id % 2 + 1}: ${id}` : `thing ${id}`
  ))
})
