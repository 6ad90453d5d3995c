/** Accounts whose rows and related rows tell of one state of the database. */
import type { EngineName } from './service.ts'

export const accounts = (engine: EngineName): string[] => [
  `create table accounts (
    id ${engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'}, n int not null, last int)`,
  `create table entries (account_id int not null, line int not null, primary key (account_id, line),
    foreign key (account_id) references accounts (id))`,
  'create table notes (account_id int not null, line int not null, part int not null, primary key ' +
    '(account_id, line, part))',
  'insert into accounts values (1, 0, null), (2, 0, null), (3, 0, null)'
]
