/** The rows of a page as bytes of MySQL's text protocol, with cells of every length. */
import t from 'tap'
import { copyValues, skipValues } from '../../src/dialects/packets.ts'
import { UNLIMITED } from '../../src/response/budget.ts'
import { createStreamRows } from '../../src/response/csv-ndjson-rows.ts'
import { type ResponseSink, RowCounter } from '../../src/response/response-sink.ts'
import { RowStream } from '../../src/response/row-stream.ts'
import type { SelectBody } from '../../schemas/body.ts'
import type { SelectPlan } from '../../src/plan/plan.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { createSink } from '../../src/verbs/execute.ts'
import { planSelect, planStream } from '../../src/verbs/select.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

function cell (value: Buffer | null): Buffer {
  if (value === null) return Buffer.from([0xfb])
  const { length } = value
  if (length < 0xfb) return Buffer.concat([Buffer.from([length]), value])
  const head = Buffer.alloc(length < 0x10000 ? 3 : length < 0x1000000 ? 4 : 9)
  head[0] = head.length === 3 ? 0xfc : head.length === 4 ? 0xfd : 0xfe
  head.writeUIntLE(length, 1, head.length === 9 ? 6 : head.length - 1)
  return Buffer.concat([head, value])
}

const rowOf = (...values: Array<string | null>): Buffer =>
  Buffer.concat(values.map((value) => cell(value === null ? null : Buffer.from(value))))

t.test('cells of every length are found and copied', async (t) => {
  const values = [0, 1, 250, 251, 0xffff, 0x10000, 0xffffff, 0x1000000].map((length) => Buffer.alloc(length, 'x'))
  const parts = [...values.map(cell), cell(null), cell(Buffer.from('end'))]
  const row = Buffer.concat([Buffer.from('before'), ...parts])
  let at = 'before'.length
  for (const [index, part] of parts.entries()) {
    t.equal(skipValues(row, 'before'.length, index), at)
    at += part.length
  }
  const copies = copyValues(row, 'before'.length, row.length, parts.length)
  t.ok([...values, null, Buffer.from('end')].every(
    (value, index) => value === null ? copies[index] === null : copies[index]?.equals(value) === true
  ))
  row.fill(0)
  t.equal(copies.at(-1)?.toString(), 'end', 'the driver may use its bytes again')
})

const table = tableOf({
  columns: [
    mysqlColumn('id', 'bigint', { nullable: false }), mysqlColumn('name', 'varchar(20)'), mysqlColumn('note', 'text')
  ],
  primaryKey: ['id']
})

function sinkOf (body: Omit<SelectBody, 'verb'>) {
  const plan: SelectPlan = planSelect({ verb: 'select', ...body }, alone(table), LIMITS)
  const sink = createSink(plan, UNLIMITED, 10_000) as ResponseSink
  return { sink, columns: [...plan.columns, ...plan.page?.by === 'position' ? plan.page.orderOnly : []] }
}

function take (body: Omit<SelectBody, 'verb'>, bytes: Buffer, end: number): void {
  const { sink, columns } = sinkOf(body)
  sink.begin(columns)
  sink.textRow(bytes, 0, end, columns.length)
}

function read (body: Omit<SelectBody, 'verb'>, rows: Buffer[], attempts = 1): string {
  const { sink, columns } = sinkOf(body)
  for (let attempt = 0; attempt < attempts; attempt++) {
    sink.begin(columns)
    for (const row of rows) sink.textRow(row, 0, row.length, columns.length)
  }
  return String(sink.finish(sink.next()))
}

t.test('a row whose values do not end with it is an error, however it is written', async (t) => {
  const row = rowOf('the note', '7', null)
  const written: Record<string, (bytes: Buffer, end: number) => void> = {
    'of a select': (bytes, end) => take({ columns: ['note', 'id', 'name'] }, bytes, end),
    'with values of the position behind it': (bytes, end) =>
      take({ columns: ['note'], orderBy: 'id, name', limit: 5, after: null }, bytes, end),
    'as the last one of a page': (bytes, end) =>
      take({ columns: ['note'], orderBy: 'id, name', limit: 1, after: null }, bytes, end),
    'that is counted': (bytes, end) => new RowCounter().textRow(bytes, 0, end, 3)
  }
  for (const format of ['ndjson', 'csv'] as const) {
    const plan = planStream({ verb: 'select', columns: ['note', 'id', 'name'] }, alone(table), { limits: LIMITS })
    written[format] = (bytes, end) => {
      const stream = new RowStream({ rows: createStreamRows(plan, format), maxBytes: 10_000 })
      stream.begin(plan.columns)
      try {
        stream.textRow(bytes, 0, end, 3)
      } finally {
        stream.drop()
      }
    }
  }
  for (const [name, write] of Object.entries(written)) {
    t.doesNotThrow(() => write(row, row.length), name)
    for (let end = 1; end < row.length; end++) {
      // the bytes behind the row are those of other packets
      t.throws(() => write(row, end), `${name}: ${end} of ${row.length} bytes`)
      t.throws(() => write(Buffer.concat([row, row]), row.length + end), `${name}: ${end} bytes more`)
    }
  }
})

t.test('the row behind a page is not in the answer, and columns of the position need not be', async (t) => {
  const rows = [rowOf('first', '1', null), rowOf('second', '2', 'b'), rowOf('x'.repeat(9000), '3', 'c')]
  const body = { columns: ['note'], orderBy: 'id, name', limit: 2, after: null }
  const page = '{"success":true,"data":{"rows":[{"note":"first"},{"note":"second"}],"count":2,'
  t.equal(read(body, rows), `${page}"next":{"id":2,"name":"b"}}}`)
  t.equal(read(body, rows, 2), `${page}"next":{"id":2,"name":"b"}}}`, 'also where the statement runs again')
  t.equal(read(body, rows.slice(0, 2)), `${page}"next":null}}`)
  t.equal(
    read({ columns: ['note'], limit: 2, offset: 5 }, [rowOf('first'), rowOf('second'), rowOf('third')]),
    `${page}"next":7}}`
  )
  t.equal(read({ columns: ['note', 'id', 'name'], orderBy: 'name', limit: 1, after: null }, [
    rowOf(null, '18446744073709551615', null), rowOf('', '0', 'a')
  ]),
  '{"success":true,"data":{"rows":[{"note":null,"id":18446744073709551615,"name":null}],"count":1,' +
    '"next":{"name":null,"id":18446744073709551615}}}')
})

t.test('a select without paging takes all rows, and has no next page', async (t) => {
  t.equal(
    read({ columns: ['note'], limit: 1 }, [rowOf('first'), rowOf('second')]),
    '{"success":true,"data":{"rows":[{"note":"first"},{"note":"second"}],"count":2}}'
  )
})
