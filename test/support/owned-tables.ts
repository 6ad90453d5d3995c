/** Tables of MySQL and MariaDB whose rows belong to an owner, by foreign keys. */
export const OWNED = [
  'create table owners (id int primary key, tenant int not null)',
  'insert into owners values (1, 7), (2, 8)',
  'create table cars (id int primary key, x int not null default 1, owner_id int, note varchar(20), constraint owned ' +
    'foreign key (owner_id) references owners (id))',
  'create table trucks (id int primary key, owner_id int default 2, constraint defaulted foreign key (owner_id) ' +
    'references owners (id))',
  'insert into cars values (1, 1, null, null)'
]
