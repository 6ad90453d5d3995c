/** What every dialect promises of a transaction. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Transaction, TransactionOptions } from '../../src/dialects/dialect.ts'
import { onEachDialect, rowsIn, type DialectTest } from '../support/dialects.ts'

const table = (types: string): string =>
  `create table accounts (id integer primary key, name varchar(20) not null unique, amount integer not null,
    check (amount >= 0))${types}`
const rows = "insert into accounts values (1, 'a', 10), (2, 'b', 20)"
const schema = { sqlite: [table(''), rows], mysql: [table(''), rows] }

const writing: TransactionOptions = { readOnly: false, isolation: 'repeatableRead' }
const reading: TransactionOptions = { readOnly: true, isolation: 'repeatableRead' }
const amounts = async ({ sql }: DialectTest): Promise<number[]> =>
  (await sql('select amount from accounts order by id')).map(({ amount }) => amount)
const set = (id: number, amount: number) => ({ verb: 'update', data: { amount }, filters: { id } })

await onEachDialect(t, 'what its statements did is committed together', { schema }, async (t, test) => {
  const { dialect, statement, sink } = test
  const rows = await dialect.transaction(async (tx) => {
    t.match(await tx.run(statement('accounts', set(1, 5))), { changed: 1 })
    t.match(await tx.run(statement('accounts', { verb: 'insert', data: { id: 3, name: 'c', amount: 5 } })), {
      changed: 1
    })
    t.same(await amounts(test), [10, 20], 'not seen from outside')
    const into = sink('accounts')
    await tx.run(statement('accounts', { verb: 'select', filters: { id: { $gte: 1 } }, orderBy: 'id' }), into)
    return rowsIn(into)
  }, writing)
  t.match(rows, [{ amount: 5 }, { amount: 20 }, { amount: 5 }], 'its own statements see it')
  t.same(await amounts(test), [5, 20, 5])
})

await onEachDialect(t, 'an ended one keeps nothing: no property is a getter, which V8 keeps until ' +
  'a full collection', { schema }, async (t, { dialect }) => {
  await dialect.transaction(async (tx) => {
    t.strictSame(Object.entries(Object.getOwnPropertyDescriptors(tx)).filter(([, { get }]) => get !== undefined), [])
  }, writing)
})

for (const isolation of ['repeatableRead', 'serializable'] as const) {
  await onEachDialect(t, `whatever is thrown rolls it back: ${isolation}`, { schema }, async (t, test) => {
    const { dialect, statement } = test
    const refusal = new Error('refused')
    await t.rejects(dialect.transaction(async (tx) => {
      await tx.run(statement('accounts', set(1, 5)))
      throw refusal
    }, { ...writing, isolation }), refusal)
    await t.rejects(dialect.transaction(async (tx) => {
      await tx.run(statement('accounts', set(1, 5)))
      await tx.run(statement('accounts', set(2, -1)))
    }, { ...writing, isolation }), { code: 'CHECK_VIOLATION' })
    t.same(await amounts(test), [10, 20])
    t.match(dialect.poolUse?.() ?? [{ open: 1, idle: 1 }], [{ open: 1, idle: 1 }], 'its connection is free again')
  })
}

await onEachDialect(t, 'a refused row undoes its statement alone', { schema }, async (t, test) => {
  const { dialect, statement } = test
  await dialect.transaction(async (tx) => {
    await tx.run(statement('accounts', set(1, 5)))
    await t.rejects(tx.run(statement('accounts', { verb: 'insert', data: { id: 3, name: 'b', amount: 5 } })), {
      code: 'UNIQUE_VIOLATION'
    })
    await tx.run(statement('accounts', set(2, 6)))
  }, writing)
  t.same(await amounts(test), [5, 6])
})

await onEachDialect(t, 'a dry run changes nothing', { schema }, async (t, test) => {
  const { dialect, statement } = test
  t.equal(await dialect.transaction(async (tx) => (await tx.run(statement('accounts', set(1, 5)))).changed, {
    ...writing, dryRun: true
  }), 1)
  t.same(await amounts(test), [10, 20])
})

await onEachDialect(t, 'a transaction that only reads sees one snapshot', { schema }, async (t, test) => {
  const { dialect, statement, sink, sql, engine } = test
  const seen = await dialect.transaction(async (tx) => {
    const read = async () => {
      const into = sink('accounts')
      await tx.run(statement('accounts', { verb: 'select', orderBy: 'id' }), into)
      return rowsIn(into).map(({ amount }) => amount)
    }
    const before = engine === 'sqlite' ? await read() : [10, 20]
    await sql('update accounts set amount = 99 where id = 1')
    return [before, await read()]
  }, reading)
  t.same(seen, [[10, 20], [10, 20]])
})

await onEachDialect(t, 'statements that are sent together run one after the other', { schema }, async (t, test) => {
  const { dialect, statement } = test
  await dialect.transaction(async (tx) => {
    await Promise.all([1, 2, 3, 4, 5].map((amount) => tx.run(statement('accounts', set(1, amount)))))
  }, writing)
  t.same(await amounts(test), [5, 20])
})

await onEachDialect(t, 'statements that are not awaited run before COMMIT, ' +
  'and none after it', { schema }, async (t, test) => {
  const { dialect, statement } = test
  let late: Transaction | undefined
  await dialect.transaction(async (tx) => {
    late = tx
    tx.run(statement('accounts', set(1, 1)))
    tx.run(statement('accounts', set(2, 2)))
  }, writing)
  t.same(await amounts(test), [1, 2])
  await t.rejects((late as Transaction).run(statement('accounts', set(1, 7))), { message: 'The transaction has ended' })
  t.same(await amounts(test), [1, 2])
})

await onEachDialect(t, 'the statements that may wait are bounded', { schema }, async (t, { dialect, statement }) => {
  const one = statement('accounts', { verb: 'update', data: { amount: 1 }, filters: { id: 99 } })
  await dialect.transaction(async (tx) => {
    const all = await Promise.allSettled(Array.from({ length: 1002 }, () => tx.run(one)))
    t.same(all.flatMap((each) => each.status === 'rejected' ? [each.reason.code] : []), ['OVERLOADED'])
  }, writing)
})

await onEachDialect(t, 'the time limit holds for the whole', {
  schema, settings: { statementTimeout: 300 }
}, async (t, test) => {
  const { dialect, statement } = test
  let runs = 0
  await t.rejects(dialect.transaction(async (tx) => {
    for (let amount = 0; amount < 500; amount++, runs++) {
      await tx.run(statement('accounts', set(1, amount)))
      await sleep(20)
    }
  }, writing), { code: 'QUERY_TIMEOUT' })
  t.ok(runs < 500, `after ${runs} statements`)
  t.same(await amounts(test), [10, 20])
  await t.rejects(dialect.transaction(async (tx) => {
    await tx.run(statement('accounts', set(1, 7)))
    await new Promise(() => {})
  }, writing), { code: 'QUERY_TIMEOUT' }, 'also where no statement runs')
  t.same(await amounts(test), [10, 20])
  t.equal(
    await dialect.transaction(async (tx) => (await tx.run(statement('accounts', set(1, 7)))).changed, writing), 1,
    'the next one has time of its own'
  )
})

const strict = "create trigger strict before insert on accounts when new.id > 5 begin select raise(rollback, 'no'); end"

await onEachDialect(t, 'a trigger that ends the transaction ends it', {
  schema: { ...schema, sqlite: [...schema.sqlite, strict] }, only: ['sqlite']
}, async (t, test) => {
  const { dialect, statement } = test
  await t.rejects(dialect.transaction(async (tx) => {
    await tx.run(statement('accounts', set(1, 7)))
    await t.rejects(tx.run(statement('accounts', { verb: 'insert', data: { id: 6, name: 'f', amount: 1 } })), {
      code: 'CHECK_VIOLATION'
    })
    await t.rejects(tx.run(statement('accounts', set(2, 7))), { code: 'CHECK_VIOLATION' }, 'no other statement runs')
  }, writing), { code: 'CHECK_VIOLATION' })
  t.same(await amounts(test), [10, 20])
})

await onEachDialect(t, 'a client that disconnects ends it', { schema }, async (t, test) => {
  const { dialect, statement } = test
  const client = { destroyed: false }
  await t.rejects(dialect.transaction(async (tx) => {
    await tx.run(statement('accounts', set(1, 7)))
    client.destroyed = true
    await new Promise(() => {})
  }, { ...writing, client }), { code: 'QUERY_TIMEOUT', reason: 'CLIENT_GONE' })
  t.same(await amounts(test), [10, 20])
  await t.rejects(dialect.transaction(async () => t.fail('not run'), { ...writing, client }), {
    code: 'QUERY_TIMEOUT', reason: 'CLIENT_GONE'
  })
})

await onEachDialect(t, 'a statement may have less time than the whole', {
  schema, only: ['mariadb', 'mysql'], settings: { statementTimeout: 120_000 }
}, async (t, test) => {
  const { dialect, statement, sql } = test
  await sql('begin')
  await sql('select * from accounts where id = 1 for update')
  // with the time of the whole, the server would refuse it after its innodb_lock_wait_timeout
  await t.rejects(dialect.transaction((tx) => tx.run(statement('accounts', set(1, 5)), undefined, 200), writing), {
    code: 'QUERY_TIMEOUT'
  })
  await sql('rollback')
  t.same(await amounts(test), [10, 20])
  await dialect.transaction((tx) => tx.run(statement('accounts', set(1, 5)), undefined, 2000), writing)
  t.same(await amounts(test), [5, 20])
})
