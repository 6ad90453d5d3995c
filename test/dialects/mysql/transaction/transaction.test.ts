// night: servers that answer late, or never
/** Transactions whose server, connection or tables do not do what they should. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Transaction, TransactionOptions } from '../../../../src/dialects/dialect.ts'
import { connections, running, waiters } from '../../../support/connections.ts'
import { onEachDialect, type DialectTest } from '../../../support/dialects.ts'
import { errorPacket, type Proxy } from '../../../support/recorder.ts'
import { until } from '../../../support/until.ts'

const mysql = [
  'create table accounts (id int primary key, name varchar(20) not null unique, amount int not null, ' +
    'check (amount >= 0))',
  "insert into accounts values (1, 'a', 10), (2, 'b', 20)",
  'create table log (id int not null auto_increment primary key, note varchar(50)) engine = myisam',
  'create view slow as select id, sleep(2) as slept from accounts',
  'create table notes (id int primary key, note varchar(50) not null)',
  'create function count_it () returns int deterministic modifies sql data begin insert into notes values (7, ' +
    "'x'); return 1; end",
  'create view counting as select id, count_it() as n from accounts limit 1'
]
const schema = { sqlite: [], mysql }
const only = ['mariadb', 'mysql'] as const
const settings = { schema, only }

type Servers = DialectTest & { readonly proxy: Proxy }

const writing: TransactionOptions = { readOnly: false, isolation: 'repeatableRead' }
const reading: TransactionOptions = { readOnly: true, isolation: 'repeatableRead' }
const set = (id: number, amount: number) => ({ verb: 'update', data: { amount }, filters: { id } })
const amounts = async ({ sql }: DialectTest): Promise<number[]> =>
  (await sql('select amount from accounts order by id')).map(({ amount }) => amount)

/** The thread of the connection whose transaction is open. */
async function thread ({ sql }: DialectTest): Promise<number> {
  return Math.max(...(await connections({ sql })).map(({ id }) => id))
}

/** Nothing was changed, no connection is kept, and the next transaction runs. */
async function isClean (t: Test, test: DialectTest, why: string): Promise<void> {
  t.same(await amounts(test), [10, 20], `${why}: nothing is changed`)
  await until(
    'its connection is free', () => test.dialect.poolUse?.().every(({ open, idle }) => open === idle) === true
  )
  const { dialect, statement } = test
  t.equal(await dialect.transaction(async (tx) => (await tx.run(
    statement('accounts', set(1, 11))
  )).changed, { ...writing, dryRun: true }), 1, `${why}: the next one runs`)
}

/** A transaction that has changed row 1 and waits for row 2, which another session has locked. */
async function waitForRow ({ dialect, statement, sql }: DialectTest) {
  let runs = 0
  const done = dialect.transaction(async (tx) => {
    runs++
    await tx.run(statement('accounts', set(1, 5)))
    await tx.run(statement('accounts', set(2, 5)))
  }, writing)
  done.catch(() => {})
  await until('it waits for the row', async () => (await waiters({ sql }, 'update `accounts`')).length === 1)
  return { done, runs: () => runs }
}

await onEachDialect(t, 'a connection that is killed between the statements', settings, async (t, test) => {
  const { dialect, statement, sql } = test
  await t.rejects(dialect.transaction(async (tx) => {
    await tx.run(statement('accounts', set(1, 5)))
    await sql(`kill ${await thread(test)}`)
    await tx.run(statement('accounts', set(2, 5)))
  }, writing), { code: 'DATABASE_UNAVAILABLE' })
  await isClean(t, test, 'killed')
})

await onEachDialect(t, 'a connection that is lost while a statement runs', settings, async (t, test) => {
  const { sql, proxy } = test as Servers
  for (const how of ['killed', 'cut'] as const) {
    await sql('begin')
    await sql('update accounts set name = name where id = 2')
    await sql('select * from accounts where id = 2 for update')
    const { done } = await waitForRow(test)
    if (how === 'cut') proxy.cut()
    else await sql(`kill ${await thread(test)}`)
    await t.rejects(done, { code: 'DATABASE_UNAVAILABLE' }, how)
    await sql('rollback')
    await isClean(t, test, how)
  }
})

await onEachDialect(t, 'a connection that is lost during COMMIT', settings, async (t, test) => {
  const { dialect, statement, proxy, sql } = test as Servers
  const move = () => dialect.transaction((tx) => tx.run(statement('accounts', set(1, 5))), writing)
  proxy.onStatement = (sql) => {
    if (sql === 'commit') proxy.cut()
    return undefined
  }
  await t.rejects(move(), { code: 'OUTCOME_UNKNOWN' }, 'before it arrives')
  t.same(await amounts(test), [10, 20])
  proxy.onStatement = (sql) => {
    if (sql === 'commit') proxy.deaf = true
    return undefined
  }
  const lost = move()
  lost.catch(() => {})
  await until('it is committed', async () => (await amounts(test))[0] === 5)
  proxy.deaf = false
  proxy.cut()
  await t.rejects(lost, { code: 'OUTCOME_UNKNOWN' }, 'after it has arrived')
  proxy.onStatement = () => undefined
  await sql('update accounts set amount = 10 where id = 1')
  await isClean(t, test, 'lost')
})

await onEachDialect(t, 'BEGIN that loses its connection is sent again', settings, async (t, test) => {
  const { dialect, statement, proxy } = test as Servers
  await dialect.transaction(async () => {}, writing)
  let cuts = 1
  proxy.onStatement = (sql) => {
    if (sql === 'start transaction' && cuts-- > 0) proxy.cut()
    return undefined
  }
  await dialect.transaction((tx) => tx.run(statement('accounts', set(1, 5))), writing)
  t.same(await amounts(test), [5, 20])
})

await onEachDialect(t, 'a transaction that only reads runs again where its ' +
  'connection is lost', settings, async (t, test) => {
  const { dialect, statement, proxy, sink } = test as Servers
  let runs = 0
  const read = (tx: Transaction) => {
    runs++
    return tx.run(statement('accounts', { verb: 'select' }), sink('accounts'))
  }
  let cuts = 1
  proxy.onStatement = (sql) => {
    if (sql.startsWith('select') && sql.includes('`amount`') && cuts-- > 0) proxy.cut()
    return undefined
  }
  t.match(await dialect.transaction(read, reading), { rows: 2 })
  t.equal(runs, 2)
  proxy.onStatement = (sql) => {
    if (sql === 'rollback') proxy.cut()
    return undefined
  }
  t.match(await dialect.transaction(read, reading), { rows: 2 }, 'its end does not matter')
  proxy.onStatement = () => undefined
  await isClean(t, test, 'read')
})

await onEachDialect(t, 'two transactions that wait for each other both succeed', settings, async (t, test) => {
  const { dialect, statement } = test
  const attempts: number[] = []
  const move = (first: number, second: number) => dialect.transaction(async (tx) => {
    attempts.push(tx.attempt)
    await tx.run(statement('accounts', set(first, first * 100)))
    await sleep(100)
    await tx.run(statement('accounts', set(second, second * 100)))
  }, writing)
  await Promise.all([move(1, 2), move(2, 1)])
  t.same(await amounts(test), [100, 200])
  t.ok(attempts.length >= 3, `attempts: ${attempts.join()}`)
})

await onEachDialect(t, 'the last attempt after deadlocks begins when the transactions that may cause ' +
  'another one have ended', settings, async (t, test) => {
  const { dialect, statement, proxy } = test as Servers
  let failures = 3
  proxy.onStatement = (sql) => /^update.* = 5\b/.test(sql) && failures-- > 0 ? errorPacket(1213, '40001') : undefined
  const seen: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const other = dialect.transaction(async (tx) => {
    await tx.run(statement('accounts', set(2, 7)))
    await promise
    seen.push('the other one ends')
  }, writing)
  const last = dialect.transaction(async (tx) => {
    seen.push(`attempt ${tx.attempt}`)
    await tx.run(statement('accounts', set(1, 5)))
  }, writing)
  await until('three attempts have failed', () => seen.includes('attempt 3'))
  await sleep(350)
  resolve()
  await Promise.all([other, last])
  t.same(seen, ['attempt 1', 'attempt 2', 'attempt 3', 'the other one ends', 'attempt 4'])
  t.same(await amounts(test), [5, 7])
})

for (const [number, state, where] of [
  [1213, '40001', 'update'], [3101, '40000', 'commit'], [1180, 'HY000', 'commit'], [1020, 'HY000', 'update']
] as const) {
  await onEachDialect(t, `error ${number} of ${where} is tried again three times`, settings, async (t, test) => {
    const { dialect, statement, proxy } = test as Servers
    let failures = 3
    const attempts: number[] = []
    proxy.onStatement = (sql) => sql.startsWith(where) && failures-- > 0 ? errorPacket(number, state) : undefined
    const move = () => dialect.transaction(async (tx) => {
      attempts.push(tx.attempt)
      await tx.run(statement('accounts', set(1, 5)))
    }, writing)
    await move()
    t.same(attempts.splice(0), [1, 2, 3, 4])
    t.same(await amounts(test), [5, 20])
    failures = 4
    await t.rejects(move(), { code: 'DEADLOCK' })
    t.same(attempts, [1, 2, 3, 4])
    t.equal(proxy.statements.filter((sql) => sql === 'rollback').length, 7, 'each one is rolled back')
    t.match(dialect.poolUse?.(), [{ open: 1, idle: 1 }])
  })
}

await onEachDialect(t, 'a deadlock ends the transaction although its ' +
  'function catches it', settings, async (t, test) => {
  const { dialect, statement, proxy } = test as Servers
  proxy.onStatement = (sql) => sql.startsWith('update') ? errorPacket(1213, '40001') : undefined
  let runs = 0
  await t.rejects(dialect.transaction(async (tx) => {
    runs++
    await tx.run(statement('accounts', set(1, 5))).catch(() => {})
    await tx.run(statement('accounts', { verb: 'insert', data: { id: 3, name: 'c', amount: 1 } })).catch(() => {})
  }, writing), { code: 'DEADLOCK' })
  t.equal(runs, 4)
  proxy.onStatement = () => undefined
  await isClean(t, test, 'caught')
})

await onEachDialect(t, 'a lock that is waited for too long', settings, async (t, test) => {
  const { dialect, statement, sql } = test
  await sql('create trigger impatient before insert on notes for each row set session innodb_lock_wait_timeout = 1')
  await sql('begin')
  await sql('select * from accounts where id = 2 for update')
  await t.rejects(dialect.transaction(async (tx) => {
    await tx.run(statement('accounts', set(1, 5)))
    await tx.run(statement('notes', { verb: 'insert', data: { id: 1, note: 'x' } }))
    await tx.run(statement('accounts', set(2, 5)))
  }, writing), { code: 'LOCK_TIMEOUT' })
  await sql('rollback')
  t.same(await sql('select * from notes'), [])
  await isClean(t, test, 'locked')
})

await onEachDialect(t, 'a statement that runs at the time limit is ' +
  'ended in the database', { ...settings, settings: { statementTimeout: 300 } }, async (t, test) => {
  const { dialect, statement, sink, sql } = test
  const run = (options: object = {}) => dialect.transaction(async (tx) => {
    await tx.run(statement('accounts', set(1, 5)))
    await tx.run(statement('slow', { verb: 'select' }), sink('slow'))
  }, { ...writing, ...options })
  await t.rejects(run(), { code: 'QUERY_TIMEOUT' })
  // its connection may be being rolled back or reset
  await until(
    'it has ended', async () => (await running({ sql })).every((statement) => /^(set session|rollback)/.test(statement))
  )
  await isClean(t, test, 'ended')
  const client = { destroyed: false }
  setTimeout(() => { client.destroyed = true }, 50)
  await t.rejects(run({ client }), { code: 'QUERY_TIMEOUT', reason: 'CLIENT_GONE' })
  await isClean(t, test, 'client gone')
})

await onEachDialect(t, 'a statement that cannot be ended keeps its ' +
  'connection until it ends', { ...settings, settings: { statementTimeout: 300 } }, async (t, test) => {
  const { dialect, statement, sink, proxy } = test as Servers
  const done = dialect.transaction(async (tx) => {
    await tx.run(statement('accounts', set(1, 5)))
    proxy.full = true // KILL needs a connection of its own
    await tx.run(statement('slow', { verb: 'select' }), sink('slow'))
  }, writing)
  await t.rejects(done, { code: 'QUERY_TIMEOUT' })
  t.match(dialect.poolUse?.(), [{ open: 1, idle: 0, ending: 1 }])
  await until('it has ended', () => dialect.poolUse?.()[0]?.ending === 0)
  proxy.full = false
  await isClean(t, test, 'ended by itself')
})

await onEachDialect(t, 'variables that a trigger changes are set again before ' +
  'the next statement', settings, async (t, test) => {
  const { dialect, statement, sql } = test
  await sql('create trigger meddler before insert on accounts for each row set session sql_mode = ' +
    "'NO_BACKSLASH_ESCAPES', session time_zone = '+05:00'")
  await dialect.transaction(async (tx) => {
    await tx.run(statement('accounts', { verb: 'insert', data: { id: 3, name: 'c', amount: 1 } }))
    await tx.run(statement('notes', { verb: 'insert', data: { id: 1, note: "\\', 'x" } }))
    await t.rejects(tx.run(statement('accounts', { verb: 'insert', data: { id: 4, name: 'c', amount: 1 } })), {
      code: 'UNIQUE_VIOLATION'
    })
    await tx.run(statement('notes', { verb: 'insert', data: { id: 2, note: "\\', 'y" } }))
  }, writing)
  t.match(await sql('select note from notes order by id'), [{ note: "\\', 'x" }, { note: "\\', 'y" }])
  t.same(await amounts(test), [10, 20, 1])
  await until('the session is reset', () => dialect.poolUse?.()[0]?.idle === 1)
  await dialect.write(statement('notes', { verb: 'insert', data: { id: 3, note: '\\' } }))
  t.match(await sql('select note from notes where id = 3'), [{ note: '\\' }])
})

await onEachDialect(t, 'what cannot be rolled back is told', settings, async (t, test) => {
  const { dialect, statement, sql, proxy } = test as Servers
  await sql("create trigger logged after update on accounts for each row insert into log (note) values ('changed')")
  const unknown = { code: 'OUTCOME_UNKNOWN', reason: 'ER_WARNING_NOT_COMPLETE_ROLLBACK' }
  const move = (tx: Transaction) => tx.run(statement('accounts', set(1, 5)))
  await t.rejects(dialect.transaction(move, { ...writing, dryRun: true }), unknown, 'of a dry run')
  await t.rejects(dialect.transaction(async (tx) => {
    await move(tx)
    throw new Error('refused')
  }, writing), unknown, 'of a failed one')
  let runs = 0
  proxy.onStatement = (sql) => sql === 'commit' ? errorPacket(1213, '40001') : undefined
  await t.rejects(dialect.transaction(async (tx) => {
    runs++
    await move(tx)
  }, writing), unknown, 'of one that met a deadlock')
  t.equal(runs, 1, 'it is not run again')
  proxy.onStatement = () => undefined
  await sql('drop trigger logged')
  await isClean(t, test, 'logged')
})

await onEachDialect(t, 'a deadlock of the server after a write that ' +
  'cannot be rolled back', settings, async (t, test) => {
  const { sql } = test
  await sql("create trigger logged after update on accounts for each row insert into log (note) values ('changed')")
  await sql('create table heavy (id int primary key)')
  await sql('begin')
  await sql("insert into log (note) values ('held')") // the server prefers to end one that can be rolled back
  await sql(`insert into heavy values ${Array.from({ length: 100 }, (_, id) => `(${id})`).join()}`)
  await sql('select * from accounts where id = 2 for update')
  const { done, runs } = await waitForRow(test)
  await sleep(100)
  await sql('select * from accounts where id = 1 for update')
  await t.rejects(done, { code: 'OUTCOME_UNKNOWN', reason: 'ER_WARNING_NOT_COMPLETE_ROLLBACK' })
  t.equal(runs(), 1)
  await sql('rollback')
})

await onEachDialect(t, 'a view whose function writes cannot be read in a snapshot, and the service ' +
  'stays where it is', settings, async (t, test) => {
  const { dialect, statement, sink, sql } = test
  await t.rejects(
    dialect.transaction((tx) => tx.run(statement('counting', { verb: 'select' }), sink('counting')), reading),
    { code: 'NOT_SUPPORTED' }
  )
  t.same(await sql('select * from notes'), [])
  await isClean(t, test, 'refused')
})

await onEachDialect(t, 'a proxy that takes no notice of transactions is found out', settings, async (t, test) => {
  const { dialect, statement, proxy } = test as Servers
  const ok = Buffer.from('\x07\0\0\x01\0\0\0\x02\0\0\0', 'latin1')
  proxy.onStatement = (sql) => sql === 'start transaction' ? ok : undefined
  await t.rejects(dialect.transaction((tx) => tx.run(statement('accounts', set(1, 5))), writing), {
    code: 'OUTCOME_UNKNOWN', reason: 'NO_TRANSACTION'
  })
})
