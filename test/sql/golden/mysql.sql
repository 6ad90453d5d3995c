-- The statements of src/sql for tables of users, by the requests of test/sql/golden/cases.ts. Placeholders are
-- followed by the values of the statement. The row of an insert or an update of many rows is repeated by the dialect
-- of MySQL, and run for each row by that of SQLite.
-- Renewed by: npm test -- --sqlite-only --write test/sql/golden.test.ts

-- ========== Selects: columns, orders, pages

-- every column
-- orders: {"verb":"select"}

select `id` as `v0`, `tenant` as `v1`, `customer_id` as `v2`, `total` as `v3`, `ratio` as `v4`, `status` as `v5`, `note`
  as `v6`, `meta` as `v7`, `ordered_at` as `v8`
from `orders`
limit ?;
-- 100

-- columns and limit
-- orders: {"verb":"select","columns":["total","ratio","meta","ordered_at"],"limit":5}

select `total` as `v0`, `ratio` as `v1`, `meta` as `v2`, `ordered_at` as `v3`
from `orders`
limit ?;
-- 5

-- orders
-- orders: {"verb":"select","columns":["id"],"orderBy":"ordered_at DESC, id"}

select `id` as `v0`
from `orders`
order by `orders`.`ordered_at` desc, `orders`.`id` asc
limit ?;
-- 100

-- NULLS LAST
-- orders: {"verb":"select","columns":["id"],"orderBy":"status ASC NULLS LAST"}

select `id` as `v0`
from `orders`
order by `orders`.`status` is null asc, `orders`.`status` asc
limit ?;
-- 100

-- an order by a value inside JSON
-- orders: {"verb":"select","columns":["id"],"orderBy":[{"meta":{"$.size":"DESC"}}]}

select `id` as `v0`
from `orders`
order by case coalesce(json_type(json_extract(`orders`.`meta`, ?)), 'NULL') when 'NULL' then 0 when 'BOOLEAN' then 1
  when 'INTEGER' then 2 when 'UNSIGNED INTEGER' then 2 when 'DOUBLE' then 2 when 'DECIMAL' then 2 when 'STRING' then 3
  else 4 end desc, case when json_type(json_extract(`orders`.`meta`, ?)) in ('INTEGER', 'UNSIGNED INTEGER', 'DOUBLE',
  'DECIMAL', 'BOOLEAN') then json_extract(`orders`.`meta`, ?) end desc, case when
  json_type(json_extract(`orders`.`meta`, ?)) in ('STRING') then cast(json_unquote(json_extract(`orders`.`meta`, ?)) as
  binary) end desc
limit ?;
-- '$."size"', '$."size"', '$."size"', '$."size"', '$."size"', 100

-- an order by a member
-- orders: {"verb":"select","columns":["id"],"include":{"customer":{"table":"customers","columns":["name"]}},
--   "orderBy":[{"customer":{"name":"ASC"}},{"id":"DESC"}]}

select `t0`.`id` as `v0`, `t1`.`id` as `v1`, `t1`.`name` as `v2`
from `orders` as `t0`
left join `customers` as `t1` on `t1`.`id` = `t0`.`customer_id`
order by `t1`.`name` asc, `t0`.`id` desc
limit ?;
-- 100

-- an order by an aggregate of related rows
-- customers: {"verb":"select","columns":["id"],"include":{"orders":{"aggregates":{"sum":{"$sum":"total"}}}},
--   "orderBy":[{"orders":{"sum":"DESC"}}]}

-- begin, repeatableRead

select `id` as `v0`
from `customers`
order by (select sum(`t1`.`total`) from `orders` as `t1` force index (`by_customer`) where `t1`.`customer_id` =
  `customers`.`id`) desc, `customers`.`id` desc
limit ?;
-- 100

(select ? as `v0`, sum(`total`) as `v1` from `orders` force index (`by_customer`) where `customer_id` = '?');
-- 0, 1

-- commit

-- offset
-- orders: {"verb":"select","columns":["id"],"orderBy":"id","offset":20,"limit":10}

select `id` as `v0`
from `orders`
order by `orders`.`id` asc
limit ? offset ?;
-- 11, 20

-- the page after a row, by an index
-- orders: {"verb":"select","columns":["id"],"filters":{"customer_id":7},"orderBy":"ordered_at, id",
--   "after":{"ordered_at":"2026-01-01T00:00:00","id":5}}

select `id` as `v0`, `ordered_at` as `v1`
from `orders` force index (`by_customer`)
where `customer_id` = '?' and (`ordered_at` > ? or (`ordered_at` = ? and `id` > ?))
order by `orders`.`ordered_at` asc, `orders`.`id` asc
limit ?;
-- 7, '2026-01-01 00:00:00', '2026-01-01 00:00:00', 5, 101

-- total
-- orders: {"verb":"select","columns":["id"],"filters":{"status":"paid"},"total":true}

-- begin, readCommitted

select count(*) as `v0`
from `orders`
where `status` = ?;
-- 'paid'

select `id` as `v0`
from `orders`
where `status` = ?
limit ?;
-- 'paid', 100

-- commit

-- total up to a number
-- orders: {"verb":"select","columns":["id"],"filters":{"status":"paid"},"total":1000}

-- begin, readCommitted

select count(*) as `v0`
from (select 1 as `v0` from `orders` where `status` = ? limit ?) as `matching`;
-- 'paid', 1000

select `id` as `v0`
from `orders`
where `status` = ?
limit ?;
-- 'paid', 100

-- commit

-- a select, with rules
-- orders: {"verb":"select","columns":["id"],"filters":{"status":"paid"}}

select `id` as `v0`
from `orders`
where (`tenant` = '?' and `status` = ?)
limit ?;
-- 7, 'paid', 100

-- ========== Filters

-- equal, also to NULL
-- orders: {"verb":"select","columns":["id"],"filters":{"status":"paid","note":null,"customer_id":7,"total":"1.50",
--   "ratio":0.5}}

select `id` as `v0`
from `orders`
where (`status` = ? and `note` is null and `customer_id` = '?' and `total` = cast(? as decimal(10,2)) and `ratio` = ?)
limit ?;
-- 'paid', 7, '1.50', 0.5, 100

-- not equal, and bounds
-- orders: {"verb":"select","columns":["id"],"filters":{"status":{"$ne":"paid"},"total":{"$gte":"1","$lt":"2"},
--   "id":{"$between":[1,9]}}}

select `id` as `v0`
from `orders`
where (`status` <> ? and (`total` >= cast(? as decimal(10,2)) and `total` < cast(? as decimal(10,2))) and `id` between ?
  and ?)
limit ?;
-- 'paid', '1.00', '2.00', 1, 9, 100

-- NULL and other bounds
-- orders: {"verb":"select","columns":["id"],"filters":{"note":{"$null":false},"total":{"$gt":"1","$lte":"2"},
--   "ratio":{"$is":0.5}}}

select `id` as `v0`
from `orders`
where (`note` is not null and (`total` > cast(? as decimal(10,2)) and `total` <= cast(? as decimal(10,2))) and (`ratio`
  = ? and `ratio` is not null))
limit ?;
-- '1.00', '2.00', 0.5, 100

-- lists
-- orders: {"verb":"select","columns":["id"],"filters":{"id":[1,2,3],"status":{"$nin":["new",null]},"total":{"$in":["1",
--   "2"]}}}

select `id` as `v0`
from `orders`
where (`id` in ('?', '?', '?') and (`status` not in (?) and `status` is not null) and `total` in (cast(? as decimal(10,
  2)), cast(? as decimal(10,2))))
limit ?;
-- 1, 2, 3, 'new', '1.00', '2.00', 100

-- a list with NULL, and a decimal between two
-- orders: {"verb":"select","columns":["id"],"filters":{"note":["a",null],"total":{"$between":["1","2"]}}}

select `id` as `v0`
from `orders`
where ((`note` in (?) or `note` is null) and `total` between cast(? as decimal(10,2)) and cast(? as decimal(10,2)))
limit ?;
-- 'a', '1.00', '2.00', 100

-- lists without values
-- orders: {"verb":"select","columns":["id"],"filters":{"id":{"$in":[]}}}

select `id` as `v0`
from `orders`
where 1 = 0
limit ?;
-- 100

-- what passes each row
-- orders: {"verb":"select","columns":["id"],"filters":{"id":{"$nin":[],"$ne":null},"$and":[],"$not":{"id":{"$in":[]}}}}

select `id` as `v0`
from `orders`
limit ?;
-- 100

-- documents, and NULL or the document null
-- orders: {"verb":"select","columns":["id"],"filters":{"$or":[{"meta":{"a":1}},{"meta":null}]}}

select `id` as `v0`
from `orders`
where (`meta` = cast(? as json) or (`meta` is null or `meta` = cast(? as json)))
limit ?;
-- '{"a":1}', 'null', 100

-- byte by byte
-- orders: {"verb":"select","columns":["id"],"filters":{"status":{"$is":"paid"}}}

select `id` as `v0`
from `orders`
where (`status` = ? and cast(convert(`status` using utf8mb4) as binary) = cast(? as binary) and `status` is not null)
limit ?;
-- 'paid', 'paid', 100

-- patterns
-- orders: {"verb":"select","columns":["id"],"filters":{"note":{"$like":"a%","$nlike":"b%","$startsWith":"c",
--   "$contains":"d"}}}

select `id` as `v0`
from `orders`
where (`note` like ? escape '!' and `note` not like ? escape '!' and `note` like ? escape '!' and `note` like ? escape
  '!')
limit ?;
-- 'a%', 'b%', 'c%', '%d%', 100

-- characters of patterns
-- orders: {"verb":"select","columns":["id"],"filters":{"note":{"$startsWith":"5%","$contains":"\\_!"}}}

select `id` as `v0`
from `orders`
where (`note` like ? escape '!' and `note` like ? escape '!')
limit ?;
-- '5!%%', '%\!_!!%', 100

-- in any letter case
-- orders: {"verb":"select","columns":["id"],"filters":{"status":{"$eq":"PAID","$case":"ignore"},
--   "note":{"$contains":"X","$case":"ignore"}}}

select `id` as `v0`
from `orders`
where (`status` = ? and `note` like ? escape '!')
limit ?;
-- 'PAID', '%X%', 100

-- another column
-- orders: {"verb":"select","columns":["id"],"filters":{"id":{"$gt":{"$column":"customer_id"}}}}

select `id` as `v0`
from `orders`
where `id` > `customer_id`
limit ?;
-- 100

-- the present time
-- orders: {"verb":"select","columns":["id"],"filters":{"ordered_at":{"$gte":{"$now":{"days":-7}}}}}

select `id` as `v0`
from `orders`
where `ordered_at` >= ?
limit ?;
-- now, 100

-- $and, $or, $not
-- orders: {"verb":"select","columns":["id"],"filters":{"$or":[{"id":1},{"$and":[{"id":{"$gt":5}},{"status":"new"}]}],
--   "$not":{"note":"x"}}}

select `id` as `v0`
from `orders`
where ((`id` = '?' or (`id` > ? and `status` = ?)) and not (`note` = ?))
limit ?;
-- 1, 5, 'new', 'x', 100

-- a row
-- orders: {"verb":"select","columns":["id"],"filters":{"$is":{"id":1,"status":"paid","note":null}}}

select `id` as `v0`
from `orders`
where (`id` = '?' and (`status` = ? and cast(convert(`status` using utf8mb4) as binary) = cast(? as binary) and `status`
  is not null) and `note` is null)
limit ?;
-- 1, 'paid', 'paid', 100

-- values inside JSON
-- orders: {"verb":"select","columns":["id"],"filters":{"meta":{"$at":{"$.a":"x","$.b[0]":{"$gt":5},"$.\"c
--   d\"":{"$in":[1,2]}}}}}

select `id` as `v0`
from `orders`
where (case when json_type(json_extract(`meta`, ?)) in ('STRING') then cast(json_unquote(json_extract(`meta`, ?)) as
  binary) = ? when json_type(json_extract(`meta`, ?)) <> 'NULL' then 0 end and case when case when
  json_type(json_extract(`meta`, ?)) = 'ARRAY' then json_type(json_extract(`meta`, ?)) end in ('INTEGER',
  'UNSIGNED INTEGER', 'DOUBLE', 'DECIMAL') then json_extract(`meta`, ?) > cast(? as json) when case when
  json_type(json_extract(`meta`, ?)) = 'ARRAY' then json_type(json_extract(`meta`, ?)) end <> 'NULL' then 0 end and case
  when json_type(json_extract(`meta`, ?)) in ('INTEGER', 'UNSIGNED INTEGER', 'DOUBLE', 'DECIMAL') then
  json_extract(`meta`, ?) in (cast(? as json), cast(? as json)) when json_type(json_extract(`meta`, ?)) <> 'NULL' then 0
  end)
limit ?;
-- '$."a"', '$."a"', x'78', '$."a"', '$."b"', '$."b"[0]', '$."b"[0]', '5', '$."b"', '$."b"[0]', '$."c d"', '$."c d"',
--   '1', '2', '$."c d"', 100

-- other tests of values inside JSON
-- orders: {"verb":"select","columns":["id"],"filters":{"meta":{"$at":{"$.a":{"$exists":true},"$.b":null,
--   "$.c":{"$contains":"x"},"$.d":true}}}}

select `id` as `v0`
from `orders`
where (json_type(json_extract(`meta`, ?)) is not null and coalesce(json_type(json_extract(`meta`, ?)), 'NULL') = 'NULL'
  and case when json_type(json_extract(`meta`, ?)) in ('STRING') then instr(cast(json_unquote(json_extract(`meta`, ?))
  as binary), ?) > 0 when json_type(json_extract(`meta`, ?)) <> 'NULL' then 0 end and case when
  json_type(json_extract(`meta`, ?)) in ('BOOLEAN') then json_extract(`meta`, ?) = cast(? as json) when
  json_type(json_extract(`meta`, ?)) <> 'NULL' then 0 end)
limit ?;
-- '$."a"', '$."b"', '$."c"', '$."c"', x'78', '$."c"', '$."d"', '$."d"', 'true', '$."d"', 100

-- words
-- orders: {"verb":"select","columns":["id"],"filters":{"$match":{"columns":["note"],"text":"one two"}}}

select `id` as `v0`
from `orders`
where match(`note`) against(? in boolean mode)
limit ?;
-- '"one" "two"', 100

-- words, the best first
-- orders: {"verb":"select","columns":["id"],"filters":{"$match":{"columns":["note"],"text":"one"}},
--   "orderBy":[{"$match":"DESC"}]}

select `id` as `v0`
from `orders`
where match(`note`) against(? in boolean mode)
order by match(`orders`.`note`) against(? in boolean mode) desc, `orders`.`id` desc
limit ?;
-- '"one"', '"one"', 100

-- $some
-- customers: {"verb":"select","columns":["id"],"filters":{"$some":{"orders":{"filters":{"status":"paid"}}}}}

select `id` as `v0`
from `customers`
where (select 1 from `orders` as `t1` force index (`by_customer`) where `t1`.`customer_id` = `customers`.`id` and
  `t1`.`status` = ? limit 1) is not null
limit ?;
-- 'paid', 100

-- $none
-- customers: {"verb":"select","columns":["id"],"filters":{"$none":{"orders":{"filters":{"status":"paid"}}}}}

select `id` as `v0`
from `customers`
where (select 1 from `orders` as `t1` force index (`by_customer`) where `t1`.`customer_id` = `customers`.`id` and
  `t1`.`status` = ? limit 1) is null
limit ?;
-- 'paid', 100

-- $some with a count
-- customers: {"verb":"select","columns":["id"],"filters":{"$some":{"orders":{"count":{"$gte":3}}}}}

select `id` as `v0`
from `customers`
where (select 1 from `orders` as `t1` force index (`by_customer`) where `t1`.`customer_id` = `customers`.`id` limit 1
  offset ?) is not null
limit ?;
-- 2, 100

-- $some in $some
-- orders: {"verb":"select","columns":["id"],
--   "filters":{"$some":{"customers":{"filters":{"$some":{"orders":{"filters":{"status":"paid"}}}}}}}}

select `id` as `v0`
from `orders`
where (select 1 from `customers` as `t1` force index (`PRIMARY`) where `t1`.`id` = `orders`.`customer_id` and (select 1
  from `orders` as `t2` force index (`by_customer`) where `t2`.`customer_id` = `t1`.`id` and `t2`.`status` = ? limit 1)
  is not null limit 1) is not null
limit ?;
-- 'paid', 100

-- $some of the table itself
-- orders: {"verb":"select","columns":["id"],"filters":{"$some":{"orders":{"on":{"customer_id":"customer_id"},
--   "filters":{"id":1}}}}}

select `id` as `v0`
from `orders`
where (select 1 from `orders` as `t1` force index (`by_customer`) where `t1`.`customer_id` = `orders`.`customer_id` and
  `t1`.`id` = '?' limit 1) is not null
limit ?;
-- 1, 100

-- $some of a view
-- customers: {"verb":"select","columns":["id"],"filters":{"$some":{"totals":{"on":{"id":"customer_id"},
--   "filters":{"total":{"$gt":5}}}}}}

select `id` as `v0`
from `customers`
where (((`customers`.`id`) in (select `t1`.`customer_id` from `totals` as `t1` where `t1`.`total` > cast(? as
  decimal(10,2)))) is true) = 1
limit ?;
-- '5.00', 100

-- $none of a view, counted
-- customers: {"verb":"select","columns":["id"],"filters":{"$not":{"$some":{"totals":{"on":{"id":"customer_id"},
--   "count":{"$gte":2}}}}}}

select `id` as `v0`
from `customers`
where not ((((`customers`.`id`) in (select `t1`.`customer_id` from `totals` as `t1` group by `t1`.`customer_id` having
  count(*) > ?)) is true) = 1)
limit ?;
-- 1, 100

-- $some, with rules
-- customers: {"verb":"select","columns":["id"],"filters":{"$some":{"orders":{"filters":{"status":"paid"}}}}}

select `id` as `v0`
from `customers`
where (`tenant` = '?' and (select 1 from `orders` as `t1` force index (`by_customer`) where `t1`.`customer_id` =
  `customers`.`id` and (`t1`.`tenant` = '?' and `t1`.`status` = ?) limit 1) is not null)
limit ?;
-- 7, 7, 'paid', 100

-- ========== Selects with members

-- one row
-- orders: {"verb":"select","columns":["id"],"include":{"customer":{"table":"customers","columns":["name"]}}}

select `t0`.`id` as `v0`, `t1`.`id` as `v1`, `t1`.`name` as `v2`
from `orders` as `t0`
left join `customers` as `t1` on `t1`.`id` = `t0`.`customer_id`
limit ?;
-- 100

-- one row of one row
-- orders: {"verb":"select","columns":["id"],"include":{"customer":{"table":"customers",
--   "include":{"other":{"table":"plain","on":{"id":"code"}}}}}}

select `t0`.`id` as `v0`, `t1`.`id` as `v1`, `t1`.`id` as `v2`, `t1`.`tenant` as `v3`, `t1`.`email` as `v4`, `t1`.`name`
  as `v5`, `t2`.`code` as `v6`, `t2`.`code` as `v7`, `t2`.`n` as `v8`, `t2`.`m` as `v9`
from `orders` as `t0`
left join `customers` as `t1` on `t1`.`id` = `t0`.`customer_id`
left join `plain` as `t2` on `t2`.`code` = `t1`.`id`
limit ?;
-- 100

-- a list
-- customers: {"verb":"select","columns":["id"],"include":{"orders":{"columns":["total"],"filters":{"status":"paid"},
--   "orderBy":"ordered_at","limit":3}}}

-- begin, repeatableRead

select `id` as `v0`
from `customers`
limit ?;
-- 100

(select ? as `v0`, `total` as `v1` from `orders` force index (`by_customer`) where `customer_id` = '?' and `status` = ?
  order by `orders`.`ordered_at` asc, `orders`.`id` asc limit ?);
-- 0, 1, 'paid', 3

-- commit

-- a list of related texts
-- orders: {"verb":"select","columns":["id"],"include":{"same":{"table":"customers","on":{"status":"email"},
--   "as":"list"}}}

-- begin, repeatableRead

select `id` as `v0`, `status` as `v1`
from `orders`
limit ?;
-- 100

(select ? as `v0`, `id` as `v1`, `tenant` as `v2`, `email` as `v3`, `name` as `v4` from `customers` force index
  (`by_email`) where `email` = ? order by `customers`.`id` asc limit ?);
-- 0, 'a', 100

-- commit

-- the first row of a list
-- customers: {"verb":"select","columns":["id"],"include":{"last":{"table":"orders","as":"object","orderBy":"id DESC"}}}

-- begin, repeatableRead

select `id` as `v0`
from `customers`
limit ?;
-- 100

(select ? as `v0`, `id` as `v1`, `tenant` as `v2`, `customer_id` as `v3`, `total` as `v4`, `ratio` as `v5`, `status` as
  `v6`, `note` as `v7`, `meta` as `v8`, `ordered_at` as `v9` from `orders` force index (`by_customer`) where
  `customer_id` = '?' order by `orders`.`id` desc limit ?);
-- 0, 1, 1

-- commit

-- aggregates
-- customers: {"verb":"select","columns":["id"],"include":{"orders":{"aggregates":{"n":{"$count":"*"},
--   "paid":{"$sum":"total","filters":{"status":"paid"}}}}}}

-- begin, repeatableRead

select `id` as `v0`
from `customers`
limit ?;
-- 100

(select ? as `v0`, count(*) as `v1`, sum(case when `status` = ? then `total` end) as `v2` from `orders` force index
  (`by_customer`) where `customer_id` = '?');
-- 0, 'paid', 1

-- commit

-- a list of a view
-- customers: {"verb":"select","columns":["id"],"include":{"totals":{"on":{"id":"customer_id"},"orderBy":"total"}}}

-- begin, repeatableRead

select `id` as `v0`
from `customers`
limit ?;
-- 100

select `v0`, `v1`, `v2`
from (select `k`.`v0` as `v0`, `t0`.`customer_id` as `v1`, `t0`.`total` as `v2`, row_number() over (partition by
  `k`.`v0` order by `t0`.`total` asc) as `rn` from `totals` as `t0` inner join (select ? as v0, ? as v1) as `k` on
  `t0`.`customer_id` = `k`.`v1` and `t0`.`customer_id` in ('?')) as `r`
where rn <= ?
order by v0, rn;
-- 0, 1, 1, 100

-- commit

-- aggregates of a view
-- customers: {"verb":"select","columns":["id"],"include":{"totals":{"on":{"id":"customer_id"},
--   "aggregates":{"n":{"$count":"*"}}}}}

-- begin, repeatableRead

select `id` as `v0`
from `customers`
limit ?;
-- 100

select `k`.`v0` as `v0`, count(*) as `v1`
from `totals` as `t0`
inner join (select ? as v0, ? as v1) as `k` on `t0`.`customer_id` = `k`.`v1` and `t0`.`customer_id` in ('?')
group by `k`.`v0`;
-- 0, 1, 1

-- commit

-- one row, with rules
-- orders: {"verb":"select","columns":["id"],"include":{"customer":{"table":"customers","columns":["name"]}}}

select `t0`.`id` as `v0`, `t1`.`id` as `v1`, `t1`.`name` as `v2`
from `orders` as `t0`
left join `customers` as `t1` on `t1`.`id` = `t0`.`customer_id` and `t1`.`tenant` = '?'
where `t0`.`tenant` = '?'
limit ?;
-- 7, 7, 100

-- ========== Groups and aggregates

-- aggregates of all rows
-- orders: {"verb":"select","aggregates":{"n":{"$count":"*"},"statuses":{"$countDistinct":"status"},
--   "sum":{"$sum":"total"},"average":{"$avg":"ratio"}}}

select count(*) as `v0`, count(distinct `orders`.`status`) as `v1`, sum(`orders`.`total`) as `v2`,
  cast(if(abs(avg(`orders`.`ratio`)) > 1.7976931348623157e+308, 9223372036854775807 + count(`orders`.`ratio`),
  avg(`orders`.`ratio`)) as double) as `v3`
from `orders`
limit ?;
-- 100

-- the greatest value
-- orders: {"verb":"select","aggregates":{"last":{"$max":"ordered_at"}}}

select max(`orders`.`ordered_at`) as `v0`
from `orders`
limit ?;
-- 100

-- groups
-- orders: {"verb":"select","groupBy":["status"],"aggregates":{"n":{"$count":"*"}},"filters":{"total":{"$gt":5}}}

select `orders`.`status` as `v0`, count(*) as `v1`
from `orders`
where `orders`.`total` > cast(? as decimal(10,2))
group by `orders`.`status`
limit ?;
-- '5.00', 100

-- having, order, offset
-- orders: {"verb":"select","groupBy":["status"],"aggregates":{"sum":{"$sum":"total"}},"having":{"sum":{"$gt":100}},
--   "orderBy":"sum DESC, status","limit":5,"offset":5}

select `orders`.`status` as `v0`, sum(`orders`.`total`) as `v1`
from `orders`
group by `orders`.`status`
having `v1` > cast(? as decimal(65,2))
order by `v1` desc, `orders`.`status` asc
limit ? offset ?;
-- '100.00', 6, 5

-- parts of time
-- orders: {"verb":"select","groupBy":[{"month":{"$month":"ordered_at"}}],"aggregates":{"n":{"$count":"*"}}}

select date_format(`orders`.`ordered_at`, '%Y-%m') as `v0`, count(*) as `v1`
from `orders`
group by date_format(`orders`.`ordered_at`, '%Y-%m')
limit ?;
-- 100

-- aggregates of some rows
-- orders: {"verb":"select","groupBy":["status"],"aggregates":{"large":{"$count":"*","filters":{"total":{"$gt":100}}}}}

select `orders`.`status` as `v0`, count(case when `orders`.`total` > cast(? as decimal(10,2)) then 1 end) as `v1`
from `orders`
group by `orders`.`status`
limit ?;
-- '100.00', 100

-- columns of a member
-- orders: {"verb":"select","include":{"customer":{"table":"customers","columns":["name"]}},
--   "groupBy":[{"name":{"customer":"name"}}],"aggregates":{"sum":{"$sum":"total"}}}

select `t1`.`name` as `v0`, sum(`t0`.`total`) as `v1`
from `orders` as `t0`
left join `customers` as `t1` on `t1`.`id` = `t0`.`customer_id`
group by `t1`.`name`
limit ?;
-- 100

-- words
-- orders: {"verb":"select","aggregates":{"n":{"$count":"*"}},"filters":{"$match":{"columns":["note"],"text":"one"}}}

select cast(coalesce(sum(1), 0) as signed) as `v0`
from `orders`
where match(`orders`.`note`) against(? in boolean mode)
limit ?;
-- '"one"', 100

-- ========== Inserts

-- one row
-- numbered: {"verb":"insert","data":{"code":1,"n":2}}

insert into `numbered` (`code`, `n`)
values (?, ?);
-- 1, 2

-- no values
-- numbered: {"verb":"insert","data":[{"code":1},{"code":2,"n":null}]}

insert into `numbered` (`code`, `n`)
values (?, ?);
-- 1, default, 2, null
-- 2 rows

-- a list
-- numbered: {"verb":"insert","data":[{"code":1,"n":2},{"code":2,"n":3}]}

insert into `numbered` (`code`, `n`)
values (?, ?);
-- 1, 2, 2, 3
-- 2 rows

-- returning
-- numbered: {"verb":"insert","data":{"code":1,"n":2},"returning":["id","n"]}

-- begin, readCommitted

insert into `numbered` (`code`, `n`)
values (?, ?);
-- 1, 2

select `id` as `v0`, `n` as `v1`
from `numbered`
where `id` = '?'
limit ?
lock in share mode;
-- 1, 2

-- commit

-- a list, returning
-- numbered: {"verb":"insert","data":[{"code":1,"n":2},{"code":2,"n":3}],"returning":"*"}

-- begin, readCommitted

insert into `numbered` (`code`, `n`)
values (?, ?);
-- 1, 2, 2, 3
-- 2 rows

select @@auto_increment_increment as v0;

select `id` as `v0`, `code` as `v1`, `n` as `v2`
from `numbered`
where (`id` = '?' or `id` = '?')
order by case when `id` = '?' then 0 when `id` = '?' then 1 end
limit ?
lock in share mode;
-- 1, 3, 1, 3, 3

-- commit

-- returning, with a member
-- orders: {"verb":"insert","data":{"tenant":7,"customer_id":3,"total":"5"},"returning":["id"],
--   "include":{"customer":{"table":"customers","columns":["name"]}}}

-- begin, repeatableRead

insert into `orders` (`tenant`, `customer_id`, `total`)
values (?, ?, ?);
-- 7, 3, '5.00'

select `t0`.`id` as `v0`, `t1`.`id` as `v1`, `t1`.`name` as `v2`
from `orders` as `t0`
left join `customers` as `t1` on `t1`.`id` = `t0`.`customer_id`
where `t0`.`id` = '?'
limit ?
lock in share mode;
-- 1, 2

-- commit

-- one row, with rules
-- orders: {"verb":"insert","data":{"customer_id":3,"total":"5"}}

-- begin, readCommitted

insert into `orders` (`customer_id`, `total`, `tenant`)
values (?, ?, ?);
-- 3, '5.00', 7

select count(*) as `v0`
from (select 1 as `v0` from `customers` where (`id` = '?' and `tenant` = '?') limit ? lock in share mode) as `matching`;
-- 3, 7, 1

-- commit

-- a list, with rules
-- orders: {"verb":"insert","data":[{"customer_id":3,"total":"5"},{"customer_id":4,"total":"6"}]}

-- begin, readCommitted

insert into `orders` (`customer_id`, `total`, `tenant`)
values (?, ?, ?);
-- 3, '5.00', 7, 4, '6.00', 7
-- 2 rows

select count(*) as `v0`
from (select 1 as `v0` from `customers` where (`id` in ('?', '?') and `tenant` = '?') lock in share mode) as `matching`;
-- 3, 4, 7

select count(*) as `v0`
from (select 1 as `v0` from `customers` where (`id` = '?' and `tenant` = '?') limit ? lock in share mode) as `matching`;
-- 3, 7, 1

select count(*) as `v0`
from (select 1 as `v0` from `customers` where (`id` = '?' and `tenant` = '?') limit ? lock in share mode) as `matching`;
-- 4, 7, 1

-- commit

-- ========== Upserts (docs/internals/ways-of-writing.md)

-- guarded
-- plain: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"]}}

insert into `plain` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`plain`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `plain`.`code`, (select `plain`.`code` from (select 1 union all select 2) as two)), `n` = /*!80019 `given`.`n` */
  /*M!100700 values(`n`) */;
-- 1, 2

-- guarded, a list
-- plain: {"verb":"insert","data":[{"code":1,"n":2},{"code":2,"n":3}],"onConflict":{"key":["code"]}}

insert into `plain` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`plain`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `plain`.`code`, (select `plain`.`code` from (select 1 union all select 2) as two)), `n` = /*!80019 `given`.`n` */
  /*M!100700 values(`n`) */;
-- 1, 2, 2, 3
-- 2 rows

-- guarded, nothing set
-- plain: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"],"set":[]}}

insert into `plain` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`plain`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `plain`.`code`, (select `plain`.`code` from (select 1 union all select 2) as two));
-- 1, 2

-- guarded, columns set
-- plain: {"verb":"insert","data":{"code":1,"n":2,"m":5},"onConflict":{"key":["code"],"set":["m"]}}

insert into `plain` (`code`, `n`, `m`)
values (?, ?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`plain`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `plain`.`code`, (select `plain`.`code` from (select 1 union all select 2) as two)), `m` = /*!80019 `given`.`m` */
  /*M!100700 values(`m`) */;
-- 1, 2, 5

-- guarded, values set
-- plain: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"],"set":{"n":{"$inc":1},"m":4}}}

insert into `plain` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`plain`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `plain`.`code`, (select `plain`.`code` from (select 1 union all select 2) as two)), `m` = ?, `n` = `plain`.`n` + ?;
-- 1, 2, 4, 1

-- guarded, reporting an id
-- numbered: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"]}}

insert into `numbered` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `id` = if(`numbered`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  if(last_insert_id(`numbered`.`id`) = 0, `numbered`.`id`, `numbered`.`id`), (select `numbered`.`id` from (select 1
  union all select 2) as two)), `n` = /*!80019 `given`.`n` */ /*M!100700 values(`n`) */;
-- 1, 2

-- guarded, reporting an id, nothing set
-- numbered: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"],"set":[]}}

insert into `numbered` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `id` = if(`numbered`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  if(last_insert_id(`numbered`.`id`) = 0, `numbered`.`id`, `numbered`.`id`), (select `numbered`.`id` from (select 1
  union all select 2) as two));
-- 1, 2

-- guarded, returning
-- numbered: {"verb":"insert","data":[{"code":1,"n":2},{"code":2,"n":3}],"onConflict":{"key":["code"],"set":["n"]},
--   "returning":"*"}

-- begin, readCommitted

insert into `numbered` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`numbered`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `numbered`.`code`, (select `numbered`.`code` from (select 1 union all select 2) as two)), `n` = /*!80019 `given`.`n`
  */ /*M!100700 values(`n`) */;
-- 1, 2, 2, 3
-- 2 rows

select `id` as `v0`, `code` as `v1`, `n` as `v2`
from `numbered`
where (`code` = '?' or `code` = '?')
order by case when `code` = '?' then 0 when `code` = '?' then 1 end
limit ?
lock in share mode;
-- 1, 2, 1, 2, 3

-- commit

-- guarded, rows with and without their number
-- numbered: {"verb":"insert","data":[{"id":1,"code":1},{"code":2}],"onConflict":{"key":["id"]}}

insert into `numbered` (`id`, `code`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`numbered`.`id` = /*!80019 `given`.`id` */ /*M!100700 values(`id`) */ and
  `numbered`.`id` <= ?, `numbered`.`code`, (select `numbered`.`code` from (select 1 union all select 2) as two)), `code`
  = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */;
-- 1, 1, null, 2, 9223372036854710272
-- 2 rows

-- guarded, refused twice by a unique key
-- numbered: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"]}}

insert into `numbered` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `id` = if(`numbered`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  if(last_insert_id(`numbered`.`id`) = 0, `numbered`.`id`, `numbered`.`id`), (select `numbered`.`id` from (select 1
  union all select 2) as two)), `n` = /*!80019 `given`.`n` */ /*M!100700 values(`n`) */;
-- 1, 2

-- begin, readCommitted

insert into `numbered` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `id` = if(`numbered`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  if(last_insert_id(`numbered`.`id`) = 0, `numbered`.`id`, `numbered`.`id`), (select `numbered`.`id` from (select 1
  union all select 2) as two)), `n` = /*!80019 `given`.`n` */ /*M!100700 values(`n`) */;
-- 1, 2

select count(*) as `v0`
from (select 1 as `v0` from `numbered` where (`code` = '?') limit ?) as `matching`;
-- 1, 1

select `id` as `v0`
from `numbered`
where (`code` = '?')
limit ?
for update;
-- 1, 1

update `numbered`
set `n` = ?
where (`code` = '?');
-- 2, 1

-- commit

-- guarded, no row found, refused twice by a unique key
-- numbered: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"]}}

insert into `numbered` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `id` = if(`numbered`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  if(last_insert_id(`numbered`.`id`) = 0, `numbered`.`id`, `numbered`.`id`), (select `numbered`.`id` from (select 1
  union all select 2) as two)), `n` = /*!80019 `given`.`n` */ /*M!100700 values(`n`) */;
-- 1, 2

-- begin, readCommitted

insert into `numbered` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `id` = if(`numbered`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  if(last_insert_id(`numbered`.`id`) = 0, `numbered`.`id`, `numbered`.`id`), (select `numbered`.`id` from (select 1
  union all select 2) as two)), `n` = /*!80019 `given`.`n` */ /*M!100700 values(`n`) */;
-- 1, 2

select count(*) as `v0`
from (select 1 as `v0` from `numbered` where (`code` = '?') limit ?) as `matching`;
-- 1, 1

insert into `numbered` (`code`, `n`)
values (?, ?);
-- 1, 2

-- commit

-- guarded, a list, refused twice by a unique key
-- numbered: {"verb":"insert","data":[{"code":1,"n":2},{"code":2,"n":3}],"onConflict":{"key":["code"]}}

insert into `numbered` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`numbered`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `numbered`.`code`, (select `numbered`.`code` from (select 1 union all select 2) as two)), `n` = /*!80019 `given`.`n`
  */ /*M!100700 values(`n`) */;
-- 1, 2, 2, 3
-- 2 rows

-- begin, readCommitted

insert into `numbered` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`numbered`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `numbered`.`code`, (select `numbered`.`code` from (select 1 union all select 2) as two)), `n` = /*!80019 `given`.`n`
  */ /*M!100700 values(`n`) */;
-- 1, 2, 2, 3
-- 2 rows

insert into `numbered` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`numbered`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `numbered`.`code`, (select `numbered`.`code` from (select 1 union all select 2) as two)), `n` = /*!80019 `given`.`n`
  */ /*M!100700 values(`n`) */;
-- 1, 2

insert into `numbered` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`numbered`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `numbered`.`code`, (select `numbered`.`code` from (select 1 union all select 2) as two)), `n` = /*!80019 `given`.`n`
  */ /*M!100700 values(`n`) */;
-- 2, 3

-- commit

-- a list row by row, because columns differ
-- plain: {"verb":"insert","data":[{"code":1,"n":2},{"code":2}],"onConflict":{"key":["code"]}}

-- begin, readCommitted

insert into `plain` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`plain`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `plain`.`code`, (select `plain`.`code` from (select 1 union all select 2) as two)), `n` = /*!80019 `given`.`n` */
  /*M!100700 values(`n`) */;
-- 1, 2

insert into `plain` (`code`)
values (?) /*!80019 as `given` */
on duplicate key update `code` = if(`plain`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `plain`.`code`, (select `plain`.`code` from (select 1 union all select 2) as two));
-- 2

-- commit

-- looked up
-- watched: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"]}}

-- begin, readCommitted

select count(*) as `v0`
from (select 1 as `v0` from `watched` where (`code` = '?') limit ?) as `matching`;
-- 1, 1

update `watched`
set `n` = ?
where (`code` = '?');
-- 2, 1

select `code` as `v0`
from `watched`
where (`code` = '?')
limit ?
lock in share mode;
-- 1, 1

-- commit

-- looked up, no row found
-- watched: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"]}}

-- begin, readCommitted

select count(*) as `v0`
from (select 1 as `v0` from `watched` where (`code` = '?') limit ?) as `matching`;
-- 1, 1

insert into `watched` (`code`, `n`)
values (?, ?);
-- 1, 2

select `code` as `v0`
from `watched`
where (`code` = '?')
limit ?
lock in share mode;
-- 1, 1

-- commit

-- looked up, nothing set
-- watched: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"],"set":[]}}

-- begin, readCommitted

select count(*) as `v0`
from (select 1 as `v0` from `watched` where (`code` = '?') limit ?) as `matching`;
-- 1, 1

select `code` as `v0`
from `watched`
where (`code` = '?')
limit ?
lock in share mode;
-- 1, 1

-- commit

-- looked up, NULL over a default
-- defaulted: {"verb":"insert","data":{"code":1,"n":null},"onConflict":{"key":["code"]}}

-- begin, readCommitted

select count(*) as `v0`
from (select 1 as `v0` from `defaulted` where (`code` = '?') limit ?) as `matching`;
-- 1, 1

update `defaulted`
set `n` = ?
where (`code` = '?');
-- null, 1

-- commit

-- inserted first
-- filled: {"verb":"insert","data":{"code":1,"n":null},"onConflict":{"key":["code"]}}

-- begin, readCommitted

insert into `filled` (`code`, `n`)
values (?, ?);
-- 1, null

-- commit

-- inserted first, refused once by a unique key
-- filled: {"verb":"insert","data":{"code":1,"n":null},"onConflict":{"key":["code"]}}

-- begin, readCommitted

insert into `filled` (`code`, `n`)
values (?, ?);
-- 1, null

insert into `filled` (`code`, `n`)
values (?, ?) /*!80019 as `given` */
on duplicate key update `code` = if(`filled`.`code` = /*!80019 `given`.`code` */ /*M!100700 values(`code`) */,
  `filled`.`code`, (select `filled`.`code` from (select 1 union all select 2) as two)), `n` = /*!80019 `given`.`n` */
  /*M!100700 values(`n`) */;
-- 1, null

-- commit

-- guarded, with rules
-- customers: {"verb":"insert","data":{"email":"a","name":"b"},"onConflict":{"key":["email"],"set":["name"]}}

insert into `customers` (`email`, `name`, `tenant`)
values (?, ?, ?) /*!80019 as `given` */
on duplicate key update `id` = if(`customers`.`email` = /*!80019 `given`.`email` */ /*M!100700 values(`email`) */ and
  `customers`.`tenant` = '?', if(last_insert_id(`customers`.`id`) = 0, `customers`.`id`, `customers`.`id`), (select
  `customers`.`id` from (select 1 union all select 2) as two)), `name` = /*!80019 `given`.`name` */ /*M!100700
  values(`name`) */;
-- 'a', 'b', 7, 7

-- guarded, a list, with rules
-- customers: {"verb":"insert","data":[{"email":"a","name":"b"},{"email":"c","name":"d"}],"onConflict":{"key":["email"],
--   "set":["name"]}}

insert into `customers` (`email`, `name`, `tenant`)
values (?, ?, ?) /*!80019 as `given` */
on duplicate key update `email` = if(`customers`.`email` = /*!80019 `given`.`email` */ /*M!100700 values(`email`) */ and
  `customers`.`tenant` = '?', `customers`.`email`, (select `customers`.`email` from (select 1 union all select 2) as
  two)), `name` = /*!80019 `given`.`name` */ /*M!100700 values(`name`) */;
-- 'a', 'b', 7, 'c', 'd', 7, 7
-- 2 rows

-- ========== Updates

-- by filters
-- orders: {"verb":"update","data":{"status":"paid","note":null},"filters":{"id":5}}

update `orders`
set `status` = ?, `note` = ?
where `id` = '?';
-- 'paid', null, 5

-- by one filter or another
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"$or":[{"id":1},{"note":null}]}}

update `orders`
set `status` = ?
where (`id` = '?' or `note` is null);
-- 'paid', 1

-- of no row
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"id":{"$in":[]}}}

update `orders`
set `status` = ?
where 1 = 0;
-- 'paid'

-- operators
-- orders: {"verb":"update","data":{"total":{"$inc":"1.5"},"ratio":{"$inc":1},"meta":{"$merge":{"a":1}},
--   "status":{"$default":true}},"filters":{"id":5}}

update `orders`
set `total` = `orders`.`total` + cast(? as decimal(10,2)), `ratio` = `orders`.`ratio` + ?, `meta` =
  json_merge_patch(coalesce(`orders`.`meta`, '{}'), cast(? as json)), `status` = default
where `id` = '?';
-- '1.50', 1, '{"a":1}', 5

-- the present time
-- orders: {"verb":"update","data":{"ordered_at":{"$now":true}},"filters":{"id":5}}

update `orders`
set `ordered_at` = ?
where `id` = '?';
-- now, 5

-- expect
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"id":[5,6]},"expect":1}

-- begin, readCommitted

update `orders`
set `status` = ?
where `id` in ('?', '?')
limit ?;
-- 'paid', 5, 6, 2

-- commit

-- returning
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"status":"new"},"returning":["id","status"]}

-- begin, readCommitted

select `id` as `v0`
from `orders`
where `status` = ?
limit ?
for update;
-- 'new', 1001

update `orders`
set `status` = ?
where (`id` = '?' and `status` = ?);
-- 'paid', 1, 'new'

select `id` as `v0`, `status` as `v1`
from `orders`
where `id` = '?'
limit ?
lock in share mode;
-- 1, 2

-- commit

-- by related rows
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"$some":{"customers":{"filters":{"name":"x"}}}}}

update `orders`
set `status` = ?
where (select 1 from `customers` as `t1` force index (`PRIMARY`) where `t1`.`id` = `orders`.`customer_id` and
  `t1`.`name` = ? limit 1) is not null;
-- 'paid', 'x'

-- by words
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"$match":{"columns":["note"],"text":"one"}}}

update (select `id` from `orders` where match(`note`) against(? in boolean mode) limit 9007199254740991 for update) as
  `found`
straight_join `orders` force index (`PRIMARY`) on `orders`.`id` = `found`.`id`
set `orders`.`status` = ?;
-- '"one"', 'paid'

-- many rows by their keys
-- plain: {"verb":"update","key":["code"],"filters":{},"data":[{"code":1,"n":2},{"code":2,"n":3}]}

-- begin, readCommitted

select `code` as `v0`
from `plain`
where (`code` = '?' or `code` = '?')
order by case when `code` = '?' then 0 when `code` = '?' then 1 end
limit ?
for update;
-- 1, 2, 1, 2, 2

update (select null as `v0`, null as `v1` from dual where 1 = 0 union all select ?, ?) as `given`
straight_join `plain` force index (`PRIMARY`) on `plain`.`code` = `given`.`v0`
set `plain`.`n` = `given`.`v1`;
-- 1, 2, 2, 3
-- 2 rows

-- commit

-- many rows by their keys, other columns
-- plain: {"verb":"update","key":["code"],"filters":{},"data":[{"code":1,"n":2},{"code":2,"m":3}]}

-- begin, readCommitted

select `code` as `v0`
from `plain`
where (`code` = '?' or `code` = '?')
order by case when `code` = '?' then 0 when `code` = '?' then 1 end
limit ?
for update;
-- 1, 2, 1, 2, 2

update `plain`
set `n` = ?
where `code` = '?';
-- 2, 1

update `plain`
set `m` = ?
where `code` = '?';
-- 3, 2

-- commit

-- many rows by their keys and filters, returning
-- plain: {"verb":"update","key":["code"],"filters":{"m":1},"data":[{"code":1,"n":2}],"returning":"*"}

-- begin, readCommitted

select `code` as `v0`
from `plain`
where (`code` = '?' and `m` = '?')
limit ?
for update;
-- 1, 1, 1

update `plain`
set `n` = ?
where `code` = '?';
-- 2, 1

select `code` as `v0`, `n` as `v1`, `m` as `v2`
from `plain`
where `code` = '?'
limit ?
lock in share mode;
-- 1, 2

-- commit

-- by filters, with rules
-- orders: {"verb":"update","data":{"status":"paid"},"filters":{"id":5}}

update `orders`
set `status` = ?
where (`tenant` = '?' and `id` = '?');
-- 'paid', 7, 5

-- of a foreign key, with rules
-- orders: {"verb":"update","data":{"customer_id":4},"filters":{"id":5}}

-- begin, readCommitted

update `orders`
set `customer_id` = ?
where (`tenant` = '?' and `id` = '?');
-- 4, 7, 5

select count(*) as `v0`
from (select 1 as `v0` from `customers` where (`id` = '?' and `tenant` = '?') limit ? lock in share mode) as `matching`;
-- 4, 7, 1

-- commit

-- of a hidden column, with rules
-- orders: {"verb":"update","data":{"status":"x"},"filters":{"id":5}}

update `orders`
set `status` = ?
where (`tenant` = '?' and `id` = '?');
-- 'x', 7, 5

-- ========== Deletes

-- by filters
-- orders: {"verb":"delete","filters":{"id":5}}

delete from `orders`
where `id` = '?';
-- 5

-- expect
-- orders: {"verb":"delete","filters":{"status":"new"},"expect":{"$lte":2}}

-- begin, repeatableRead

select count(*) as `v0`
from (select 1 as `v0` from `orders` where `status` = ? limit ? for update) as `matching`;
-- 'new', 3

delete from `orders`
where `status` = ?
limit ?;
-- 'new', 3

-- commit

-- returning
-- orders: {"verb":"delete","filters":{"status":"new"},"returning":["id"]}

-- begin, repeatableRead

select `id` as `v0`
from `orders`
where `status` = ?
limit ?
for update;
-- 'new', 1001

delete from `orders`
where `status` = ?;
-- 'new'

-- commit

-- returning, with a member
-- orders: {"verb":"delete","filters":{"status":"new"},"returning":["id"],"include":{"customer":{"table":"customers",
--   "columns":["name"]}}}

-- begin, repeatableRead

select count(*) as `v0`
from (select 1 as `v0` from `orders` where `status` = ? limit ? for update) as `matching`;
-- 'new', 1001

select `t0`.`id` as `v0`, `t1`.`id` as `v1`, `t1`.`name` as `v2`
from `orders` as `t0`
left join `customers` as `t1` on `t1`.`id` = `t0`.`customer_id`
where `t0`.`status` = ?
limit ?
lock in share mode;
-- 'new', 1001

delete from `orders`
where `status` = ?;
-- 'new'

-- commit

-- by related rows
-- orders: {"verb":"delete","filters":{"$none":{"customers":{}}}}

delete from `orders`
where (select 1 from `customers` as `t1` force index (`PRIMARY`) where `t1`.`id` = `orders`.`customer_id` limit 1) is
  null;

-- by words
-- orders: {"verb":"delete","filters":{"$match":{"columns":["note"],"text":"one"}}}

delete `orders`
from (select `id` from `orders` where match(`note`) against(? in boolean mode) limit 9007199254740991 for update) as
  `found`
straight_join `orders` force index (`PRIMARY`) on `orders`.`id` = `found`.`id`;
-- '"one"'

-- by filters, with rules
-- orders: {"verb":"delete","filters":{"id":5}}

delete from `orders`
where (`tenant` = '?' and `id` = '?');
-- 7, 5

-- ========== Odd names

-- every column
-- t0: {"verb":"select","orderBy":[{"a.b":"ASC"},{"x as y":"DESC"}]}

select `2` as `v0`, `1` as `v1`, `a.b` as `v2`, `x as y` as `v3`, `__proto__` as `v4`, `"``'` as `v5`, `t0` as `v6`
from `t0`
order by `t0`.`a.b` asc, `t0`.`x as y` desc
limit ?;
-- 100

-- filters, and a page
-- t0: {"verb":"select","columns":["2","__proto__"],"filters":{"1":[1,2],"a.b":"x","__proto__":"y","x as y":{"$gt":1}},
--   "orderBy":[{"x as y":"ASC"},{"2":"ASC"}],"after":{"2":1,"x as y":"1"}}

select `2` as `v0`, `__proto__` as `v1`, `x as y` as `v2`
from `t0`
where (`1` in ('?', '?') and `a.b` = ? and `__proto__` = ? and `x as y` > cast(? as decimal(10,2))) and (`x as y` >
  cast(? as decimal(10,2)) or (`x as y` = cast(? as decimal(10,2)) and `2` > ?))
order by `t0`.`x as y` asc, `t0`.`2` asc
limit ?;
-- 1, 2, 'x', 'y', '1.00', '1.00', '1.00', 1, 101

-- related rows and members
-- t0: {"verb":"select","columns":["2"],"filters":{"$some":{"t":{"filters":{"1":5}}}},"include":{"t":{"columns":["1"]}}}

-- begin, repeatableRead

select `2` as `v0`
from `t0`
where (select 1 from `t` as `t_1` where `t_1`.`1` = `t0`.`2` and `t_1`.`1` = '?' limit 1) is not null
limit ?;
-- 5, 100

(select ? as `v0`, `1` as `v1` from `t` where `1` = '?' order by `t`.`id` asc limit ?);
-- 0, 5, 100

-- commit

-- related rows of the table t, and one row
-- t: {"verb":"select","columns":["id"],"filters":{"$none":{"t0":{"filters":{"a.b":"x"}}}},
--   "include":{"one":{"table":"t0","columns":["a.b","1"]}}}

select `t0`.`id` as `v0`, `t1`.`2` as `v1`, `t1`.`a.b` as `v2`, `t1`.`1` as `v3`
from `t` as `t0`
left join `t0` as `t1` on `t1`.`2` = `t0`.`1`
where (select 1 from `t0` as `t2` force index (`PRIMARY`) where `t2`.`2` = `t0`.`1` and `t2`.`a.b` = ? limit 1) is null
limit ?;
-- 'x', 100

-- groups
-- t0: {"verb":"select","groupBy":["a.b","1"],"aggregates":{"x as y":{"$sum":"x as y"}},"having":{"x as y":{"$gt":1}}}

select `t0`.`a.b` as `v0`, `t0`.`1` as `v1`, sum(`t0`.`x as y`) as `v2`
from `t0`
group by `t0`.`a.b`, `t0`.`1`
having `v2` > cast(? as decimal(65,2))
limit ?;
-- '1.00', 100

-- an insert
-- t0: {"verb":"insert","data":{"1":8,"2":7,"x as y":5,"a.b":"d","__proto__":"p","\"`'":"q","t0":"t"}}

insert into `t0` (`1`, `2`, `x as y`, `a.b`, `__proto__`, `"``'`, `t0`)
values (?, ?, ?, ?, ?, ?, ?);
-- 8, 7, '5.00', 'd', 'p', 'q', 't'

-- a list of rows with other columns
-- t0: {"verb":"insert","data":[{"2":7,"a.b":"d"},{"1":9,"2":8}]}

insert into `t0` (`2`, `a.b`, `1`)
values (?, ?, ?);
-- 7, 'd', default, 8, default, 9
-- 2 rows

-- an upsert
-- t0: {"verb":"insert","data":{"1":8,"2":7,"x as y":5,"a.b":"d","__proto__":"p","\"
--   ":"q","t0":"t"},"onConflict":{"key":["2]}}

insert into `t0` (`1`, `2`, `x as y`, `a.b`, `__proto__`, `"``'`, `t0`)
values (?, ?, ?, ?, ?, ?, ?) /*!80019 as `given` */
on duplicate key update `2` = if(`t0`.`2` = /*!80019 `given`.`2` */ /*M!100700 values(`2`) */, `t0`.`2`, (select
  `t0`.`2` from (select 1 union all select 2) as two)), `1` = /*!80019 `given`.`1` */ /*M!100700 values(`1`) */,
  `x as y` = /*!80019 `given`.`x as y` */ /*M!100700 values(`x as y`) */, `a.b` = /*!80019 `given`.`a.b` */ /*M!100700
  values(`a.b`) */, `__proto__` = /*!80019 `given`.`__proto__` */ /*M!100700 values(`__proto__`) */, `"``'` = /*!80019
  `given`.`"``'` */ /*M!100700 values(`"``'`) */, `t0` = /*!80019 `given`.`t0` */ /*M!100700 values(`t0`) */;
-- 8, 7, '5.00', 'd', 'p', 'q', 't'

-- an update
-- t0: {"verb":"update","data":{"1":{"$inc":1},"a.b":"c","__proto__":"p","x as y":3},"filters":{"2":1}}

update `t0`
set `a.b` = ?, `__proto__` = ?, `x as y` = ?, `1` = `t0`.`1` + ?
where `2` = '?';
-- 'c', 'p', '3.00', 1, 1

-- an update by related rows
-- t0: {"verb":"update","data":{"1":{"$inc":1},"a.b":"c","__proto__":"p","x as y":3},"filters":{"$some":{"t":{}}}}

update `t0`
set `a.b` = ?, `__proto__` = ?, `x as y` = ?, `1` = `t0`.`1` + ?
where (select 1 from `t` as `t_1` where `t_1`.`1` = `t0`.`2` limit 1) is not null;
-- 'c', 'p', '3.00', 1

-- an update of many rows by their keys
-- t0: {"verb":"update","key":["2"],"filters":{},"data":[{"1":2,"2":1,"a.b":"x"},{"1":3,"2":2,"a.b":"y"}]}

-- begin, readCommitted

select `2` as `v0`
from `t0`
where (`2` = '?' or `2` = '?')
order by case when `2` = '?' then 0 when `2` = '?' then 1 end
limit ?
for update;
-- 1, 2, 1, 2, 2

update (select null as `v0`, null as `v1`, null as `v2` from dual where 1 = 0 union all select ?, ?, ?) as `given`
straight_join `t0` force index (`PRIMARY`) on `t0`.`2` = `given`.`v0`
set `t0`.`1` = `given`.`v1`, `t0`.`a.b` = `given`.`v2`;
-- 1, 2, 'x', 2, 3, 'y'
-- 2 rows

-- commit

-- a delete
-- t0: {"verb":"delete","filters":{"1":1,"__proto__":"x"}}

delete from `t0`
where (`1` = '?' and `__proto__` = ?);
-- 1, 'x'

-- an upsert of a table with the name of an alias
-- given: {"verb":"insert","data":{"code":1,"v0":"a"},"onConflict":{"key":["code"]}}

insert into `given` (`code`, `v0`)
values (?, ?) /*!80019 as `given_` */
on duplicate key update `code` = if(`given`.`code` = /*!80019 `given_`.`code` */ /*M!100700 values(`code`) */,
  `given`.`code`, (select `given`.`code` from (select 1 union all select 2) as two)), `v0` = /*!80019 `given_`.`v0` */
  /*M!100700 values(`v0`) */;
-- 1, 'a'

-- an update of many rows of a table with the name of an alias
-- given: {"verb":"update","key":["code"],"filters":{},"data":[{"code":1,"v0":"a"},{"code":2,"v0":"b"}]}

-- begin, readCommitted

select `code` as `v0`
from `given`
where (`code` = '?' or `code` = '?')
order by case when `code` = '?' then 0 when `code` = '?' then 1 end
limit ?
for update;
-- 1, 2, 1, 2, 2

update (select null as `v0`, null as `v1` from dual where 1 = 0 union all select ?, ?) as `given_`
straight_join `given` force index (`PRIMARY`) on `given`.`code` = `given_`.`v0`
set `given`.`v0` = `given_`.`v1`;
-- 1, 'a', 2, 'b'
-- 2 rows

-- commit

-- an update by words of a table with the name of an alias
-- found: {"verb":"update","data":{"v0":"a"},"filters":{"$match":{"columns":["note"],"text":"one"}}}

update (select `code` from `found` where match(`note`) against(? in boolean mode) limit 9007199254740991 for update) as
  `found_`
straight_join `found` force index (`PRIMARY`) on `found`.`code` = `found_`.`code`
set `found`.`v0` = ?;
-- '"one"', 'a'

-- groups of a table with a column that has the name of an alias
-- given: {"verb":"select","groupBy":["v0"],"aggregates":{"n":{"$count":"*"}},"having":{"n":{"$gt":1}}}

select `given`.`v0` as `v_0`, count(*) as `v_1`
from `given`
group by `given`.`v0`
having `v_1` > ?
limit ?;
-- 1, 100

-- ========== Other servers

-- MariaDB: aggregates of rows with related rows
-- orders: {"verb":"select","groupBy":["status"],"aggregates":{"n":{"$count":"*"},"large":{"$sum":"total",
--   "filters":{"$some":{"customers":{"filters":{"name":"x"}}}}}}}

select `r`.`v3` as `v0`, count(*) as `v1`, sum(case when `r`.`v5` then `r`.`v4` end) as `v2`
from (select `orders`.`status` as `v3`, `orders`.`total` as `v4`, (select 1 from `customers` as `t1` force index
  (`PRIMARY`) where `t1`.`id` = `orders`.`customer_id` and `t1`.`name` = ? limit 1) is not null as `v5` from `orders`
  limit 9007199254740991) as `r`
group by `r`.`v3`
limit ?;
-- 'x', 100

-- without an alias for the inserted row: guarded
-- plain: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"]}}

insert into `plain` (`code`, `n`)
values (?, ?)
on duplicate key update `code` = if(`plain`.`code` = values(`code`), `plain`.`code`, (select `plain`.`code` from (select
  1 union all select 2) as two)), `n` = values(`n`);
-- 1, 2

-- without a guard: looked up
-- plain: {"verb":"insert","data":{"code":1,"n":2},"onConflict":{"key":["code"]}}

-- begin, readCommitted

select count(*) as `v0`
from (select 1 as `v0` from `plain` where (`code` = '?') limit ?) as `matching`;
-- 1, 1

update `plain`
set `n` = ?
where (`code` = '?');
-- 2, 1

-- commit

-- without shared locks: returning
-- plain: {"verb":"insert","data":{"code":1,"n":2},"returning":"*"}

-- begin, readCommitted

insert into `plain` (`code`, `n`)
values (?, ?);
-- 1, 2

select `code` as `v0`, `n` as `v1`, `m` as `v2`
from `plain`
where `code` = '?'
limit ?
for update;
-- 1, 2

-- commit

-- ========== In tables with virtual columns, under rules: the second form (src/plan/second-form.ts)

-- filters
-- computed: {"verb":"select","columns":["id"],"filters":{"twice":4,"order_id":3}}

select `t0`.`id` as `v0`
from ((select `id` from `computed` where (`tenant` = '?' and `order_id` = '?') limit 9007199254740991) as `g0`
  straight_join `computed` as `t0` force index (`PRIMARY`, `note_words`) on `t0`.`id` = `g0`.`id`)
where `t0`.`twice` = '?'
limit ?;
-- 7, 3, 4, 100

-- words
-- computed: {"verb":"select","columns":["id"],"filters":{"$match":{"columns":["note"],"text":"one"}}}

select `t0`.`id` as `v0`
from ((select `id` from `computed` where (`tenant` = '?' and match(`note`) against(? in boolean mode)) limit
  9007199254740991) as `g0` straight_join `computed` as `t0` force index (`PRIMARY`, `note_words`) on `t0`.`id` =
  `g0`.`id`)
limit ?;
-- 7, '"one"', 100

-- total
-- computed: {"verb":"select","columns":["id"],"filters":{"twice":4},"total":10}

-- begin, readCommitted

select count(*) as `v0`
from (select 1 as `v0` from ((select `id` from `computed` where (`tenant` = '?') limit 9007199254740991) as `g0`
  straight_join `computed` as `t0` force index (`PRIMARY`, `note_words`) on `t0`.`id` = `g0`.`id`) where `t0`.`twice` =
  '?' limit ?) as `matching`;
-- 7, 4, 10

select `t0`.`id` as `v0`
from ((select `id` from `computed` where (`tenant` = '?') limit 9007199254740991) as `g0` straight_join `computed` as
  `t0` force index (`PRIMARY`, `note_words`) on `t0`.`id` = `g0`.`id`)
where `t0`.`twice` = '?'
limit ?;
-- 7, 4, 100

-- commit

-- $some
-- orders: {"verb":"select","columns":["id"],"filters":{"$some":{"computed":{"filters":{"twice":4}}}}}

select `t0`.`id` as `v0`
from `orders` as `t0`
where (`t0`.`tenant` = '?' and (select 1 from ((select `id` from `computed` where (`tenant` = '?') limit
  9007199254740991) as `g1` straight_join `computed` as `t1` force index (`PRIMARY`, `note_words`) on `t1`.`id` =
  `g1`.`id`) where `t1`.`order_id` = `t0`.`id` and `t1`.`twice` = '?' limit 1) is not null)
limit ?;
-- 7, 7, 4, 100

-- one row
-- computed: {"verb":"select","columns":["id"],"include":{"of":{"table":"orders","on":{"order_id":"id"},
--   "columns":["total"]}}}

select `t0`.`id` as `v0`, `t1`.`id` as `v1`, `t1`.`total` as `v2`
from ((select `id` from `computed` where (`tenant` = '?') limit 9007199254740991) as `g0` straight_join `computed` as
  `t0` force index (`PRIMARY`, `note_words`) on `t0`.`id` = `g0`.`id`)
left join `orders` as `t1` on `t1`.`id` = `t0`.`order_id` and `t1`.`tenant` = '?'
limit ?;
-- 7, 7, 100

-- a list
-- orders: {"verb":"select","columns":["id"],"include":{"computed":{"columns":["twice"],"filters":{"twice":4}}}}

-- begin, repeatableRead

select `id` as `v0`
from `orders`
where `tenant` = '?'
limit ?;
-- 7, 100

(select ? as `v0`, `t0`.`twice` as `v1` from ((select `id` from `computed` where (`order_id` = '?' and `tenant` = '?')
  limit 9007199254740991) as `g0` straight_join `computed` as `t0` force index (`PRIMARY`, `note_words`) on `t0`.`id` =
  `g0`.`id`) where `t0`.`twice` = '?' order by `t0`.`id` asc limit ?);
-- 0, 7, 7, 4, 100

-- commit

-- an order by an aggregate
-- orders: {"verb":"select","columns":["id"],"include":{"computed":{"aggregates":{"n":{"$sum":"twice"}}}},
--   "orderBy":[{"computed":{"n":"DESC"}}]}

-- begin, repeatableRead

select `t0`.`id` as `v0`
from `orders` as `t0`
where `t0`.`tenant` = '?'
order by (select sum(`t1`.`twice`) from ((select `id` from `computed` where (`tenant` = '?') limit 9007199254740991) as
  `g1` straight_join `computed` as `t1` force index (`PRIMARY`, `note_words`) on `t1`.`id` = `g1`.`id`) where
  `t1`.`order_id` = `t0`.`id`) desc, `t0`.`id` desc
limit ?;
-- 7, 7, 100

(select ? as `v0`, sum(`t0`.`twice`) as `v1` from ((select `id` from `computed` where (`order_id` = '?' and `tenant` =
  '?') limit 9007199254740991) as `g0` straight_join `computed` as `t0` force index (`PRIMARY`, `note_words`) on
  `t0`.`id` = `g0`.`id`));
-- 0, 7, 7

-- commit

-- groups
-- computed: {"verb":"select","groupBy":["twice"],"aggregates":{"n":{"$count":"*"}}}

select `t0`.`twice` as `v0`, count(*) as `v1`
from ((select `id` from `computed` where (`tenant` = '?') limit 9007199254740991) as `g0` straight_join `computed` as
  `t0` force index (`PRIMARY`, `note_words`) on `t0`.`id` = `g0`.`id`)
group by `t0`.`twice`
limit ?;
-- 7, 100

-- an update
-- computed: {"verb":"update","data":{"note":"x"},"filters":{"twice":4,"id":5}}

update (select `computed`.`id` from ((select `id` from `computed` where (`tenant` = '?' and `id` = '?') limit
  9007199254740991 lock in share mode) as `g0` straight_join `computed` force index (`PRIMARY`, `note_words`) on
  `computed`.`id` = `g0`.`id`) where `computed`.`twice` = '?' limit 9007199254740991 for update) as `found`
straight_join `computed` force index (`PRIMARY`) on `computed`.`id` = `found`.`id`
set `computed`.`note` = ?;
-- 7, 5, 4, 'x'

-- an update of a table with the name of an alias
-- g0: {"verb":"update","data":{"note":"x"},"filters":{"twice":4}}

update (select `g0`.`id` from ((select `id` from `g0` where (`tenant` = '?') limit 9007199254740991 lock in share mode)
  as `g_0` straight_join `g0` force index (`PRIMARY`, `note_words`) on `g0`.`id` = `g_0`.`id`) where `g0`.`twice` = '?'
  limit 9007199254740991 for update) as `found`
straight_join `g0` force index (`PRIMARY`) on `g0`.`id` = `found`.`id`
set `g0`.`note` = ?;
-- 7, 4, 'x'

-- a delete
-- computed: {"verb":"delete","filters":{"twice":4}}

delete `computed`
from (select `computed`.`id` from ((select `id` from `computed` where (`tenant` = '?') limit 9007199254740991 lock in
  share mode) as `g0` straight_join `computed` force index (`PRIMARY`, `note_words`) on `computed`.`id` = `g0`.`id`)
  where `computed`.`twice` = '?' limit 9007199254740991 for update) as `found`
straight_join `computed` force index (`PRIMARY`) on `computed`.`id` = `found`.`id`;
-- 7, 4

-- returning
-- computed: {"verb":"insert","data":{"note":"x"},"returning":["twice"]}

-- begin, readCommitted

insert into `computed` (`note`, `tenant`)
values (?, ?);
-- 'x', 7

select `t0`.`twice` as `v0`
from ((select `id` from `computed` where (`tenant` = '?' and `id` = '?') limit 9007199254740991 lock in share mode) as
  `g0` straight_join `computed` as `t0` force index (`PRIMARY`, `note_words`) on `t0`.`id` = `g0`.`id`)
limit ?
lock in share mode;
-- 7, 1, 2

-- commit

-- ========== Confirmations of the catalog

-- every column
-- orders: {"verb":"select"}

select *
from `orders` force index (`PRIMARY`)
limit 0;

-- every column
-- t: {"verb":"select"}

select `1`, `id`
from `t` force index (`PRIMARY`)
limit 0;
