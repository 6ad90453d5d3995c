/** Random schemas, data and filters: an update or delete changes the rows that plain SQL finds. */
import t from 'tap'
import { createDraw, drawRelated, drawTable, insertOf, KEYS, type Drawn } from '../support/related-tables.ts'
import { onEachEngine } from '../support/service.ts'

const seed = Number(process.env['TEST_SEED'] ?? 5)
let tables: Drawn[] = []

await onEachEngine(t, `updates and deletes change what plain SQL finds, seed ${seed}`, {
  schema: (engine) => {
    const draw = createDraw(seed)
    tables = Array.from({ length: KEYS.length }, (_, index) => drawTable(draw, `t${index}`, engine))
    return tables.flatMap(({ sql }) => sql)
  }
}, async (t, { post, sql }) => {
  const draw = createDraw(seed * 1000)
  const ridsOf = async (statement: string): Promise<number[]> => (await sql(`select rid from ${statement} order by rid`)).map(({ rid }) => Number(rid))
  const counts = { some: 0, none: 0, all: 0 }
  for (let run = 0; run < 60; run++) {
    const table = draw.one(tables)
    const [filters, where] = drawRelated(draw, tables.filter((each) => each !== table), { alias: table.name, levels: 3 })
    const found = await ridsOf(`${table.name} where ${where}`)
    const all = table.rows.length
    counts[found.length === 0 ? 'none' : found.length === all ? 'all' : 'some']++
    const kept = table.rows.map((row) => Number(row['rid'])).filter((rid) => !found.includes(rid))
    const isDelete = draw.chance(0.5)
    const expect = draw.one([{}, { expect: found.length }, { expect: { $lte: found.length } }])
    const returning = table.key.length > 0 && draw.chance(0.4) ? { returning: ['rid'] } : {}
    const body = { ...isDelete ? { verb: 'delete' } : { verb: 'update', data: { d: '77.00' } }, filters, ...expect, ...returning }
    const { json } = await post(table.name, body)
    // constants can be all that is left
    if (json.error?.code === 'FILTERS_REQUIRED') {
      t.equal(found.length, all, JSON.stringify(body))
      continue
    }
    t.equal(json.data?.[isDelete ? 'deleted' : 'updated'], found.length, JSON.stringify({ body, error: json.error }))
    if (json.data?.rows !== undefined) t.same(json.data.rows.map(({ rid }: { rid: number }) => rid).sort((a: number, b: number) => a - b), found, JSON.stringify(body))
    t.same(await ridsOf(isDelete ? table.name : `${table.name} where d <> 77 or d is null`), kept, JSON.stringify(body))
    for (const row of table.rows.filter((each) => found.includes(Number(each['rid'])))) {
      if (!isDelete) await sql(`delete from ${table.name} where rid = ${String(row['rid'])}`)
      await sql(insertOf(table.name, row))
    }
  }
  t.ok(counts.some > 15 && counts.none > 3, JSON.stringify(counts))
})
