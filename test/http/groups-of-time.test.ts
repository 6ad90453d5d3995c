/** Groups by parts of time (`{"month": {"$month": "created_at"}}`), and filters of an aggregate. */
import t from 'tap'
import { useEachEngine } from '../support/rotation.ts'
import { type Service, sharedOnEachEngine } from '../support/service.ts'

useEachEngine(t)

const schema = () => [`create table sales (
  id int not null primary key, d date null, dt datetime(3) null, ts timestamp null, v0 datetime null,
  status varchar(10) null, total decimal(10,2) null, ratio double null, n int null, word varchar(10) null)`]

/** The week by ISO 8601, computed from the Thursday of the week. */
function isoWeek (day: string): string {
  const date = new Date(`${day}T00:00:00Z`)
  const thursday = new Date(date.getTime() + (3 - (date.getUTCDay() + 6) % 7) * 86_400_000)
  const first = Date.UTC(thursday.getUTCFullYear(), 0, 1)
  const week = 1 + Math.floor((thursday.getTime() - first) / (7 * 86_400_000))
  return `${thursday.getUTCFullYear()}-W${String(week).padStart(2, '0')}`
}

const groupsOf = async ({ post }: Pick<Service, 'post'>, body: object): Promise<Array<Record<string, unknown>>> => {
  const { status, json, text } = await post('sales', { verb: 'select', limit: 1000, ...body })
  if (status !== 200) throw new Error(text)
  return json.data.rows
}

const test = sharedOnEachEngine(t, { schema })

await test('rows are grouped by the year, month, week, day and hour of a column', async (t, service) => {
  const moments = [
    '2026-11-23T10:15:00.123', '2026-11-23T10:59:59.999', '2026-11-23T11:00:00', '2026-01-01T00:00:00',
    '2027-01-03T23:59:59', '2024-12-30T12:00:00', null
  ]
  await service.post('sales', {
    verb: 'insert',
    data: moments.map(
      (dt, id) => ({ id, dt, d: dt?.slice(0, 10) ?? null, ts: dt === null ? null : `${dt.slice(0, 19)}Z` })
    )
  })
  const n = { n: { $count: '*' } }
  for (const [column, hasHours] of [['d', false], ['dt', true], ['ts', true]] as const) {
    t.strictSame(await groupsOf(service, { groupBy: [{ year: { $year: column } }], aggregates: n, orderBy: 'year' }), [
      { year: null, n: 1 }, { year: 2024, n: 1 }, { year: 2026, n: 4 }, { year: 2027, n: 1 }
    ], column)
    t.strictSame(await groupsOf(service, {
      groupBy: [{ month: { $month: column } }], aggregates: n, orderBy: 'month DESC'
    }), [
      { month: '2027-01', n: 1 }, { month: '2026-11', n: 3 }, { month: '2026-01', n: 1 }, { month: '2024-12', n: 1 },
      { month: null, n: 1 }
    ], column)
    t.strictSame(await groupsOf(service, { groupBy: [{ week: { $week: column } }], aggregates: n, orderBy: 'week' }), [
      { week: null, n: 1 }, { week: '2025-W01', n: 1 }, { week: '2026-W01', n: 1 }, { week: '2026-W48', n: 3 },
      { week: '2026-W53', n: 1 }
    ], column)
    t.strictSame(await groupsOf(service, {
      groupBy: [{ day: { $date: column } }], aggregates: n, orderBy: 'n DESC, day', limit: 2
    }), [{ day: '2026-11-23', n: 3 }, { day: null, n: 1 }], column)
    if (hasHours) {
      t.strictSame(await groupsOf(service, {
        groupBy: [{ hour: { $hour: column } }],
        aggregates: n,
        having: { hour: { $startsWith: '2026-11-23' } },
        orderBy: 'hour'
      }), [{ hour: '2026-11-23T10', n: 2 }, { hour: '2026-11-23T11', n: 1 }], column)
    }
  }
})

await test('names of parts stand at their place in the rows, and in orderBy, having and pages; a part ' +
  'alone is distinct', async (t, service) => {
  const { post } = service
  await post('sales', {
    verb: 'insert',
    data: Array.from({ length: 30 }, (_, id) => ({
      id, dt: `2026-0${1 + id % 9}-01T00:00:00`, status: id % 2 === 0 ? 'new' : 'paid', total: `${id}.50`
    }))
  })
  const rows = await groupsOf(service, {
    groupBy: ['status', { m: { $month: 'dt' } }, { v0: { $year: 'dt' } }],
    aggregates: { v1: { $sum: 'total' } },
    having: { m: { $between: ['2026-02', '2026-03'] }, v0: 2026, status: 'new' },
    orderBy: [{ m: 'DESC' }]
  })
  t.equal(JSON.stringify(rows), JSON.stringify([
    { status: 'new', m: '2026-03', v0: 2026, v1: '23.00' }, { status: 'new', m: '2026-02', v0: 2026, v1: '39.00' }
  ]))
  t.same((await groupsOf(service, { groupBy: [{ m: { $month: 'dt' } }] })).length, 9)
  t.same(await groupsOf(service, {
    groupBy: [{ m: { $month: 'dt' } }],
    having: { $or: [{ m: '2026-05' }, { m: { $like: '%-07' } }, { m: null }, { m: { $is: '2026-01' } }] },
    orderBy: 'm'
  }), [{ m: '2026-01' }, { m: '2026-05' }, { m: '2026-07' }])
  const seen = []
  for (let offset: number | null = 0; offset !== null;) {
    const { rows, next }: { rows: object[], next: number | null } = (await post('sales', {
      verb: 'select', groupBy: ['status', { m: { $month: 'dt' } }], offset, limit: 4
    })).json.data
    seen.push(...rows)
    offset = next
  }
  t.equal(seen.length, 18)
  t.equal(new Set(seen.map((row) => JSON.stringify(row))).size, 18, 'pages do not overlap')
  t.same((await groupsOf(service, { groupBy: ['dt', { dt2: { $date: 'dt' } }], limit: 1, orderBy: 'dt2 DESC' })), [
    { dt: '2026-09-01T00:00:00' + (service.engine === 'sqlite' ? '' : '.000'), dt2: '2026-09-01' }
  ])
})

await test('weeks of a leap year and around 28 turns of a year are those of ISO 8601, and NULL is a group', async (
  t, service
) => {
  const daysFrom = (year: number, first: number, length: number): string[] => Array.from(
    { length }, (_, index) => new Date(Date.UTC(year, 0, first + index)).toISOString().slice(0, 10)
  )
  // weeks depend on the day of the week and the length of a year, which come again after 28 years
  const days = [
    ...daysFrom(2020, 1, 366),
    ...Array.from({ length: 28 }, (_, index) => daysFrom(2021 + index, -9, 22)).flat()
  ].filter((day, index, all) => all.indexOf(day) === index)
  t.match(await service.post('sales', {
    verb: 'insert',
    data: [
      ...days.map((d, id) => ({ id, d, dt: `${d}T23:59:59.999` })),
      { id: -1 }, { id: -2, d: '0001-01-01', dt: '0001-01-01T00:00:00' },
      { id: -3, d: '9999-12-31', dt: '9999-12-31T00:00:00' }
    ]
  }), { status: 200 })
  const expected = new Map(days.map((day) => [isoWeek(day), 0]))
  for (const day of days) expected.set(isoWeek(day), (expected.get(isoWeek(day)) as number) + 1)
  const wanted = [[null, 1], ['0001-W01', 1], ...[...expected].sort(([a], [b]) => a < b ? -1 : 1), ['9999-W52', 1]]
  for (const column of ['d', 'dt']) {
    const weeks = { groupBy: [{ week: { $week: column } }], aggregates: { n: { $count: '*' } }, orderBy: 'week' }
    t.same((await groupsOf(service, weeks)).map(({ week, n }) => [week, n]), wanted, column)
  }
})

await test('zero dates have the parts that they show, and no week', async (t, service) => {
  const written = await service.post('sales', {
    verb: 'insert',
    data: [
      { id: 1, d: '0000-00-00', dt: '0000-00-00T00:00:00' }, { id: 2, d: '2026-00-00', dt: '2026-11-00T10:00:00' },
      { id: 3, d: '0000-03-01', dt: '0000-03-01T00:00:00' }
    ]
  })
  t.equal(written.status, 200, written.text)
  const parts = async (column: string, part: string): Promise<unknown[]> => (await groupsOf(service, {
    groupBy: ['id', { part: { [part]: column } }], orderBy: 'id'
  })).map((row) => row['part'])
  t.same(await parts('d', '$year'), [0, 2026, 0])
  t.same(await parts('d', '$month'), ['0000-00', '2026-00', '0000-03'])
  t.same(await parts('d', '$date'), ['0000-00-00', '2026-00-00', '0000-03-01'])
  t.same(await parts('d', '$week'), [null, null, null])
  t.same(await parts('dt', '$month'), ['0000-00', '2026-11', '0000-03'])
  t.same(await parts('dt', '$hour'), ['0000-00-00T00', '2026-11-00T10', '0000-03-01T00'])
  t.same(await parts('dt', '$week'), [null, null, null])
})

await test('on SQLite a stored value that is no time has no parts', async (t, service) => {
  await service.sql("insert into sales (id, dt) values (1, 'soon'), (2, 2026), (3, x'323032362d31312d3233'), (4, " +
    "'2026-11-23'), (5, '2026-11-23T10:00:00'), (6, '2026-11-23 10:00:00')")
  t.same(await groupsOf(service, {
    groupBy: [
      { day: { $date: 'dt' } }, { hour: { $hour: 'dt' } }, { week: { $week: 'dt' } }, { year: { $year: 'dt' } }
    ],
    aggregates: { n: { $count: '*' } },
    orderBy: 'day, hour'
  }), [
    { day: null, hour: null, week: null, year: null, n: 3 }, {
      day: '2026-11-23', hour: null, week: '2026-W48', year: 2026, n: 1
    }, { day: '2026-11-23', hour: '2026-11-23T10', week: '2026-W48', year: 2026, n: 2 }
  ])
}, ['sqlite'])

await test('an aggregate with filters is computed from the rows that pass', async (t, service) => {
  await service.post('sales', {
    verb: 'insert',
    data: [
      ['new', '1.50', 1], ['paid', '2.25', 2], ['paid', '3.00', 2], ['old', null, null]
    ].map((
      [status, total, n], id
    ) => ({
      id,
      status,
      total,
      n,
      ratio: Number(total),
      word: id % 2 === 0 ? 'a' : 'b',
      dt: { $now: { days: -id } },
      ts: { $now: { days: -id } }
    }))
  })
  const paid = { status: 'paid' }
  t.strictSame(await groupsOf(service, {
    aggregates: {
      all: { $sum: 'total' },
      paid: { $sum: 'total', filters: paid },
      n: { $count: '*', filters: paid },
      given: { $count: 'total', filters: { status: { $ne: 'paid' } } },
      different: { $countDistinct: 'n', filters: paid },
      avg: { $avg: 'total', filters: paid },
      ratio: { $sum: 'ratio', filters: { $or: [{ n: 1 }, { n: null }] } },
      least: { $min: 'word', filters: { id: { $in: [1, 3] } } },
      none: { $sum: 'total', filters: { n: { $in: [] } } },
      nothing: { $count: '*', filters: { id: 99 } },
      every: { $count: '*', filters: {} },
      recent: { $count: '*', filters: { dt: { $gt: { $now: { hours: -30 } } } } }
    }
  }), [{
    all: '6.75',
    paid: '5.25',
    n: 2,
    given: 1,
    different: 1,
    avg: '2.625000',
    ratio: 1.5,
    least: 'b',
    none: null,
    nothing: 0,
    every: 4,
    recent: 2
  }])
  t.strictSame(await groupsOf(service, {
    filters: { id: { $lt: 3 } },
    groupBy: ['word'],
    aggregates: { paid: { $sum: 'total', filters: paid } },
    having: { paid: { $gt: '0' } },
    orderBy: 'paid DESC'
  }), [{ word: 'a', paid: '3.00' }, { word: 'b', paid: '2.25' }])
  t.strictSame(await groupsOf(service, {
    groupBy: [{ day: { $date: 'dt' } }],
    aggregates: { n: { $count: '*', filters: { word: 'a' } } },
    having: { n: 1, $not: { n: { $between: [2, 3] } } },
    orderBy: 'n, day DESC',
    offset: 1,
    limit: 1
  }).then((rows) => rows.map(({ n }) => n)), [1])
})

await test('references stand in the filters of an aggregate', async (t, { operate }) => {
  const { json } = await operate([
    { table: 'sales', verb: 'insert', data: { id: 5, n: 7 }, returning: ['n'] },
    {
      table: 'sales',
      verb: 'select',
      aggregates: {
        n: { $count: '*', filters: { n: { $ref: '/0/rows/0/n' }, $or: [{ id: { $in: [{ $ref: '/0/id' }] } }] } }
      }
    }
  ])
  t.same(json.data?.results[1].rows, [{ n: 1 }], JSON.stringify(json))
})
