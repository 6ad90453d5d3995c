/**
 * A bank: clients move money between accounts by several operations in one transaction, and repeat each request until
 * it is answered.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'
import type { Program, Sql } from './service.ts'

const ACCOUNTS = 20
const CLIENTS = 8
const BALANCE = 1000
/** How many transfers have to happen before a disturbance, and after the last one: the bank works again. */
const TRANSFERS = 10

export const BANK_TABLES = [
  'create table accounts (id int not null primary key, balance int not null, check (balance >= 0))',
  `insert into accounts values ${Array.from({ length: ACCOUNTS }, (_, id) => `(${id}, ${BALANCE})`).join()}`,
  'create table transfers (id int not null auto_increment primary key, name varchar(36) not null, payer int not ' +
    'null, payee int not null, amount int not null)',
  CREATE.mysql
]

const random = (limit: number): number => Math.floor(Math.random() * limit)

interface Transfer { readonly name: string, readonly payer: number, readonly payee: number, readonly amount: number }

function createTransfer (): Transfer {
  const payer = random(ACCOUNTS)
  return { name: randomUUID(), payer, payee: (payer + 1 + random(ACCOUNTS - 1)) % ACCOUNTS, amount: 1 + random(50) }
}

const operationsOf = ({ name, payer, payee, amount }: Transfer): object[] => [
  {
    table: 'accounts',
    verb: 'update',
    filters: {
      id: payer, balance: { $gte: amount }
    },
    data: { balance: { $inc: -amount } },
    expect: 1
  },
  { table: 'accounts', verb: 'update', filters: { id: payee }, data: { balance: { $inc: amount } }, expect: 1 },
  { table: 'transfers', verb: 'insert', data: { name, payer, payee, amount } }
]

/** Sends one transfer until it is answered. Returns whether it happened. */
async function move (program: Program, transfer: Transfer, seen: Map<string, number>): Promise<boolean> {
  for (;;) {
    const { status, json } = await program.post('/api/shop', { operations: operationsOf(transfer) }, TOKEN, {
      'idempotency-key': transfer.name
    })
    const code = status === 200 ? 'OK' : json.error.code
    seen.set(code, (seen.get(code) ?? 0) + 1)
    if (status === 200) return true
    // the payer has too little
    if (code === 'EXPECTATION_FAILED') return false
    await sleep(20 + random(50))
  }
}

export interface BankOptions {
  /** The clients send their requests to these in turns. */
  readonly programs: readonly Program[]
  readonly sql: Sql
  readonly kills: number
  /** Kills a server and starts it again. */
  kill (): Promise<void>
}

/** The sum of the accounts stays what it is, and every transfer happens exactly once. */
export async function keepsItsSum (t: Test, { programs, sql, kills, kill }: BankOptions): Promise<void> {
  const seen = new Map<string, number>()
  const made: Transfer[] = []
  const bank = { isOpen: true }
  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    while (bank.isOpen) {
      const transfer = createTransfer()
      if (await move(programs[index % programs.length] as Program, transfer, seen)) made.push(transfer)
    }
  })
  const untilItWorks = async (): Promise<void> => {
    const enough = made.length + TRANSFERS
    await until('transfers happen', () => made.length > enough, 60)
  }
  for (let count = 0; count < kills; count++) {
    await untilItWorks()
    await kill()
  }
  await untilItWorks()
  bank.isOpen = false
  await Promise.all(clients)
  t.comment([...seen].map(([code, count]) => `${code}: ${count}`).join(', '))
  // a node of a cluster can be behind the one that has committed
  await until('every transfer is there', async () =>
    ((await sql('select count(*) as count from transfers')) as [{ count: number }])[0].count >= made.length)
  const [{ sum }] = await sql('select cast(sum(balance) as signed) as sum from accounts') as [{ sum: number }]
  t.equal(Number(sum), ACCOUNTS * BALANCE, 'the sum is what it was')
  const stored = (await sql('select name, payer, payee, amount from transfers')) as Transfer[]
  t.same(
    stored.map(({ name }) => name).toSorted(), made.map(({ name }) => name).toSorted(),
    'every transfer happened exactly once'
  )
  const balances = new Array<number>(ACCOUNTS).fill(BALANCE)
  for (const { payer, payee, amount } of stored) {
    balances[payer] = balances[payer] as number - amount
    balances[payee] = balances[payee] as number + amount
  }
  t.same(
    (await sql('select balance from accounts order by id')).map(({ balance }) => balance), balances,
    'and the accounts are as the transfers say'
  )
  t.ok(programs.every((program) => program.lives()))
  for (const program of programs) t.match(await program.stop(), { code: 0, stderr: '' })
}
