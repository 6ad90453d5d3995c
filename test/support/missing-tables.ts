/** Triggers and views that refer to a table that a test drops, in the SQL of every engine. */
import { trigger } from './definitions.ts'

/** `gone` is what the test drops. */
export const COMMON = [
  'create table audit (id int null)',
  'create table gone (id int null)',
  'create table rows_kept (id int not null primary key, n int null)',
  'create table columns_kept (id int not null primary key, n int null)',
  'insert into rows_kept values (1, 1)',
  'insert into columns_kept values (1, 1)',
  'create view seen as select id from rows_kept',
  trigger('t1', 'after insert on rows_kept', 'insert into gone (id) values (1)'),
  trigger('t2', 'before update on rows_kept', 'update audit set lost = 1'),
  trigger('t3', 'after delete on columns_kept', 'insert into audit values (1, 2)')
]
