import t from 'tap'
import { badBodies, type BadBody } from '../support/bad-bodies.ts'
import { badValuesByTable, EVERYTHING, shopAndOdd as schema } from '../support/bad-values.ts'
import { dump, isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Service } from '../support/service.ts'
import type { Test } from 'tap'

/** Sends each body and checks the answer, the statements and every row of the database. */
async function refuseAll (t: Test, { post, statements, sql }: Service, table: string, bodies: readonly BadBody[]): Promise<void> {
  const before = await dump(sql, EVERYTHING)
  statements()
  for (const { why, body, status, code, path } of bodies) {
    const answer = await post(table, body)
    isRefusal(t, answer, { status, code, why })
    const after = { path: answer.json.error.details[0]?.path, statements: statements(), rows: await dump(sql, EVERYTHING) }
    t.same(after, { path, statements: [], rows: before }, `${why}: it says where, nothing was asked of the database and no row changed`)
  }
}

await onEachEngine(t, 'a body that does not have the form of a request is rejected and changes nothing', { schema }, async (t, service) => {
  await refuseAll(t, service, 'customers', badBodies)
})

await onEachEngine(t, 'a body that does not fit its table is rejected and changes nothing', { schema }, async (t, service) => {
  for (const [table, bodies] of badValuesByTable) await refuseAll(t, service, table, bodies)
})

await onEachEngine(t, 'the message names the field or column as the client wrote it', { schema }, async (t, { post }) => {
  const messages: Array<[body: unknown, message: string]> = [
    [{ verb: 'select', 'a/b~1': 1 }, '"a/b~1" is not allowed with select'],
    [{ verb: 'insert', data: {}, filters: {} }, '"filters" is not allowed with insert'],
    [{ verb: 'update', filters: { id: 1 } }, '"data" is required to update'],
    [{ verb: 'delete' }, 'delete requires "filters" that restrict the affected rows'],
    [{ verb: 'select', columns: ['%s/~1'] }, 'Column "%s/~1" does not exist in table "customers"'],
    [{ verb: 'select', filters: { name: 0 } }, 'Column "name": expected a string'],
    [{ verb: 'select', orderBy: 'id; drop' }, '"orderBy" must contain terms of the form "<column> [ASC|DESC]" separated by commas, not "id; drop"']
  ]
  for (const [body, message] of messages) t.equal((await post('customers', body)).json.error.message, message)
})
