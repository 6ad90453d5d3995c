/** Transactions of a host app, and its hook for writes. */
/** What `app.close()` does with requests that no connection of HTTP belongs to. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { RowQueryOptions } from '../../schemas/options.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { type GrantOptions, type OnWrite, ServiceError, type WriteEvent } from '../../src/index.ts'
import { sharedWithHook } from '../support/hooks.ts'
import { errorPacket, type Proxy } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Service, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const grant: GrantOptions = { permissions: ['select', 'insert', 'update', 'delete'] }
const orders = async ({ sql }: Pick<Service, 'sql'>): Promise<number> =>
  Number((await sql('select count(*) as count from orders'))[0].count)
const insert = { verb: 'insert' as const, data: { customer_id: 1, note: 'new' } }
const test = sharedOnEachEngine(t, { schema: shop })

await test('a transaction commits what its function did', async (t, service) => {
  const { server: { rows } } = service
  const id = await rows.transaction('shop', async (tx) => {
    const { id } = await tx.execute({ table: 'orders', body: insert, grant })
    await tx.execute({
      table: 'order_items',
      body: {
        verb: 'insert', data: { order_id: id, line: 1, product_sku: 'MUG-1', price: '7.50' }
      },
      grant
    })
    t.match(await tx.execute({ table: 'orders', body: { verb: 'select', filters: { id } }, grant }), {
      rows: [{ id, note: 'new' }], count: 1
    })
    return id
  }, { isolation: 'serializable' })
  t.equal(id, 3)
  t.equal(await orders(service), 3)
})

await test('a transaction undoes everything if its function throws', async (t, service) => {
  const { server: { rows } } = service
  const reason = new Error('the card was declined')
  await t.rejects(rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'orders', body: insert, grant })
    throw reason
  }), reason)
  await t.rejects(rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'orders', body: insert, grant })
    await tx.execute({ table: 'orders', body: { verb: 'insert', data: { customer_id: 99 } }, grant })
  }), { code: 'FOREIGN_KEY_VIOLATION' })
  await rows.transaction('shop', async (tx) => { await tx.execute({ table: 'orders', body: insert, grant }) }, {
    dryRun: true
  })
  t.equal(await orders(service), 2)
  await rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'orders', body: { verb: 'insert', data: { customer_id: 99 } }, grant }).catch(() => {})
    await tx.execute({ table: 'orders', body: insert, grant })
  })
  t.equal(await orders(service), 3, 'a refusal that it catches undoes one request')
  await t.rejects(rows.transaction('nothing', async () => {}), { code: 'DATABASE_NOT_FOUND' })
  await t.rejects(rows.transaction('shop', async () => {}, { isolation: 'chaos' as 'serializable' }), {
    code: 'INVALID_BODY'
  })
  await t.rejects(rows.transaction(
    'shop', async (tx) => { await tx.execute({ table: 'orders', body: insert, grant: { permissions: ['select'] } }) }
  ), { code: 'PERMISSION_DENIED' })
})

await test('what the function of a transaction throws comes back as it is', async (t, service) => {
  const own = Object.assign(new Error('the app'), { errcode: 787, errno: 1062, code: 'ER_DUP_ENTRY' })
  for (const reason of [undefined, null, 'text', own]) {
    const thrown = await service.server.rows.transaction('shop', async (tx) => {
      await tx.execute({ table: 'orders', body: insert, grant })
      throw reason
    }).then(() => t.fail('it throws'), (error: unknown) => ({ error }))
    t.equal((thrown as { error: unknown }).error, reason)
  }
  t.equal(await orders(service), 2)
})

await onEachEngine(t, 'a transaction runs again after a deadlock, and where the ' +
  'tables have changed', { schema: shop, only: ['mariadb', 'mysql'] }, async (t, service) => {
  const { server: { rows }, proxy, sql } = service as Service & { proxy: Proxy }
  let failures = 1
  proxy.onStatement = (statement) => statement.startsWith('insert') &&
    failures-- > 0
    ? errorPacket(1213, '40001')
    : undefined
  const attempts: number[] = []
  await rows.transaction('shop', async (tx) => {
    attempts.push(tx.attempt)
    await tx.execute({ table: 'orders', body: insert, grant })
  })
  t.same(attempts.splice(0), [1, 2])
  await sql('alter table orders change note remark varchar(50)')
  await t.rejects(rows.transaction('shop', async (tx) => {
    attempts.push(tx.attempt)
    await tx.execute({ table: 'orders', body: insert, grant })
  }), { code: 'DATABASE_UNAVAILABLE' })
  t.same(attempts, [1, 2])
})

/** An audit table in five lines. */
const audit: OnWrite = async ({ grant, table, verb, data, result, tx }) => {
  await tx.execute({
    table: 'audit',
    body: {
      verb: 'insert',
      data: {
        who: grant.name, what: `${verb} ${table}`, data: JSON.stringify(data ?? null), result: JSON.stringify(result)
      }
    },
    grant: { permissions: ['insert'] }
  })
}
const columns = 'who varchar(50), what varchar(50), data text, result text'
const audited = {
  sqlite: [
    ...shop.sqlite, `create table audit (id integer primary key autoincrement, ${columns})`,
    ...CREATE.sqlite.split(';').slice(0, 1)
  ],
  mysql: [...shop.mysql, `create table audit (id int not null auto_increment primary key, ${columns})`, CREATE.mysql]
}
const testWithHook = sharedWithHook(t, { schema: audited, options: { requestLog: true } })

await testWithHook('the hook for writes writes in the same transaction', audit, async (t, service) => {
  const { post, operate, sql, statements } = service
  const lines = async () =>
    (await sql('select who, what, data, result from audit order by id')).map((row) => ({ ...row }))
  t.match((await post('orders', insert)).json.data, { inserted: 1, id: 3 })
  t.match((await post('customers', { verb: 'update', data: { status: 'old' }, filters: { id: 1 } })).json.data, {
    updated: 1
  })
  isRefusal(t, await post('orders', { verb: 'insert', data: { customer_id: 99 } }), {
    status: 409, code: 'FOREIGN_KEY_VIOLATION', why: 'refused'
  })
  await operate([
    { table: 'orders', ...insert }, { table: 'orders', verb: 'delete', filters: { id: { $ref: '/0/id' } } }
  ])
  t.equal(
    (await operate([{ table: 'orders', ...insert }, { table: 'orders', verb: 'delete', filters: { id: 1 } }])).status,
    409
  )
  await post('orders', insert, { headers: { 'idempotency-key': 'a' } })
  await post('orders', insert, { headers: { 'idempotency-key': 'a' } })
  await post('orders', { ...insert, dryRun: true })
  const noted = await lines()
  t.same(noted.map(({ what }) => what), [
    'insert orders', 'update customers', 'insert orders', 'delete orders', 'insert orders'
  ])
  t.match(noted[0], { who: 'everything', data: '{"customer_id":1,"note":"new"}', result: '{"inserted":1,"id":3}' })
  statements()
  await post('orders', { verb: 'select' })
  t.same(statements().filter((sql) => /begin|start|commit/.test(sql)), [], 'a select is as it was')
})

await testWithHook('the hook for writes may refuse them', (
  { table, verb, data, filters, result, attempt, dryRun, database }
) => {
  const { note } = (data ?? {}) as { note?: string }
  if (note === 'told') throw new Error(JSON.stringify({ table, verb, filters, result, attempt, dryRun, database }))
  if (note === 'derived') throw new class extends ServiceError {}('of the app')
  if (note === 'proxy') {
    throw new Proxy(new Error(), {
      getPrototypeOf: () => { throw new Error('of the proxy') }, get: () => { throw new Error('of the proxy') }
    })
  }
  if (note === 'revoked') {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    throw proxy
  }
  if (note === 'busy') {
    throw Object.assign(Object.create(ServiceError.prototype), {
      name: 'FastifyError', code: 'RATE_LIMITED', statusCode: 429, message: 'Later'
    })
  }
}, async (t, service) => {
  const { post, operate, log } = service
  const refused = await post('orders', { verb: 'insert', data: { customer_id: 1, note: 'told' } })
  isRefusal(t, refused, { status: 422, code: 'WRITE_REFUSED', why: 'by the app' })
  t.notMatch(log.join(), /attempt/)
  for (const note of ['proxy', 'revoked']) {
    isRefusal(
      t, await post('orders', { verb: 'insert', data: { customer_id: 1, note } }),
      { status: 422, code: 'WRITE_REFUSED', why: note }
    )
  }
  isRefusal(t, await operate([
    { table: 'orders', ...insert }, { table: 'orders', verb: 'update', data: { note: 'told' }, filters: { id: 1 } }
  ]), { status: 422, code: 'WRITE_REFUSED', why: 'the second' })
  isRefusal(t, await post('orders', { verb: 'insert', data: { customer_id: 1, note: 'busy' } }), {
    status: 429, code: 'RATE_LIMITED', why: 'its own'
  })
  isRefusal(t, await post('orders', { verb: 'insert', data: { customer_id: 1, note: 'derived' } }), {
    status: 422, code: 'WRITE_REFUSED', why: 'a class of the app, which has no code'
  })
  t.equal(await orders(service), 2)
  t.equal((await post('orders', insert)).status, 200)
})

class OfTheApp extends Error {}
/** What the hook throws by the note of an order, and whether it is a programming error. */
const thrownByHook: Record<string, { make: () => unknown, isMistake: boolean }> = {
  undefined: {
    make: () => { try { return (undefined as unknown as { a: { b: 1 } }).a.b } catch (error) { return error } },
    isMistake: true
  },
  name: { make: () => new ReferenceError('total is not defined'), isMistake: true },
  number: { make: () => { try { return 1n / 0n } catch (error) { return error } }, isMistake: true },
  plain: { make: () => new Error('closed'), isMistake: false },
  own: { make: () => new OfTheApp('closed'), isMistake: false },
  text: { make: () => 'closed', isMistake: false },
  nothing: { make: () => null, isMistake: false }
}
let cause: unknown
await testWithHook('what the hook throws is the cause in process, and a programming error is in the ' +
  'log with its stack', ({ data }) => {
  cause = thrownByHook[(data as { note: string }).note]?.make()
  throw cause
}, async (t, service) => {
  const { post, operate, server: { rows }, log } = service
  for (const [note, { isMistake }] of Object.entries(thrownByHook)) {
    const body = { verb: 'insert' as const, data: { customer_id: 1, note } }
    const calls: Array<() => Promise<unknown>> = [
      async () => await rows.execute({ database: 'shop', table: 'orders', body, grant }),
      async () => await rows.transaction('shop', async (tx) => { await tx.execute({ table: 'orders', body, grant }) })
    ]
    for (const call of calls) {
      const error = await call().catch((error: unknown) => error) as ServiceError
      t.same([error.code, error.message, error.cause === cause], [
        'WRITE_REFUSED', 'The application refused the write; nothing was changed', true
      ], note)
    }
    log.splice(0)
    for (const answer of [
      await post('orders', body), await post('orders', body, { headers: { 'idempotency-key': note } }),
      await operate([{ table: 'orders', ...body }])
    ]) {
      isRefusal(t, answer, { status: 422, code: 'WRITE_REFUSED', why: note })
    }
    const errors = log.splice(0).map((line) => JSON.parse(line)).filter(({ level }) => level === 50)
    t.equal(errors.length, isMistake ? 3 : 0, note)
    for (const line of errors) {
      t.match(line, {
        msg: 'error in the hook onWrite',
        database: 'shop',
        table: 'orders',
        verb: 'insert',
        err: { message: (cause as Error).message, stack: /transaction\.test/ }
      })
    }
  }
  t.equal(await orders(service), 2)
})

let events: WriteEvent[] = []

await testWithHook('the hook is told everything', (event) => {
  events.push(event)
}, async (t, { post, server: { rows } }) => {
  events = []
  await post('customers', '{"verb": "update", "data": {"credit": 1.50}, "filters": {"id": 9223372036854775807}}')
  t.match(events, [{
    database: 'shop',
    table: 'customers',
    verb: 'update',
    filters: {
      id: 9223372036854775807n
    },
    result: { updated: 0 },
    attempt: 1,
    dryRun: false,
    grant: { name: 'everything' }
  }])
  await rows.transaction('shop', async (tx) => { await tx.execute({ table: 'orders', body: insert, grant }) }, {
    dryRun: true
  })
  t.match(events[1], { table: 'orders', dryRun: true, result: { inserted: 1, id: 3 }, grant: { name: 'in process' } })
  await rows.execute({
    database: 'shop',
    table: 'orders',
    body: { verb: 'insert', data: { customer_id: 1 } },
    grant: {
      ...grant, name: 'nightly', claims: { tenant: 7 }
    }
  })
  t.equal(events.length, 3)
  t.match(events[2], { grant: { name: 'nightly', claims: { tenant: 7 } } }, 'of the grant')
})

await testWithHook('a grant of the wrong form in the hook is an error of the app, whose ' +
  'reason only the log has', async ({ tx }) => {
  await tx.execute({
    table: 'audit',
    body: { verb: 'insert', data: { who: 'x' } },
    grant: {
      permissions: ['insert'], database: 'shop'
    } as GrantOptions
  })
}, async (t, service) => {
  const { post, log } = service
  const answer = await post('orders', insert)
  isRefusal(t, answer, { status: 500, code: 'INTERNAL', why: 'an unknown field' })
  t.notMatch(answer.text, /database/)
  t.match(log.join(), /The request has a grant that is not valid: .*database/)
  t.equal(await orders(service), 2)
})

const auditor = {
  permissions: ['insert' as const, 'update' as const], databases: { shop: ['audit', 'orders', 'ledger'] }
}
/** Requests of a hook that are refused, by the note of the order. */
const refusedOfHook: Record<string, { table: string, body: object, code: string }> = {
  key: { table: 'orders', body: { verb: 'insert', data: [{ id: 1, customer_id: 1 }] }, code: 'UNIQUE_VIOLATION' },
  column: { table: 'audit', body: { verb: 'insert', data: { nope: 1 } }, code: 'COLUMN_NOT_FOUND' },
  value: { table: 'audit', body: { verb: 'insert', data: { id: 'x' } }, code: 'INVALID_VALUE' },
  body: { table: 'audit', body: { verb: 'insert', rows: 1 }, code: 'INVALID_BODY' },
  missing: { table: 'ledger', body: { verb: 'insert', data: {} }, code: 'TABLE_NOT_FOUND' },
  verb: { table: 'audit', body: { verb: 'delete', filters: { id: 1 } }, code: 'PERMISSION_DENIED' }
}
const onRefused: OnWrite = async ({ data, tx }) => {
  const { table, body } = refusedOfHook[(data as { note: string }).note] ?? {}
  if (table !== undefined) await tx.execute({ table, body: body as object, grant: auditor })
}

await testWithHook('a refusal of a write of the hook tells the client nothing of tables ' +
  'that it does not see', onRefused, async (t, service) => {
  const { post, operate, server: { rows }, log } = service
  const names = /audit|ledger|nope|PRIMARY|permission|\/data|\/rows|"id"/
  const write = (note: string) => ({ verb: 'insert' as const, data: { customer_id: 1, note } })
  for (const [note, { table, code }] of Object.entries(refusedOfHook)) {
    const answers = [
      await post('orders', write(note)),
      await post('orders', write(note), { headers: { 'idempotency-key': note } }),
      await operate([{ table: 'orders', ...write('fine') }, { table: 'orders', ...write(note) }])
    ]
    for (const answer of answers) {
      isRefusal(t, answer, { status: 422, code: 'WRITE_REFUSED', why: note })
      t.notMatch(answer.text, names)
    }
    t.same(answers.map(({ json }) => json.error.details.map(({ path }: { path: string }) => path)), [
      [], [], ['/operations/1']
    ])
    const reasons = log.splice(0).map((line) => JSON.parse(line).reason).filter((reason) => reason !== undefined)
    t.equal(reasons.length, 3)
    for (const reason of reasons) t.ok(reason.startsWith(`${code} in "${table}": `), reason)
    await t.rejects(rows.execute({ database: 'shop', table: 'orders', body: write(note), grant }), {
      code: 'WRITE_REFUSED', details: [], cause: { code }
    })
    await t.rejects(
      rows.transaction('shop', async (tx) => { await tx.execute({ table: 'orders', body: write(note), grant }) }),
      { code: 'WRITE_REFUSED', details: [], cause: { code } }
    )
  }
  t.equal(await orders(service), 2)
})

await testWithHook('a fault of a write of the hook keeps its code, without details', async ({ tx }) => {
  const error = await tx.execute({ table: 'audit', body: {}, grant }).catch((error: ServiceError) => error)
  throw Object.assign(Object.create(Object.getPrototypeOf(error)), {
    code: 'OUTCOME_UNKNOWN', statusCode: 502, message: 'Unknown', details: [{ path: '', message: 'table "audit"' }]
  })
}, async (t, { post, log }) => {
  const answer = await post('orders', insert)
  isRefusal(t, answer, { status: 502, code: 'OUTCOME_UNKNOWN', why: 'as it is' })
  t.same(answer.json.error.details, [])
  t.match(log.join(), /OUTCOME_UNKNOWN: table \\"audit\\"/)
})

const notes: OnWrite = async ({ tx }) => {
  await tx.execute({ table: 'audit', body: { verb: 'insert', data: { who: 'x' } }, grant }).catch(() => {})
}

await onEachEngine(t, 'a hook may catch the error of its own request in a changed table', {
  schema: audited, options: { onWrite: notes } as Partial<RowQueryOptions>, only: ['mariadb', 'mysql']
}, async (t, service) => {
  const { post, operate, sql, log } = service
  t.equal((await post('orders', insert)).status, 200)
  await sql('alter table audit drop column who')
  for (const send of [
    () => post('orders', insert), () => operate([{ table: 'orders', ...insert }]), () => post('orders', insert)
  ]) {
    const answer = await send()
    t.ok([200, 503].includes(answer.status), answer.text)
    await sql('alter table audit add column who varchar(50) null')
    await service.server.rows.refresh()
    await sql('alter table audit drop column who')
  }
  t.notMatch(log.join(), /unexpected error/)
})

/** A trigger that fails for want of what it names. */
const withTrigger = (action: string) => ({
  sqlite: [...audited.sqlite, `create trigger broken after insert on audit begin ${action}; end`],
  mysql: [...audited.mysql, `create trigger broken after insert on audit for each row ${action}`]
})

await onEachEngine(t, 'a hook that catches the error of a broken definition cannot write nevertheless', {
  schema: withTrigger('insert into gone values (1)'), options: { onWrite: notes } as Partial<RowQueryOptions>
}, async (t, { post, operate, server: { rows }, ...service }) => {
  for (const when of ['before it is known', 'and after']) {
    isRefusal(t, await post('orders', insert), { status: 422, code: 'BROKEN_DEFINITION', why: when })
    isRefusal(t, await operate([{ table: 'orders', ...insert }]), {
      status: 422, code: 'BROKEN_DEFINITION', why: `${when}, of operations`
    })
    await t.rejects(rows.transaction('shop', (tx) => tx.execute({ table: 'orders', body: insert, grant })), {
      code: 'BROKEN_DEFINITION'
    })
  }
  t.equal(await orders(service), 2)
})

await onEachEngine(t, 'what a request of the hook lacks is looked for in the tables of that request', {
  schema: withTrigger('update products set who = 1'), options: { onWrite: audit } as Partial<RowQueryOptions>
}, async (t, { post }) => {
  const { status, headers } = await post('orders', insert)
  t.equal(status, 503, 'the catalog has a column of this name, which may have been renamed for a moment')
  t.ok(Number(headers['retry-after']) > 1)
})

/** Reads a table that is rebuilt after the snapshot of the transaction, in each attempt or in the first one only. */
const readRebuilt = async (
  { tx, sql, attempts, always }: Pick<WriteEvent, 'tx'> & Pick<Service, 'sql'> & {
    readonly attempts: string[]
    readonly always: boolean
  }
): Promise<void> => {
  const read = (table: string) => tx.execute({ table, body: { verb: 'select' }, grant })
  await read('orders')
  if (always || attempts.length === 0) await sql('alter table audit engine=innodb')
  attempts.push(await read('audit').then(() => 'read', ({ code }: ServiceError) => code))
}

let inHook: OnWrite = () => {}
await onEachEngine(t, 'a table that is rebuilt while a transaction runs makes it run again', {
  schema: audited,
  options: { onWrite: (event: WriteEvent) => inHook(event) } as Partial<RowQueryOptions>,
  only: ['mariadb', 'mysql']
}, async (t, service) => {
  const { post, operate, sql, server: { rows } } = service
  const twice = ['DATABASE_UNAVAILABLE', 'read']
  for (const send of [() => post('orders', insert), () => operate([{ table: 'orders', ...insert }])]) {
    for (const always of [true, false]) {
      const attempts: string[] = []
      inHook = ({ tx }) => readRebuilt({ tx, sql, attempts, always })
      t.equal((await send()).status, always ? 503 : 200)
      if (!always) t.same(attempts, twice)
    }
  }
  inHook = () => {}
  const attempts: string[] = []
  await rows.transaction('shop', (tx) => readRebuilt({ tx, sql, attempts, always: false }))
  t.same(attempts, twice, 'also if the function catches the error')
  const counted: number[] = []
  await t.rejects(rows.transaction('shop', (tx) => {
    counted.push(tx.attempt)
    return readRebuilt({ tx, sql, attempts, always: true })
  }), { code: 'DATABASE_UNAVAILABLE' })
  t.same(counted, [1, 2, 3, 4, 5], 'as often as the definitions change, up to five times')
})

await onEachEngine(t, 'closing the app waits for a transaction that runs', { schema: shop }, async (t, service) => {
  const { server: { app, rows } } = service
  const started = Promise.withResolvers<void>()
  const running = rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'orders', body: insert, grant })
    started.resolve()
    await sleep(200)
    await tx.execute({ table: 'orders', body: insert, grant })
  })
  await started.promise
  let ended = false
  running.then(() => { ended = true }, () => {})
  await app.close()
  t.ok(ended, 'closing waits')
  await running
  t.equal(await orders(service), 4)
  await t.rejects(rows.execute({ database: 'shop', table: 'orders', body: insert, grant }), {
    code: 'DATABASE_UNAVAILABLE'
  })
})

await onEachEngine(t, 'closing the app waits for requests that ' +
  'wait for a connection', { schema: shop, database: { pool: { size: 2 } } }, async (t, service) => {
  const { server: { app, rows } } = service
  const all = Array.from({ length: 20 }, () => rows.execute({ database: 'shop', table: 'orders', body: insert, grant }))
  let settled = 0
  for (const each of all) each.then(() => { settled++ }, () => {})
  await app.close()
  t.equal(settled, 20, 'closing waits')
  await Promise.all(all)
  t.equal(await orders(service), 22)
})

let hooked = Promise.withResolvers<void>()
const slowly: OnWrite = async ({ tx }) => {
  hooked.resolve()
  await sleep(200)
  await tx.execute({ table: 'orders', body: insert, grant })
}

await onEachEngine(t, 'closing the app waits for a request of app.inject in its hook', {
  schema: shop,
  options: {
    onWrite: slowly
  } as Partial<RowQueryOptions>
}, async (t, service) => {
  const { server: { app }, post } = service
  hooked = Promise.withResolvers()
  const answer = post('orders', insert)
  await hooked.promise
  await app.close()
  t.match(await answer, { status: 200, json: { data: { inserted: 1 } } })
  t.equal(await orders(service), 4)
})
