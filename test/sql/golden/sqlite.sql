-- The statements of src/sql for tables of users, by the requests of test/sql/golden/cases.ts. Placeholders are
-- followed by the values of the statement. The row of an insert or an update of many rows is repeated by the dialect
-- of MySQL, and run for each row by that of SQLite.
-- Renewed by: npm test -- --sqlite-only --write test/sql/golden.test.ts

-- ========== Selects: columns, orders, pages

-- every column
-- orders: {"verb":"select"}

select "id" as "v0", "tenant" as "v1", "customer_id" as "v2", "total" as "v3", "ratio" as "v4", "status" as "v5", "note"
  as "v6", "meta" as "v7", "ordered_at" as "v8"
from "orders"
limit ?;
-- 100

-- columns and limit
-- orders: {"verb":"select","columns":["total","ratio","meta","ordered_at"],"limit":5}

select "total" as "v0", "ratio" as "v1", "meta" as "v2", "ordered_at" as "v3"
from "orders"
limit ?;
-- 5

-- orders
-- orders: {"verb":"select","columns":["id"],"orderBy":"ordered_at DESC, id"}

select "id" as "v0"
from "orders"
order by "orders"."ordered_at" desc, "orders"."id" asc
limit ?;
-- 100

-- NULLS LAST
-- orders: {"verb":"select","columns":["id"],"orderBy":"status ASC NULLS LAST"}

select "id" as "v0"
from "orders"
order by "orders"."status" is null asc, "orders"."status" asc
limit ?;
-- 100

-- an order by a value inside JSON
-- orders: {"verb":"select","columns":["id"],"orderBy":[{"meta":{"$.size":"DESC"}}]}

select "id" as "v0"
from "orders"
order by case coalesce(case when typeof("orders"."meta") <> 'blob' and json_valid("orders"."meta") then
  json_type("orders"."meta", ?) end, 'null') when 'null' then 0 when 'true' then 1 when 'false' then 1 when 'integer'
  then 2 when 'real' then 2 when 'text' then 3 else 4 end desc, case when case when typeof("orders"."meta") <> 'blob'
  and json_valid("orders"."meta") then json_type("orders"."meta", ?) end in ('integer', 'real', 'true', 'false') then
  json_extract("orders"."meta", ?) end desc, case when case when typeof("orders"."meta") <> 'blob' and
  json_valid("orders"."meta") then json_type("orders"."meta", ?) end in ('text') then cast(json_extract("orders"."meta",
  ?) as blob) end desc
limit ?;
-- '$."size"', '$."size"', '$."size"', '$."size"', '$."size"', 100

-- an order by a member
-- orders: {"verb":"select","columns":["id"],"include":{"customer":{"table":"customers","columns":["name"]}},
--   "orderBy":[{"customer":{"name":"ASC"}},{"id":"DESC"}]}

select "t0"."id" as "v0", "t1"."id" as "v1", "t1"."name" as "v2"
from "orders" as "t0"
left join "customers" as "t1" on "t1"."id" = "t0"."customer_id"
order by "t1"."name" asc, "t0"."id" desc
limit ?;
-- 100

-- an order by an aggregate of related rows
-- customers: {"verb":"select","columns":["id"],"include":{"orders":{"aggregates":{"sum":{"$sum":"total"}}}},
--   "orderBy":[{"orders":{"sum":"DESC"}}]}

-- begin, repeatableRead

select "id" as "v0"
from "customers"
order by (select sum(case when abs("t1"."total" * 100.0) >= 9.2e18 then abs(-9223372036854775807 - 1 + ("t1"."total" is
  null)) else cast(round("t1"."total" * 100.0) as integer) end) filter (where typeof("t1"."total") in ('integer',
  'real')) from "orders" as "t1" where likelihood("t1"."customer_id" = "customers"."id", 0.000001)) desc,
  "customers"."id" desc
limit ?;
-- 100

select *
from (select ? as "v0", sum(case when abs("total" * 100.0) >= 9.2e18 then abs(-9223372036854775807 - 1 + ("total" is
  null)) else cast(round("total" * 100.0) as integer) end) filter (where typeof("total") in ('integer', 'real')) as "v1"
  from "orders" where likelihood("customer_id" = ?, 0.000001));
-- 0, 1

-- commit

-- offset
-- orders: {"verb":"select","columns":["id"],"orderBy":"id","offset":20,"limit":10}

select "id" as "v0"
from "orders"
order by "orders"."id" asc
limit ? offset ?;
-- 11, 20

-- the page after a row, by an index
-- orders: {"verb":"select","columns":["id"],"filters":{"customer_id":7},"orderBy":"ordered_at, id",
--   "after":{"ordered_at":"2026-01-01T00:00:00","id":5}}

select "id" as "v0", "ordered_at" as "v1"
from "orders"
where "customer_id" = ? and ("ordered_at" >= ? and ("ordered_at" > ? or ("ordered_at" = ? and "id" > ?)))
order by "orders"."ordered_at" asc, "orders"."id" asc
limit ?;
-- 7, '2026-01-01 00:00:00', '2026-01-01 00:00:00', '2026-01-01 00:00:00', 5, 101

-- total
-- orders: {"verb":"select","columns":["id"],"filters":{"status":"paid"},"total":true}

-- begin, readCommitted

select count(*) as "v0"
from "orders"
where "status" = ?;
-- 'paid'

select "id" as "v0"
from "orders"
where "status" = ?
limit ?;
-- 'paid', 100

-- commit

-- total up to a number
-- orders: {"verb":"select","columns":["id"],"filters":{"status":"paid"},"total":1000}

-- begin, readCommitted

select count(*) as "v0"
from (select 1 as "v0" from "orders" where "status" = ? limit ?) as "matching";
-- 'paid', 1000

select "id" as "v0"
from "orders"
where "status" = ?
limit ?;
-- 'paid', 100

-- commit

-- a select, with rules
-- orders: {"verb":"select","columns":["id"],"filters":{"status":"paid"}}

select "id" as "v0"
from "orders"
where ("tenant" = ? and "status" = ?)
limit ?;
-- 7, 'paid', 100

-- ========== Filters

-- equal, also to NULL
-- orders: {"verb":"select","columns":["id"],"filters":{"status":"paid","note":null,"customer_id":7,"total":"1.50",
--   "ratio":0.5}}

select "id" as "v0"
from "orders"
where ("status" = ? and "note" is null and "customer_id" = ? and "total" = ? and "ratio" = ?)
limit ?;
-- 'paid', 7, 1.5, 0.5, 100

-- not equal, and bounds
-- orders: {"verb":"select","columns":["id"],"filters":{"status":{"$ne":"paid"},"total":{"$gte":"1","$lt":"2"},
--   "id":{"$between":[1,9]}}}

select "id" as "v0"
from "orders"
where ((typeof("status") = 'text' and "status" <> ?) and ((typeof("total") in ('integer', 'real') and "total" >= ?) and
  (typeof("total") in ('integer', 'real') and "total" < ?)) and "id" between ? and ?)
limit ?;
-- 'paid', 1, 2, 1, 9, 100

-- NULL and other bounds
-- orders: {"verb":"select","columns":["id"],"filters":{"note":{"$null":false},"total":{"$gt":"1","$lte":"2"},
--   "ratio":{"$is":0.5}}}

select "id" as "v0"
from "orders"
where ("note" is not null and ((typeof("total") in ('integer', 'real') and "total" > ?) and (typeof("total") in
  ('integer', 'real') and "total" <= ?)) and ("ratio" = ? and "ratio" is not null))
limit ?;
-- 1, 2, 0.5, 100

-- lists
-- orders: {"verb":"select","columns":["id"],"filters":{"id":[1,2,3],"status":{"$nin":["new",null]},"total":{"$in":["1",
--   "2"]}}}

select "id" as "v0"
from "orders"
where ("id" in (?, ?, ?) and ((typeof("status") = 'text' and "status" not in (?)) and "status" is not null) and "total"
  in (?, ?))
limit ?;
-- 1, 2, 3, 'new', 1, 2, 100

-- a list with NULL, and a decimal between two
-- orders: {"verb":"select","columns":["id"],"filters":{"note":["a",null],"total":{"$between":["1","2"]}}}

select "id" as "v0"
from "orders"
where (("note" in (?) or "note" is null) and (typeof("total") in ('integer', 'real') and "total" between ? and ?))
limit ?;
-- 'a', 1, 2, 100

-- lists without values
-- orders: {"verb":"select","columns":["id"],"filters":{"id":{"$in":[]}}}

select "id" as "v0"
from "orders"
where 1 = 0
limit ?;
-- 100

-- what passes each row
-- orders: {"verb":"select","columns":["id"],"filters":{"id":{"$nin":[],"$ne":null},"$and":[],"$not":{"id":{"$in":[]}}}}

select "id" as "v0"
from "orders"
limit ?;
-- 100

-- documents, and NULL or the document null
-- orders: {"verb":"select","columns":["id"],"filters":{"$or":[{"meta":{"a":1}},{"meta":null}]}}

select "id" as "v0"
from "orders"
where (case when typeof("meta") <> 'blob' and json_valid("meta") then json("meta") = json(?) end or ("meta" is null or
  case when typeof("meta") <> 'blob' and json_valid("meta") then json("meta") = json(?) end))
limit ?;
-- '{"a":1}', 'null', 100

-- byte by byte
-- orders: {"verb":"select","columns":["id"],"filters":{"status":{"$is":"paid"}}}

select "id" as "v0"
from "orders"
where ("status" = ? and "status" = ? collate binary and "status" is not null)
limit ?;
-- 'paid', 'paid', 100

-- patterns
-- orders: {"verb":"select","columns":["id"],"filters":{"note":{"$like":"a%","$nlike":"b%","$startsWith":"c",
--   "$contains":"d"}}}

select "id" as "v0"
from "orders"
where ((typeof("note") = 'text' and "note" like ? escape '!') and (typeof("note") = 'text' and "note" not like ? escape
  '!') and (typeof("note") = 'text' and "note" like ? escape '!') and (typeof("note") = 'text' and "note" like ? escape
  '!'))
limit ?;
-- 'a%', 'b%', 'c%', '%d%', 100

-- characters of patterns
-- orders: {"verb":"select","columns":["id"],"filters":{"note":{"$startsWith":"5%","$contains":"\\_!"}}}

select "id" as "v0"
from "orders"
where ((typeof("note") = 'text' and "note" like ? escape '!') and (typeof("note") = 'text' and "note" like ? escape
  '!'))
limit ?;
-- '5!%%', '%\!_!!%', 100

-- in any letter case
-- orders: {"verb":"select","columns":["id"],"filters":{"status":{"$eq":"PAID","$case":"ignore"},
--   "note":{"$contains":"X","$case":"ignore"}}}

select "id" as "v0"
from "orders"
where ("status" = ? and (typeof("note") = 'text' and lower("note") collate "NOCASE" like lower(?) escape '!'))
limit ?;
-- 'PAID', '%X%', 100

-- another column
-- orders: {"verb":"select","columns":["id"],"filters":{"id":{"$gt":{"$column":"customer_id"}}}}

select "id" as "v0"
from "orders"
where case when typeof("id") in ('integer', 'real') and typeof("customer_id") in ('integer', 'real') then "id" >
  "customer_id" end
limit ?;
-- 100

-- the present time
-- orders: {"verb":"select","columns":["id"],"filters":{"ordered_at":{"$gte":{"$now":{"days":-7}}}}}

select "id" as "v0"
from "orders"
where (typeof("ordered_at") = 'text' and ("ordered_at" glob
  '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9]' or ("ordered_at" glob
  '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9].*[0-9]' and rtrim("ordered_at",
  '0123456789') glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9].')) and "ordered_at"
  >= ?)
limit ?;
-- now, 100

-- $and, $or, $not
-- orders: {"verb":"select","columns":["id"],"filters":{"$or":[{"id":1},{"$and":[{"id":{"$gt":5}},{"status":"new"}]}],
--   "$not":{"note":"x"}}}

select "id" as "v0"
from "orders"
where (("id" = ? or ("id" > ? and "status" = ?)) and not (case when typeof("note") = 'text' then "note" = ? end))
limit ?;
-- 1, 5, 'new', 'x', 100

-- a row
-- orders: {"verb":"select","columns":["id"],"filters":{"$is":{"id":1,"status":"paid","note":null}}}

select "id" as "v0"
from "orders"
where ("id" = ? and ("status" = ? and "status" = ? collate binary and "status" is not null) and "note" is null)
limit ?;
-- 1, 'paid', 'paid', 100

-- values inside JSON
-- orders: {"verb":"select","columns":["id"],"filters":{"meta":{"$at":{"$.a":"x","$.b[0]":{"$gt":5},"$.\"c
--   d\"":{"$in":[1,2]}}}}}

select "id" as "v0"
from "orders"
where (case when case when typeof("meta") <> 'blob' and json_valid("meta") then json_type("meta", ?) end in ('text')
  then cast(json_extract("meta", ?) as blob) = ? when case when typeof("meta") <> 'blob' and json_valid("meta") then
  json_type("meta", ?) end <> 'null' then 0 end and case when case when typeof("meta") <> 'blob' and json_valid("meta")
  then json_type("meta", ?) end in ('integer', 'real') then json_extract("meta", ?) > ? when case when typeof("meta") <>
  'blob' and json_valid("meta") then json_type("meta", ?) end <> 'null' then 0 end and case when case when
  typeof("meta") <> 'blob' and json_valid("meta") then json_type("meta", ?) end in ('integer', 'real') then
  json_extract("meta", ?) in (?, ?) when case when typeof("meta") <> 'blob' and json_valid("meta") then
  json_type("meta", ?) end <> 'null' then 0 end)
limit ?;
-- '$."a"', '$."a"', x'78', '$."a"', '$."b"[0]', '$."b"[0]', 5, '$."b"[0]', '$."c d"', '$."c d"', 1, 2, '$."c d"', 100

-- other tests of values inside JSON
-- orders: {"verb":"select","columns":["id"],"filters":{"meta":{"$at":{"$.a":{"$exists":true},"$.b":null,
--   "$.c":{"$contains":"x"},"$.d":true}}}}

select "id" as "v0"
from "orders"
where (case when typeof("meta") <> 'blob' and json_valid("meta") then json_type("meta", ?) end is not null and
  coalesce(case when typeof("meta") <> 'blob' and json_valid("meta") then json_type("meta", ?) end, 'null') = 'null' and
  case when case when typeof("meta") <> 'blob' and json_valid("meta") then json_type("meta", ?) end in ('text') then
  instr(cast(json_extract("meta", ?) as blob), ?) > 0 when case when typeof("meta") <> 'blob' and json_valid("meta")
  then json_type("meta", ?) end <> 'null' then 0 end and case when case when typeof("meta") <> 'blob' and
  json_valid("meta") then json_type("meta", ?) end in ('true', 'false') then json_extract("meta", ?) = ? when case when
  typeof("meta") <> 'blob' and json_valid("meta") then json_type("meta", ?) end <> 'null' then 0 end)
limit ?;
-- '$."a"', '$."b"', '$."c"', '$."c"', x'78', '$."c"', '$."d"', '$."d"', 1, '$."d"', 100

-- words
-- orders: {"verb":"select","columns":["id"],"filters":{"$match":{"columns":["note"],"text":"one two"}}}

select "id" as "v0"
from "orders"
where "orders"."id" in (select rowid from "note_words" where "note_words" match ?)
limit ?;
-- '"one" OR "two"', 100

-- words, the best first
-- orders: {"verb":"select","columns":["id"],"filters":{"$match":{"columns":["note"],"text":"one"}},
--   "orderBy":[{"$match":"DESC"}]}

select "id" as "v0"
from "orders"
where "orders"."id" in (select rowid from "note_words" where "note_words" match ?)
order by (select -k from (select rowid as r, rank as k from "note_words" where "note_words" match ? limit -1) where r =
  "orders"."id") desc, "orders"."id" desc
limit ?;
-- '"one"', '"one"', 100

-- $some
-- customers: {"verb":"select","columns":["id"],"filters":{"$some":{"orders":{"filters":{"status":"paid"}}}}}

select "id" as "v0"
from "customers"
where (select 1 from "orders" as "t1" where likelihood("t1"."customer_id" = "customers"."id", 0.000001) and
  "t1"."status" = ? limit 1) is not null
limit ?;
-- 'paid', 100

-- $none
-- customers: {"verb":"select","columns":["id"],"filters":{"$none":{"orders":{"filters":{"status":"paid"}}}}}

select "id" as "v0"
from "customers"
where (select 1 from "orders" as "t1" where likelihood("t1"."customer_id" = "customers"."id", 0.000001) and
  "t1"."status" = ? limit 1) is null
limit ?;
-- 'paid', 100

-- $some with a count
-- customers: {"verb":"select","columns":["id"],"filters":{"$some":{"orders":{"count":{"$gte":3}}}}}

select "id" as "v0"
from "customers"
where (select 1 from "orders" as "t1" where likelihood("t1"."customer_id" = "customers"."id", 0.000001) limit 1 offset
  ?) is not null
limit ?;
-- 2, 100

-- $some in $some
-- orders: {"verb":"select","columns":["id"],
--   "filters":{"$some":{"customers":{"filters":{"$some":{"orders":{"filters":{"status":"paid"}}}}}}}}

select "id" as "v0"
from "orders"
where (select 1 from "customers" as "t1" where likelihood("t1"."id" = "orders"."customer_id", 0.000001) and (select 1
  from "orders" as "t2" where likelihood("t2"."customer_id" = "t1"."id", 0.000001) and "t2"."status" = ? limit 1) is not
  null limit 1) is not null
limit ?;
-- 'paid', 100

-- $some of the table itself
-- orders: {"verb":"select","columns":["id"],"filters":{"$some":{"orders":{"on":{"customer_id":"customer_id"},
--   "filters":{"id":1}}}}}

select "id" as "v0"
from "orders"
where (select 1 from "orders" as "t1" where likelihood("t1"."customer_id" = "orders"."customer_id", 0.000001) and
  "t1"."id" = ? limit 1) is not null
limit ?;
-- 1, 100

-- $some of a view
-- customers: {"verb":"select","columns":["id"],"filters":{"$some":{"totals":{"on":{"id":"customer_id"},
--   "filters":{"total":{"$gt":5}}}}}}

select "id" as "v0"
from "customers"
where ((("customers"."id") in (select "t1"."customer_id" from "totals" as "t1" where (typeof("t1"."total") in
  ('integer', 'real') and "t1"."total" > ?))) is true) = 1
limit ?;
-- 5, 100

-- $none of a view, counted
-- customers: {"verb":"select","columns":["id"],"filters":{"$not":{"$some":{"totals":{"on":{"id":"customer_id"},
--   "count":{"$gte":2}}}}}}

select "id" as "v0"
from "customers"
where not (((("customers"."id") in (select "t1"."customer_id" from "totals" as "t1" group by "t1"."customer_id" having
  count(*) > ?)) is true) = 1)
limit ?;
-- 1, 100

-- $some, with rules
-- customers: {"verb":"select","columns":["id"],"filters":{"$some":{"orders":{"filters":{"status":"paid"}}}}}

select "id" as "v0"
from "customers"
where ("tenant" = ? and (select 1 from "orders" as "t1" where likelihood("t1"."customer_id" = "customers"."id",
  0.000001) and ("t1"."tenant" = ? and "t1"."status" = ?) limit 1) is not null)
limit ?;
-- 7, 7, 'paid', 100

-- ========== Selects with members

-- one row
-- orders: {"verb":"select","columns":["id"],"include":{"customer":{"table":"customers","columns":["name"]}}}

select "t0"."id" as "v0", "t1"."id" as "v1", "t1"."name" as "v2"
from "orders" as "t0"
left join "customers" as "t1" on "t1"."id" = "t0"."customer_id"
limit ?;
-- 100

-- one row of one row
-- orders: {"verb":"select","columns":["id"],"include":{"customer":{"table":"customers",
--   "include":{"other":{"table":"plain","on":{"id":"code"}}}}}}

select "t0"."id" as "v0", "t1"."id" as "v1", "t1"."id" as "v2", "t1"."tenant" as "v3", "t1"."email" as "v4", "t1"."name"
  as "v5", "t2"."code" as "v6", "t2"."code" as "v7", "t2"."n" as "v8", "t2"."m" as "v9"
from "orders" as "t0"
left join "customers" as "t1" on "t1"."id" = "t0"."customer_id"
left join "plain" as "t2" on "t2"."code" = "t1"."id"
limit ?;
-- 100

-- a list
-- customers: {"verb":"select","columns":["id"],"include":{"orders":{"columns":["total"],"filters":{"status":"paid"},
--   "orderBy":"ordered_at","limit":3}}}

-- begin, repeatableRead

select "id" as "v0"
from "customers"
limit ?;
-- 100

select *
from (select ? as "v0", "total" as "v1" from "orders" where likelihood("customer_id" = ?, 0.000001) and "status" = ?
  order by "orders"."ordered_at" asc, "orders"."id" asc limit ?);
-- 0, 1, 'paid', 3

-- commit

-- a list of related texts
-- orders: {"verb":"select","columns":["id"],"include":{"same":{"table":"customers","on":{"status":"email"},
--   "as":"list"}}}

-- begin, repeatableRead

select "id" as "v0", "status" as "v1"
from "orders"
limit ?;
-- 100

select *
from (select ? as "v0", "id" as "v1", "tenant" as "v2", "email" as "v3", "name" as "v4" from "customers" where
  likelihood("email" = ?, 0.000001) order by "customers"."id" asc limit ?);
-- 0, 'a', 100

-- commit

-- the first row of a list
-- customers: {"verb":"select","columns":["id"],"include":{"last":{"table":"orders","as":"object","orderBy":"id DESC"}}}

-- begin, repeatableRead

select "id" as "v0"
from "customers"
limit ?;
-- 100

select *
from (select ? as "v0", "id" as "v1", "tenant" as "v2", "customer_id" as "v3", "total" as "v4", "ratio" as "v5",
  "status" as "v6", "note" as "v7", "meta" as "v8", "ordered_at" as "v9" from "orders" where likelihood("customer_id" =
  ?, 0.000001) order by "orders"."id" desc limit ?);
-- 0, 1, 1

-- commit

-- aggregates
-- customers: {"verb":"select","columns":["id"],"include":{"orders":{"aggregates":{"n":{"$count":"*"},
--   "paid":{"$sum":"total","filters":{"status":"paid"}}}}}}

-- begin, repeatableRead

select "id" as "v0"
from "customers"
limit ?;
-- 100

select *
from (select ? as "v0", count(*) as "v1", sum(case when abs("total" * 100.0) >= 9.2e18 then abs(-9223372036854775807 - 1
  + ("total" is null)) else cast(round("total" * 100.0) as integer) end) filter (where typeof("total") in ('integer',
  'real') and "status" = ?) as "v2" from "orders" where likelihood("customer_id" = ?, 0.000001));
-- 0, 'paid', 1

-- commit

-- a list of a view
-- customers: {"verb":"select","columns":["id"],"include":{"totals":{"on":{"id":"customer_id"},"orderBy":"total"}}}

-- begin, repeatableRead

select "id" as "v0"
from "customers"
limit ?;
-- 100

select "v0", "v1", "v2"
from (select "k"."v0" as "v0", "t0"."customer_id" as "v1", "t0"."total" as "v2", row_number() over (partition by
  "k"."v0" order by "t0"."total" asc) as "rn" from "totals" as "t0" inner join (select ? as v0, ? as v1) as "k" on
  "t0"."customer_id" = "k"."v1" and "t0"."customer_id" in (?)) as "r"
where rn <= ?
order by v0, rn;
-- 0, 1, 1, 100

-- commit

-- aggregates of a view
-- customers: {"verb":"select","columns":["id"],"include":{"totals":{"on":{"id":"customer_id"},
--   "aggregates":{"n":{"$count":"*"}}}}}

-- begin, repeatableRead

select "id" as "v0"
from "customers"
limit ?;
-- 100

select "k"."v0" as "v0", count(*) as "v1"
from "totals" as "t0"
inner join (select ? as v0, ? as v1) as "k" on "t0"."customer_id" = "k"."v1" and "t0"."customer_id" in (?)
group by "k"."v0";
-- 0, 1, 1

-- commit

-- one row, with rules
-- orders: {"verb":"select","columns":["id"],"include":{"customer":{"table":"customers","columns":["name"]}}}

select "t0"."id" as "v0", "t1"."id" as "v1", "t1"."name" as "v2"
from "orders" as "t0"
left join "customers" as "t1" on "t1"."id" = "t0"."customer_id" and "t1"."tenant" = ?
where "t0"."tenant" = ?
limit ?;
-- 7, 7, 100

-- ========== Groups and aggregates

-- aggregates of all rows
-- orders: {"verb":"select","aggregates":{"n":{"$count":"*"},"statuses":{"$countDistinct":"status"},
--   "sum":{"$sum":"total"},"average":{"$avg":"ratio"}}}

select count(*) as "v0", count(distinct "orders"."status") as "v1", sum(case when abs("orders"."total" * 100.0) >=
  9.2e18 then abs(-9223372036854775807 - 1 + ("orders"."total" is null)) else cast(round("orders"."total" * 100.0) as
  integer) end) filter (where typeof("orders"."total") in ('integer', 'real')) as "v2", case when
  abs(avg("orders"."ratio") filter (where typeof("orders"."ratio") in ('integer', 'real'))) > 1.7976931348623157e+308
  then abs(-9223372036854775807 - 1 + 0 * count("orders"."ratio")) else avg("orders"."ratio") filter (where
  typeof("orders"."ratio") in ('integer', 'real')) end as "v3"
from "orders"
limit ?;
-- 100

-- the greatest value
-- orders: {"verb":"select","aggregates":{"last":{"$max":"ordered_at"}}}

select max("orders"."ordered_at") as "v0"
from "orders"
where typeof("orders"."ordered_at") = 'text' and ("orders"."ordered_at" glob
  '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9]' or ("orders"."ordered_at" glob
  '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9].*[0-9]' and rtrim("orders"."ordered_at",
  '0123456789') glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9].'))
limit ?;
-- 100

-- groups
-- orders: {"verb":"select","groupBy":["status"],"aggregates":{"n":{"$count":"*"}},"filters":{"total":{"$gt":5}}}

select "orders"."status" as "v0", count(*) as "v1"
from "orders"
where (typeof("orders"."total") in ('integer', 'real') and "orders"."total" > ?)
group by "orders"."status"
limit ?;
-- 5, 100

-- having, order, offset
-- orders: {"verb":"select","groupBy":["status"],"aggregates":{"sum":{"$sum":"total"}},"having":{"sum":{"$gt":100}},
--   "orderBy":"sum DESC, status","limit":5,"offset":5}

select "orders"."status" as "v0", sum(case when abs("orders"."total" * 100.0) >= 9.2e18 then abs(-9223372036854775807 -
  1 + ("orders"."total" is null)) else cast(round("orders"."total" * 100.0) as integer) end) filter (where
  typeof("orders"."total") in ('integer', 'real')) as "v1"
from "orders"
group by "orders"."status"
having "v1" > ?
order by "v1" desc, "orders"."status" asc
limit ? offset ?;
-- 10000, 6, 5

-- parts of time
-- orders: {"verb":"select","groupBy":[{"month":{"$month":"ordered_at"}}],"aggregates":{"n":{"$count":"*"}}}

select case when typeof("orders"."ordered_at") = 'text' and "orders"."ordered_at" glob
  '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' then substr("orders"."ordered_at", 1, 7) end as "v0", count(*) as "v1"
from "orders"
group by case when typeof("orders"."ordered_at") = 'text' and "orders"."ordered_at" glob
  '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' then substr("orders"."ordered_at", 1, 7) end
limit ?;
-- 100

-- aggregates of some rows
-- orders: {"verb":"select","groupBy":["status"],"aggregates":{"large":{"$count":"*","filters":{"total":{"$gt":100}}}}}

select "orders"."status" as "v0", count(*) filter (where (typeof("orders"."total") in ('integer', 'real') and
  "orders"."total" > ?)) as "v1"
from "orders"
group by "orders"."status"
limit ?;
-- 100, 100

-- columns of a member
-- orders: {"verb":"select","include":{"customer":{"table":"customers","columns":["name"]}},
--   "groupBy":[{"name":{"customer":"name"}}],"aggregates":{"sum":{"$sum":"total"}}}

select "t1"."name" as "v0", sum(case when abs("t0"."total" * 100.0) >= 9.2e18 then abs(-9223372036854775807 - 1 +
  ("t0"."total" is null)) else cast(round("t0"."total" * 100.0) as integer) end) filter (where typeof("t0"."total") in
  ('integer', 'real')) as "v1"
from "orders" as "t0"
left join "customers" as "t1" on "t1"."id" = "t0"."customer_id"
group by "t1"."name"
limit ?;
-- 100

-- words
-- orders: {"verb":"select","aggregates":{"n":{"$count":"*"}},"filters":{"$match":{"columns":["note"],"text":"one"}}}

select cast(coalesce(sum(1), 0) as signed) as "v0"
from "orders"
where "orders"."id" in (select rowid from "note_words" where "note_words" match ?)
limit ?;
-- '"one"', 100

-- ========== Inserts

-- one row
-- numbered: {"verb":"insert","data":{"code":1,"n":2}}

insert into "numbered" ("code", "n")
values (?, ?);
-- 1, 2

-- no values
-- numbered: {"verb":"insert","data":[{"code":1},{"code":2,"n":null}]}

-- begin, readCommitted

insert into "numbered" ("code")
values (?);
-- 1

insert into "numbered" ("code", "n")
values (?, ?);
-- 2, null

-- commit

-- a list
-- numbered: {"verb":"insert","data":[{"code":1,"n":2},{"code":2,"n":3}]}

insert into "numbered" ("code", "n")
values (?, ?);
-- 1, 2, 2, 3
-- 2 rows

-- returning
-- numbered: {"verb":"insert","data":{"code":1,"n":2},"returning":["id","n"]}

-- begin, readCommitted

insert into "numbered" ("code", "n")
values (?, ?);
-- 1, 2

select "id" as "v0", "n" as "v1"
from "numbered"
where "id" = ?
limit ?;
-- 1, 2

-- commit

-- a list, returning
-- numbered: {"verb":"insert","data":[{"code":1,"n":2},{"code":2,"n":3}],"returning":"*"}

-- begin, readCommitted

insert into "numbered" ("code", "n")
values (?, ?);
-- 1, 2, 2, 3
-- 2 rows

select "id" as "v0", "code" as "v1", "n" as "v2"
from "numbered"
where ("id" = ? or "id" = ?)
order by case when "id" = ? then 0 when "id" = ? then 1 end
limit ?;
-- 1, 2, 1, 2, 3

-- commit

-- returning, with a member
-- orders: {"verb":"insert","data":{"tenant":7,"customer_id":3,"total":"5"},"returning":["id"],
--   "include":{"customer":{"table":"customers","columns":["name"]}}}

-- begin, repeatableRead

insert into "orders" ("tenant", "customer_id", "total")
values (?, ?, ?);
-- 7, 3, 5

select "t0"."id" as "v0", "t1"."id" as "v1", "t1"."name" as "v2"
from "orders" as "t0"
left join "customers" as "t1" on "t1"."id" = "t0"."customer_id"
where "t0"."id" = ?
limit ?;
-- 1, 2

-- commit

-- where the table has an ON CONFLICT clause
-- replacing: {"verb":"insert","data":{"code":1,"n":2}}

insert or abort into "replacing" ("code", "n")
values (?, ?);
-- 1, 2

-- one row, with rules
-- orders: {"verb":"insert","data":{"customer_id":3,"total":"5"}}

-- begin, readCommitted

insert into "orders" ("customer_id", "total", "tenant")
values (?, ?, ?);
-- 3, 5, 7

select count(*) as "v0"
from (select 1 as "v0" from "customers" where ("id" = ? and "tenant" = ?) limit ?) as "matching";
-- 3, 7, 1

-- commit

-- a list, with rules
-- orders: {"verb":"insert","data":[{"customer_id":3,"total":"5"},{"customer_id":4,"total":"6"}]}

-- begin, readCommitted

insert into "orders" ("customer_id", "total", "tenant")
values (?, ?, ?);
-- 3, 5, 7, 4, 6, 7
-- 2 rows

select count(*) as "v0"
from "customers"
where ("id" in (?, ?) and "tenant" = ?);
-- 3, 4, 7

select count(*) as "v0"
from (select 1 as "v0" from "customers" where ("id" = ? and "tenant" = ?) limit ?) as "matching";
-- 3, 7, 1

select count(*) as "v0"
from (select 1 as "v0" from "customers" where ("id" = ? and "tenant" = ?) limit ?) as "matching";
-- 4, 7, 1

-- commit

-- ========== Upserts (docs/internals/ways-of-writing.md)

-- guarded
-- plain: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"]}}

insert into "plain" ("code", "n")
values (?, ?)
on conflict ("code")
do update
set "n" = "excluded"."n"
where row_query_exists(null) and "plain"."n" is not "excluded"."n" collate binary;
-- 1, 2

-- guarded, a list
-- plain: {"verb":"insert","data":[{"code":1,"n":2},{"code":2,"n":3}],"onConflict":{"key":["code"]}}

insert into "plain" ("code", "n")
values (?, ?)
on conflict ("code")
do update
set "n" = "excluded"."n"
where row_query_exists(null) and "plain"."n" is not "excluded"."n" collate binary;
-- 1, 2, 2, 3
-- 2 rows

-- guarded, nothing set
-- plain: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"],"set":[]}}

insert into "plain" ("code", "n")
values (?, ?)
on conflict ("code") do nothing;
-- 1, 2

-- guarded, columns set
-- plain: {"verb":"insert","data":{"code":1,"n":2,"m":5},"onConflict":{"key":["code"],"set":["m"]}}

insert into "plain" ("code", "n", "m")
values (?, ?, ?)
on conflict ("code")
do update
set "m" = "excluded"."m"
where row_query_exists(null) and "plain"."m" is not "excluded"."m" collate binary;
-- 1, 2, 5

-- guarded, values set
-- plain: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"],"set":{"n":{"$inc":1},"m":4}}}

insert into "plain" ("code", "n")
values (?, ?)
on conflict ("code")
do update
set "m" = ?, "n" = case when "plain"."n" is null then null when typeof("plain"."n") in ('integer') and
  typeof("plain"."n" + ?) = 'integer' then "plain"."n" + ? else abs(min(-9223372036854775807 - 1, length("plain"."n")))
  end
where row_query_exists(null) and ("plain"."m" is not ? collate binary or "plain"."n" is not case when "plain"."n" is
  null then null when typeof("plain"."n") in ('integer') and typeof("plain"."n" + ?) = 'integer' then "plain"."n" + ?
  else abs(min(-9223372036854775807 - 1, length("plain"."n"))) end collate binary);
-- 1, 2, 4, 1, 1, 4, 1, 1

-- guarded, reporting an id
-- numbered: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"]}}

-- begin, readCommitted

insert into "numbered" ("code", "n")
values (?, ?)
on conflict ("code")
do update
set "n" = "excluded"."n"
where row_query_exists(null) and "numbered"."n" is not "excluded"."n" collate binary;
-- 1, 2

select "id" as "v0"
from "numbered"
where ("code" = ?)
limit ?;
-- 1, 1

-- commit

-- guarded, reporting an id, nothing set
-- numbered: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"],"set":[]}}

-- begin, readCommitted

insert into "numbered" ("code", "n")
values (?, ?)
on conflict ("code") do nothing;
-- 1, 2

select "id" as "v0"
from "numbered"
where ("code" = ?)
limit ?;
-- 1, 1

-- commit

-- guarded, returning
-- numbered: {"verb":"insert","data":[{"code":1,"n":2},{"code":2,"n":3}],"onConflict":{"key":["code"],"set":["n"]},
--   "returning":"*"}

-- begin, readCommitted

insert into "numbered" ("code", "n")
values (?, ?)
on conflict ("code")
do update
set "n" = "excluded"."n"
where row_query_exists(null) and "numbered"."n" is not "excluded"."n" collate binary;
-- 1, 2, 2, 3
-- 2 rows

select "id" as "v0", "code" as "v1", "n" as "v2"
from "numbered"
where ("code" = ? or "code" = ?)
order by case when "code" = ? then 0 when "code" = ? then 1 end
limit ?;
-- 1, 2, 1, 2, 3

-- commit

-- guarded, rows with and without their number
-- numbered: {"verb":"insert","data":[{"id":1,"code":1},{"code":2}],"onConflict":{"key":["id"]}}

-- begin, readCommitted

insert into "numbered" ("id", "code")
values (?, ?)
on conflict ("id")
do update
set "code" = "excluded"."code"
where row_query_exists(null) and "numbered"."code" is not "excluded"."code" collate binary;
-- 1, 1

insert into "numbered" ("code")
values (?);
-- 2

-- commit

-- a list row by row, because columns differ
-- plain: {"verb":"insert","data":[{"code":1,"n":2},{"code":2}],"onConflict":{"key":["code"]}}

-- begin, readCommitted

insert into "plain" ("code", "n")
values (?, ?)
on conflict ("code")
do update
set "n" = "excluded"."n"
where row_query_exists(null) and "plain"."n" is not "excluded"."n" collate binary;
-- 1, 2

insert into "plain" ("code")
values (?)
on conflict ("code") do nothing;
-- 2

-- commit

-- looked up
-- watched: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"]}}

-- begin, readCommitted

insert into "watched" ("code", "n")
values (?, ?)
on conflict ("code")
do update
set "n" = "excluded"."n"
where row_query_exists("watched"."code") and "watched"."n" is not "excluded"."n" collate binary;
-- 1, 2

select "code" as "v0"
from "watched"
where ("code" = ?)
limit ?;
-- 1, 1

-- commit

-- looked up, no row found
-- watched: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"]}}

-- begin, readCommitted

insert into "watched" ("code", "n")
values (?, ?)
on conflict ("code")
do update
set "n" = "excluded"."n"
where row_query_exists("watched"."code") and "watched"."n" is not "excluded"."n" collate binary;
-- 1, 2

select "code" as "v0"
from "watched"
where ("code" = ?)
limit ?;
-- 1, 1

-- commit

-- looked up, nothing set
-- watched: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"],"set":[]}}

insert into "watched" ("code", "n")
values (?, ?)
on conflict ("code")
do update
set "code" = "watched"."code"
where not row_query_exists("watched"."code");
-- 1, 2

-- looked up, NULL over a default
-- defaulted: {"verb":"insert","data":{"code":1,"n":null},"onConflict":{"key":["code"]}}

insert into "defaulted" ("code", "n")
values (?, ?)
on conflict ("code")
do update
set "n" = "excluded"."n"
where row_query_exists(null) and "defaulted"."n" is not "excluded"."n" collate binary;
-- 1, null

-- inserted first
-- filled: {"verb":"insert","data":{"code":1,"n":null},"onConflict":{"key":["code"]}}

-- begin, readCommitted

insert into "filled" ("code", "n")
values (?, ?)
on conflict ("code")
do update
set "n" = "excluded"."n"
where row_query_exists(null) and "filled"."n" is not "excluded"."n" collate binary;
-- 1, null

select "code" as "v0"
from "filled"
where ("code" = ?)
limit ?;
-- 1, 1

-- commit

-- guarded, with rules
-- customers: {"verb":"insert","data":{"email":"a","name":"b"},"onConflict":{"key":["email"],"set":["name"]}}

-- begin, readCommitted

insert into "customers" ("email", "name", "tenant")
values (?, ?, ?)
on conflict ("email" collate "NOCASE")
do update
set "name" = "excluded"."name"
where row_query_exists(null) and "customers"."tenant" = ? and "customers"."name" is not "excluded"."name" collate
  binary;
-- 'a', 'b', 7, 7

select "id" as "v0"
from "customers"
where ("tenant" = ? and ("email" = ?))
limit ?;
-- 7, 'a', 1

-- commit

-- guarded, a list, with rules
-- customers: {"verb":"insert","data":[{"email":"a","name":"b"},{"email":"c","name":"d"}],"onConflict":{"key":["email"],
--   "set":["name"]}}

-- begin, readCommitted

insert into "customers" ("email", "name", "tenant")
values (?, ?, ?)
on conflict ("email" collate "NOCASE")
do update
set "name" = "excluded"."name"
where row_query_exists(null) and "customers"."tenant" = ? and "customers"."name" is not "excluded"."name" collate
  binary;
-- 'a', 'b', 7, 'c', 'd', 7, 7
-- 2 rows

-- commit

-- ========== Updates

-- by filters
-- orders: {"verb":"update","data":{"status":"paid","note":null},"filters":{"id":5}}

update "orders"
set "status" = ?, "note" = ?
where "id" = ? and ("status" is not ? collate binary or "note" is not ? collate binary);
-- 'paid', null, 5, 'paid', null

-- by one filter or another
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"$or":[{"id":1},{"note":null}]}}

update "orders"
set "status" = ?
where ("id" = ? or "note" is null) and "status" is not ? collate binary;
-- 'paid', 1, 'paid'

-- of no row
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"id":{"$in":[]}}}

update "orders"
set "status" = ?
where 1 = 0 and "status" is not ? collate binary;
-- 'paid', 'paid'

-- operators
-- orders: {"verb":"update","data":{"total":{"$inc":"1.5"},"ratio":{"$inc":1},"meta":{"$merge":{"a":1}},
--   "status":{"$default":true}},"filters":{"id":5}}

update "orders"
set "total" = case when "orders"."total" is null then null when typeof("orders"."total") in ('integer', 'real') and
  abs(round("orders"."total" + ?, 2) ) < 1e8 then round("orders"."total" + ?, 2) else abs(min(-9223372036854775807 - 1,
  length("orders"."total"))) end, "ratio" = case when "orders"."ratio" is null then null when typeof("orders"."ratio")
  in ('integer', 'real') and abs("orders"."ratio" + ?) <= 1.7976931348623157e308 then "orders"."ratio" + ? else
  abs(min(-9223372036854775807 - 1, length("orders"."ratio"))) end, "meta" = json_patch(coalesce("orders"."meta", '{}'),
  ?), "status" = 'new'
where "id" = ? and ("total" is not case when "orders"."total" is null then null when typeof("orders"."total") in
  ('integer', 'real') and abs(round("orders"."total" + ?, 2) ) < 1e8 then round("orders"."total" + ?, 2) else
  abs(min(-9223372036854775807 - 1, length("orders"."total"))) end collate binary or "ratio" is not case when
  "orders"."ratio" is null then null when typeof("orders"."ratio") in ('integer', 'real') and abs("orders"."ratio" + ?)
  <= 1.7976931348623157e308 then "orders"."ratio" + ? else abs(min(-9223372036854775807 - 1, length("orders"."ratio")))
  end collate binary or "meta" is not json_patch(coalesce("orders"."meta", '{}'), ?) collate binary or "status" is not
  'new' collate binary);
-- 1.5, 1.5, 1, 1, '{"a":1}', 5, 1.5, 1.5, 1, 1, '{"a":1}'

-- the present time
-- orders: {"verb":"update","data":{"ordered_at":{"$now":true}},"filters":{"id":5}}

update "orders"
set "ordered_at" = ?
where "id" = ? and "ordered_at" is not ? collate binary;
-- now, 5, now

-- where the table has an ON CONFLICT clause
-- replacing: {"verb":"update","data":{"n":1},"filters":{"code":1}}

update or abort "replacing"
set "n" = ?
where "code" = ? and "n" is not ? collate binary;
-- 1, 1, 1

-- expect
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"id":[5,6]},"expect":1}

-- begin, readCommitted

select count(*) as "v0"
from (select 1 as "v0" from "orders" where "id" in (?, ?) limit ?) as "matching";
-- 5, 6, 2

update "orders"
set "status" = ?
where "id" in (?, ?) and "status" is not ? collate binary;
-- 'paid', 5, 6, 'paid'

-- commit

-- returning
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"status":"new"},"returning":["id","status"]}

-- begin, readCommitted

select "id" as "v0"
from "orders"
where "status" = ?
limit ?;
-- 'new', 1001

update "orders"
set "status" = ?
where ("id" = ? and "status" = ?) and "status" is not ? collate binary;
-- 'paid', 1, 'new', 'paid'

select "id" as "v0", "status" as "v1"
from "orders"
where "id" = ?
limit ?;
-- 1, 2

-- commit

-- by related rows
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"$some":{"customers":{"filters":{"name":"x"}}}}}

update "orders"
set "status" = ?
where (select 1 from "customers" as "t1" where likelihood("t1"."id" = "orders"."customer_id", 0.000001) and "t1"."name"
  = ? limit 1) is not null and "status" is not ? collate binary;
-- 'paid', 'x', 'paid'

-- by words
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"$match":{"columns":["note"],"text":"one"}}}

update "orders"
set "status" = ?
where "orders"."id" in (select rowid from "note_words" where "note_words" match ?) and "status" is not ? collate binary;
-- 'paid', '"one"', 'paid'

-- many rows by their keys
-- plain: {"verb":"update","key":["code"],"filters":{},"data":[{"code":1,"n":2},{"code":2,"n":3}]}

-- begin, readCommitted

select "code" as "v0"
from "plain"
where ("code" = ? or "code" = ?)
order by case when "code" = ? then 0 when "code" = ? then 1 end
limit ?;
-- 1, 2, 1, 2, 2

update "plain"
set "n" = ?
where "code" = ? and "n" is not ? collate binary;
-- 2, 1, 2

update "plain"
set "n" = ?
where "code" = ? and "n" is not ? collate binary;
-- 3, 2, 3

-- commit

-- many rows by their keys, other columns
-- plain: {"verb":"update","key":["code"],"filters":{},"data":[{"code":1,"n":2},{"code":2,"m":3}]}

-- begin, readCommitted

select "code" as "v0"
from "plain"
where ("code" = ? or "code" = ?)
order by case when "code" = ? then 0 when "code" = ? then 1 end
limit ?;
-- 1, 2, 1, 2, 2

update "plain"
set "n" = ?
where "code" = ? and "n" is not ? collate binary;
-- 2, 1, 2

update "plain"
set "m" = ?
where "code" = ? and "m" is not ? collate binary;
-- 3, 2, 3

-- commit

-- many rows by their keys and filters, returning
-- plain: {"verb":"update","key":["code"],"filters":{"m":1},"data":[{"code":1,"n":2}],"returning":"*"}

-- begin, readCommitted

select "code" as "v0"
from "plain"
where ("code" = ? and "m" = ?)
limit ?;
-- 1, 1, 1

update "plain"
set "n" = ?
where "code" = ? and "n" is not ? collate binary;
-- 2, 1, 2

select "code" as "v0", "n" as "v1", "m" as "v2"
from "plain"
where "code" = ?
limit ?;
-- 1, 2

-- commit

-- by filters, with rules
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"id":5}}

update "orders"
set "status" = ?
where ("tenant" = ? and "id" = ?) and "status" is not ? collate binary;
-- 'paid', 7, 5, 'paid'

-- of a foreign key, with rules
-- orders: {"verb":"update","data":{"customer_id":4},"filters":{"id":5}}

-- begin, readCommitted

update "orders"
set "customer_id" = ?
where ("tenant" = ? and "id" = ?) and "customer_id" is not ? collate binary;
-- 4, 7, 5, 4

select count(*) as "v0"
from (select 1 as "v0" from "customers" where ("id" = ? and "tenant" = ?) limit ?) as "matching";
-- 4, 7, 1

-- commit

-- of a hidden column, with rules
-- orders: {"verb":"update","data":{"status":"x"},"filters":{"id":5}}

update "orders"
set "status" = ?
where ("tenant" = ? and "id" = ?);
-- 'x', 7, 5

-- ========== Deletes

-- by filters
-- orders: {"verb":"delete","filters":{"id":5}}

delete from "orders"
where "id" = ?;
-- 5

-- expect
-- orders: {"verb":"delete","filters":{"status":"new"},"expect":{"$lte":2}}

-- begin, repeatableRead

select count(*) as "v0"
from (select 1 as "v0" from "orders" where "status" = ? limit ?) as "matching";
-- 'new', 3

delete from "orders"
where "status" = ?;
-- 'new'

-- commit

-- returning
-- orders: {"verb":"delete","filters":{"status":"new"},"returning":["id"]}

-- begin, repeatableRead

select "id" as "v0"
from "orders"
where "status" = ?
limit ?;
-- 'new', 1001

delete from "orders"
where "status" = ?;
-- 'new'

-- commit

-- returning, with a member
-- orders: {"verb":"delete","filters":{"status":"new"},"returning":["id"],"include":{"customer":{"table":"customers",
--   "columns":["name"]}}}

-- begin, repeatableRead

select count(*) as "v0"
from (select 1 as "v0" from "orders" where "status" = ? limit ?) as "matching";
-- 'new', 1001

select "t0"."id" as "v0", "t1"."id" as "v1", "t1"."name" as "v2"
from "orders" as "t0"
left join "customers" as "t1" on "t1"."id" = "t0"."customer_id"
where "t0"."status" = ?
limit ?;
-- 'new', 1001

delete from "orders"
where "status" = ?;
-- 'new'

-- commit

-- by related rows
-- orders: {"verb":"delete","filters":{"$none":{"customers":{}}}}

delete from "orders"
where (select 1 from "customers" as "t1" where likelihood("t1"."id" = "orders"."customer_id", 0.000001) limit 1) is
  null;

-- by words
-- orders: {"verb":"delete","filters":{"$match":{"columns":["note"],"text":"one"}}}

delete from "orders"
where "orders"."id" in (select rowid from "note_words" where "note_words" match ?);
-- '"one"'

-- by filters, with rules
-- orders: {"verb":"delete","filters":{"id":5}}

delete from "orders"
where ("tenant" = ? and "id" = ?);
-- 7, 5

-- ========== Odd names

-- every column
-- t0: {"verb":"select","orderBy":[{"a.b":"ASC"},{"x as y":"DESC"}]}

select "2" as "v0", "1" as "v1", "a.b" as "v2", "x as y" as "v3", "__proto__" as "v4", """`'" as "v5", "t0" as "v6"
from "t0"
order by "t0"."a.b" asc, "t0"."x as y" desc
limit ?;
-- 100

-- filters, and a page
-- t0: {"verb":"select","columns":["2","__proto__"],"filters":{"1":[1,2],"a.b":"x","__proto__":"y","x as y":{"$gt":1}},
--   "orderBy":[{"x as y":"ASC"},{"2":"ASC"}],"after":{"2":1,"x as y":"1"}}

select "2" as "v0", "__proto__" as "v1", "x as y" as "v2"
from "t0"
where ("1" in (?, ?) and "a.b" = ? and "__proto__" = ? and (typeof("x as y") in ('integer', 'real') and "x as y" > ?))
  and ("x as y" >= ? and ("x as y" > ? or ("x as y" = ? and "2" > ?)))
order by "t0"."x as y" asc, "t0"."2" asc
limit ?;
-- 1, 2, 'x', 'y', 1, 1, 1, 1, 1, 101

-- related rows and members
-- t0: {"verb":"select","columns":["2"],"filters":{"$some":{"t":{"filters":{"1":5}}}},"include":{"t":{"columns":["1"]}}}

-- begin, repeatableRead

select "2" as "v0"
from "t0"
where (select 1 from "t" as "t_1" where likelihood("t_1"."1" = "t0"."2", 0.000001) and "t_1"."1" = ? limit 1) is not
  null
limit ?;
-- 5, 100

select *
from (select ? as "v0", "1" as "v1" from "t" where likelihood("1" = ?, 0.000001) order by "t"."id" asc limit ?);
-- 0, 5, 100

-- commit

-- related rows of the table t, and one row
-- t: {"verb":"select","columns":["id"],"filters":{"$none":{"t0":{"filters":{"a.b":"x"}}}},
--   "include":{"one":{"table":"t0","columns":["a.b","1"]}}}

select "t0"."id" as "v0", "t1"."2" as "v1", "t1"."a.b" as "v2", "t1"."1" as "v3"
from "t" as "t0"
left join "t0" as "t1" on "t1"."2" = "t0"."1"
where (select 1 from "t0" as "t2" where likelihood("t2"."2" = "t0"."1", 0.000001) and "t2"."a.b" = ? limit 1) is null
limit ?;
-- 'x', 100

-- groups
-- t0: {"verb":"select","groupBy":["a.b","1"],"aggregates":{"x as y":{"$sum":"x as y"}},"having":{"x as y":{"$gt":1}}}

select "t0"."a.b" as "v0", "t0"."1" as "v1", sum(case when abs("t0"."x as y" * 100.0) >= 9.2e18 then
  abs(-9223372036854775807 - 1 + ("t0"."x as y" is null)) else cast(round("t0"."x as y" * 100.0) as integer) end) filter
  (where typeof("t0"."x as y") in ('integer', 'real')) as "v2"
from "t0"
group by "t0"."a.b", "t0"."1"
having "v2" > ?
limit ?;
-- 100, 100

-- an insert
-- t0: {"verb":"insert","data":{"1":8,"2":7,"x as y":5,"a.b":"d","__proto__":"p","\"`'":"q","t0":"t"}}

insert into "t0" ("1", "2", "x as y", "a.b", "__proto__", """`'", "t0")
values (?, ?, ?, ?, ?, ?, ?);
-- 8, 7, 5, 'd', 'p', 'q', 't'

-- a list of rows with other columns
-- t0: {"verb":"insert","data":[{"2":7,"a.b":"d"},{"1":9,"2":8}]}

-- begin, readCommitted

insert into "t0" ("2", "a.b")
values (?, ?);
-- 7, 'd'

insert into "t0" ("1", "2")
values (?, ?);
-- 9, 8

-- commit

-- an upsert
-- t0: {"verb":"insert","data":{"1":8,"2":7,"x as y":5,"a.b":"d","__proto__":"p","\"
--   ":"q","t0":"t"},"onConflict":{"key":["2]}}

insert into "t0" ("1", "2", "x as y", "a.b", "__proto__", """`'", "t0")
values (?, ?, ?, ?, ?, ?, ?)
on conflict ("2")
do update
set "1" = "excluded"."1", "x as y" = "excluded"."x as y", "a.b" = "excluded"."a.b", "__proto__" =
  "excluded"."__proto__", """`'" = "excluded"."""`'", "t0" = "excluded"."t0"
where row_query_exists(null) and ("t0"."1" is not "excluded"."1" collate binary or "t0"."x as y" is not
  "excluded"."x as y" collate binary or "t0"."a.b" is not "excluded"."a.b" collate binary or "t0"."__proto__" is not
  "excluded"."__proto__" collate binary or "t0"."""`'" is not "excluded"."""`'" collate binary or "t0"."t0" is not
  "excluded"."t0" collate binary);
-- 8, 7, 5, 'd', 'p', 'q', 't'

-- an update
-- t0: {"verb":"update","data":{"1":{"$inc":1},"a.b":"c","__proto__":"p","x as y":3},"filters":{"2":1}}

update "t0"
set "a.b" = ?, "__proto__" = ?, "x as y" = ?, "1" = case when "t0"."1" is null then null when typeof("t0"."1") in
  ('integer') and typeof("t0"."1" + ?) = 'integer' then "t0"."1" + ? else abs(min(-9223372036854775807 - 1,
  length("t0"."1"))) end
where "2" = ? and ("a.b" is not ? collate binary or "__proto__" is not ? collate binary or "x as y" is not ? collate
  binary or "1" is not case when "t0"."1" is null then null when typeof("t0"."1") in ('integer') and typeof("t0"."1" +
  ?) = 'integer' then "t0"."1" + ? else abs(min(-9223372036854775807 - 1, length("t0"."1"))) end collate binary);
-- 'c', 'p', 3, 1, 1, 1, 'c', 'p', 3, 1, 1

-- an update by related rows
-- t0: {"verb":"update","data":{"1":{"$inc":1},"a.b":"c","__proto__":"p","x as y":3},"filters":{"$some":{"t":{}}}}

update "t0"
set "a.b" = ?, "__proto__" = ?, "x as y" = ?, "1" = case when "t0"."1" is null then null when typeof("t0"."1") in
  ('integer') and typeof("t0"."1" + ?) = 'integer' then "t0"."1" + ? else abs(min(-9223372036854775807 - 1,
  length("t0"."1"))) end
where (select 1 from "t" as "t_1" where likelihood("t_1"."1" = "t0"."2", 0.000001) limit 1) is not null and ("a.b" is
  not ? collate binary or "__proto__" is not ? collate binary or "x as y" is not ? collate binary or "1" is not case
  when "t0"."1" is null then null when typeof("t0"."1") in ('integer') and typeof("t0"."1" + ?) = 'integer' then
  "t0"."1" + ? else abs(min(-9223372036854775807 - 1, length("t0"."1"))) end collate binary);
-- 'c', 'p', 3, 1, 1, 'c', 'p', 3, 1, 1

-- an update of many rows by their keys
-- t0: {"verb":"update","key":["2"],"filters":{},"data":[{"1":2,"2":1,"a.b":"x"},{"1":3,"2":2,"a.b":"y"}]}

-- begin, readCommitted

select "2" as "v0"
from "t0"
where ("2" = ? or "2" = ?)
order by case when "2" = ? then 0 when "2" = ? then 1 end
limit ?;
-- 1, 2, 1, 2, 2

update "t0"
set "1" = ?, "a.b" = ?
where "2" = ? and ("1" is not ? collate binary or "a.b" is not ? collate binary);
-- 2, 'x', 1, 2, 'x'

update "t0"
set "1" = ?, "a.b" = ?
where "2" = ? and ("1" is not ? collate binary or "a.b" is not ? collate binary);
-- 3, 'y', 2, 3, 'y'

-- commit

-- a delete
-- t0: {"verb":"delete","filters":{"1":1,"__proto__":"x"}}

delete from "t0"
where ("1" = ? and "__proto__" = ?);
-- 1, 'x'

-- an upsert of a table with the name of an alias
-- given: {"verb":"insert","data":{"code":1,"v0":"a"},"onConflict":{"key":["code"]}}

insert into "given" ("code", "v0")
values (?, ?)
on conflict ("code")
do update
set "v0" = "excluded"."v0"
where row_query_exists(null) and "given"."v0" is not "excluded"."v0" collate binary;
-- 1, 'a'

-- an update of many rows of a table with the name of an alias
-- given: {"verb":"update","key":["code"],"filters":{},"data":[{"code":1,"v0":"a"},{"code":2,"v0":"b"}]}

-- begin, readCommitted

select "code" as "v0"
from "given"
where ("code" = ? or "code" = ?)
order by case when "code" = ? then 0 when "code" = ? then 1 end
limit ?;
-- 1, 2, 1, 2, 2

update "given"
set "v0" = ?
where "code" = ? and "v0" is not ? collate binary;
-- 'a', 1, 'a'

update "given"
set "v0" = ?
where "code" = ? and "v0" is not ? collate binary;
-- 'b', 2, 'b'

-- commit

-- an update by words of a table with the name of an alias
-- found: {"verb":"update","data":{"v0":"a"},"filters":{"$match":{"columns":["note"],"text":"one"}}}

update "found"
set "v0" = ?
where "found"."code" in (select rowid from "note_words" where "note_words" match ?) and "v0" is not ? collate binary;
-- 'a', '"one"', 'a'

-- groups of a table with a column that has the name of an alias
-- given: {"verb":"select","groupBy":["v0"],"aggregates":{"n":{"$count":"*"}},"having":{"n":{"$gt":1}}}

select "given"."v0" as "v_0", count(*) as "v_1"
from "given"
group by "given"."v0"
having "v_1" > ?
limit ?;
-- 1, 100
