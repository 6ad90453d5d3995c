/** Money that is moved by several operations in one transaction, with keys, while the database is killed: every transfer happens exactly once. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { TOKEN } from '../support/service.ts'
import { kinds, ownShop, serve, type Program } from './service.ts'

const ACCOUNTS = 20
const CLIENTS = 8
const KILLS = 5
const BALANCE = 1000

const tables = [
  'create table accounts (id int not null primary key, balance int not null, check (balance >= 0))',
  `insert into accounts values ${Array.from({ length: ACCOUNTS }, (_, id) => `(${id}, ${BALANCE})`).join()}`,
  'create table transfers (id int not null auto_increment primary key, name varchar(36) not null, payer int not null, payee int not null, amount int not null)',
  CREATE.mysql
]

const random = (limit: number): number => Math.floor(Math.random() * limit)

interface Transfer { readonly name: string, readonly payer: number, readonly payee: number, readonly amount: number }

function createTransfer (): Transfer {
  const payer = random(ACCOUNTS)
  return { name: randomUUID(), payer, payee: (payer + 1 + random(ACCOUNTS - 1)) % ACCOUNTS, amount: 1 + random(50) }
}

const operationsOf = ({ name, payer, payee, amount }: Transfer): object[] => [
  { table: 'accounts', verb: 'update', filters: { id: payer, balance: { $gte: amount } }, data: { balance: { $inc: -amount } }, expect: 1 },
  { table: 'accounts', verb: 'update', filters: { id: payee }, data: { balance: { $inc: amount } }, expect: 1 },
  { table: 'transfers', verb: 'insert', data: { name, payer, payee, amount } }
]

/** Sends one transfer until it is answered. Returns whether it happened. */
async function move (program: Program, transfer: Transfer, seen: Map<string, number>): Promise<boolean> {
  for (;;) {
    const { status, json } = await program.post('/api/shop', { operations: operationsOf(transfer) }, TOKEN, { 'idempotency-key': transfer.name })
    const code = status === 200 ? 'OK' : json.error.code
    seen.set(code, (seen.get(code) ?? 0) + 1)
    if (status === 200) return true
    // the payer has too little
    if (code === 'EXPECTATION_FAILED') return false
    await sleep(20 + random(50))
  }
}

for (const kind of kinds) {
  t.test(`the sum of a bank on ${kind} stays what it is while the server is killed ${KILLS} times`, async (t) => {
    const { server, sql, url } = await ownShop(t, kind, tables)
    const program = await serve(t, { url, pool: { size: 6 } })
    const seen = new Map<string, number>()
    const made: Transfer[] = []
    const bank = { isOpen: true }
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (bank.isOpen) {
        const transfer = createTransfer()
        if (await move(program, transfer, seen)) made.push(transfer)
      }
    })
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(1000)
      await server.end('SIGKILL')
      await server.start()
    }
    await sleep(1000)
    bank.isOpen = false
    await Promise.all(clients)
    t.comment([...seen].map(([code, count]) => `${code}: ${count}`).join(', '))
    t.ok(made.length > 20, `${made.length} transfers`)
    const [{ sum }] = await sql('select cast(sum(balance) as signed) as sum from accounts') as [{ sum: number }]
    t.equal(Number(sum), ACCOUNTS * BALANCE, 'the sum is what it was')
    const stored = (await sql('select name, payer, payee, amount from transfers')) as Transfer[]
    t.same(stored.map(({ name }) => name).toSorted(), made.map(({ name }) => name).toSorted(), 'every transfer happened exactly once')
    const balances = new Array<number>(ACCOUNTS).fill(BALANCE)
    for (const { payer, payee, amount } of stored) {
      balances[payer] = balances[payer] as number - amount
      balances[payee] = balances[payee] as number + amount
    }
    t.same((await sql('select balance from accounts order by id')).map(({ balance }) => balance), balances, 'and the accounts are as the transfers say')
    t.ok(program.lives())
    t.match(await program.stop(), { code: 0, stderr: '' })
  })
}
