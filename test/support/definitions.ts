/** Parts of definitions that each engine writes in its own way, or all in the same. */
import type { EngineName } from './service.ts'

/** The column `id` of numbers that the database gives. */
export const numberedId = (engine: EngineName, type = 'int'): string =>
  engine === 'sqlite' ? 'id integer primary key' : `id ${type} not null auto_increment primary key`

/** The column `id` of numbers that a row brings with it; SQLite gives them to rows without. */
export const plainId = (engine: EngineName): string =>
  engine === 'sqlite' ? 'id integer primary key' : 'id int not null primary key'

/** `when`: `after insert on orders`. */
export const trigger = (name: string, when: string, statement: string): string =>
  `create trigger ${name} ${when} for each row begin ${statement}; end`
