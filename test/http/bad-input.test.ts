import t from 'tap'
import { badBodies, type BadBody } from '../support/bad-bodies.ts'
import { badValuesByTable, EVERYTHING, shopAndOdd as schema } from '../support/bad-values.ts'
import { dump, isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Service, sharedOnEachEngine } from '../support/service.ts'
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

const test = sharedOnEachEngine(t, { schema })

await test('a body that does not have the form of a request is rejected and changes nothing', async (t, service) => {
  await refuseAll(t, service, 'customers', badBodies)
})

await test('a body that does not fit its table is rejected and changes nothing', async (t, service) => {
  for (const [table, bodies] of badValuesByTable) await refuseAll(t, service, table, bodies)
})

await onEachEngine(t, 'the message names the field or column as the client wrote it', { schema }, async (t, { post }) => {
  const messages: Array<[body: unknown, message: string]> = [
    [{ verb: 'select', 'a/b~1': 1 }, '"a/b~1" is not allowed with select; the fields of select are verb, filters, columns, limit, orderBy, groupBy, aggregates, having, after, offset, total, expect, include'],
    [{ verb: 'insert', data: {}, filters: {} }, '"filters" is not allowed with insert; it is a field of select, update, delete'],
    [{ verb: 'update', data: { name: 'x' }, filters: { id: 1 }, offset: 1 }, '"offset" is not allowed with update; it is a field of select'],
    [{ verb: 'select', constructor: 1 }, '"constructor" is not allowed with select; the fields of select are verb, filters, columns, limit, orderBy, groupBy, aggregates, having, after, offset, total, expect, include'],
    [{ verb: 'select', limit: null }, '"limit" must be a whole number; leave it out instead of sending null'],
    [{ verb: 'insert', data: {}, onConflict: null }, '"onConflict" must be an object with "key", a list of column names without repeats, and optionally "set", such a list or an object of column values; leave it out instead of sending null'],
    [{ verb: 'delete', filters: null }, '"filters" must be an object of filters'],
    [{ verb: 'select', filters: { id: { eq: 1 } } }, 'Column "id": operators begin with $: write "$eq" instead of "eq"'],
    [{ verb: 'delete', filters: { $not: { name: { x: 1, startsWith: 'A' } } } }, 'Column "name": operators begin with $: write "$startsWith" instead of "startsWith"'],
    [{ verb: 'select', filters: { name: { constructor: 1 } } }, 'Column "name": expected a string'],
    [{ verb: 'update', filters: { id: 1 } }, '"data" is required to update'],
    [{ verb: 'delete' }, 'delete requires "filters" that restrict the affected rows'],
    [{ verb: 'select', columns: ['%s/~1'] }, 'Column "%s/~1" does not exist in table "customers"'],
    [{ verb: 'select', filters: { name: 0 } }, 'Column "name": expected a string'],
    [{ verb: 'select', orderBy: 'id; drop' }, '"orderBy" must contain terms of the form "<column> [ASC|DESC]" separated by commas, not "id; drop"']
  ]
  for (const [body, message] of messages) t.equal((await post('customers', body)).json.error.message, message)
})
