import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { onEachEngine } from '../support/service.ts'
import { campaign, seed } from './campaign.ts'
import { applyAll, operationLists, schema as cells, type Row, type Rows } from './operations.ts'

const schema = {
  sqlite: [...cells.sqlite, CREATE.sqlite.split(';')[0] as string], mysql: [...cells.mysql, CREATE.mysql]
}

const requests = fc.array(fc.record({
  operations: operationLists,
  dryRun: fc.constantFrom(false, false, false, true),
  hasKey: fc.constantFrom(false, false, true),
  isolation: fc.constantFrom('repeatableRead', 'serializable')
}), { minLength: 1, maxLength: 40, size: 'max' })

t.comment(`FUZZ_SEED=${seed}`)
await onEachEngine(t, 'several operations do what the ' +
  'model says, or nothing', { schema }, async (t, { engine, operate, sql }) => {
  let sent = 0
  const property = fc.asyncProperty(requests, async (all) => {
    await sql('delete from cells')
    let rows: Rows = new Map()
    for (const { operations, dryRun, hasKey, isolation } of all) {
      sent++
      const body = { operations, isolation, ...dryRun && { dryRun } }
      const options = hasKey && !dryRun ? { headers: { 'idempotency-key': randomUUID() } } : {}
      const model = applyAll(rows, operations)
      const answer = await operate(body, options)
      const told = JSON.stringify({ body, rows: [...rows.values()], answer: answer.json, model: model?.results })
      if (answer.status >= 500) throw new Error(`a failure: ${told}`)
      if ((answer.status === 200) !== (model !== undefined)) throw new Error(`the model differs: ${told}`)
      if (model !== undefined) {
        if (JSON.stringify(answer.json.data.results) !== JSON.stringify(model.results)) {
          throw new Error(
            `the results differ: ${told}`
          )
        }
        if (!dryRun) rows = model.rows
        const replayed = hasKey && !dryRun ? await operate(body, options) : answer
        if (replayed.text !== answer.text) throw new Error(`replayed differently: ${told}`)
      } else if (!answer.json.error.details.every(({ path }: { path: string }) =>
        path.startsWith('/operations/'))) throw new Error(`no operation: ${told}`)
      const stored = (await sql('select id, n from cells order by id')).map(
        ({ id, n }) => ({ id: Number(id), n: n === null ? null : Number(n) })
      )
      const known = [...rows.values()].toSorted((a: Row, b: Row) => a.id - b.id).map(({ id, n }) => ({ id, n }))
      if (JSON.stringify(stored) !== JSON.stringify(known)) {
        throw new Error(
          `the rows differ: ${JSON.stringify(stored)} ${told}`
        )
      }
    }
  })
  await campaign(t, { name: engine, share: 1 / 3, property, sent: () => sent })
})
