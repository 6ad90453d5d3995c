/** docs/operations.md names every metric and every field of the log as they are, and no other. */
import t, { type Test } from 'tap'
import { WorkerMetrics } from '../../src/cli/workers/metrics.ts'
import { catalogue } from '../../src/errors.ts'
import { createServer } from '../../src/server/server.ts'
import { RequestRecord } from '../../src/telemetry/record.ts'
import { lineOf } from '../../src/telemetry/request-log.ts'
import { readDocument, tableRows } from '../support/markdown.ts'

const document = readDocument('docs/operations.md')
const code = (text: unknown): string => `\`${text}\``

interface Described { name: string, type: string, labelNames: readonly string[] }

/** Our metrics, as they are registered. */
async function metrics (t: Test): Promise<Described[]> {
  const { app, rows } = await createServer({ options: { databases: { shop: { url: 'mysql://nobody@127.0.0.1:1/shop' } }, metrics: true }, prefix: '/api', logLevel: 'silent' })
  t.teardown(() => app.close())
  await app.ready()
  const ofWorkers = (await new WorkerMetrics().metrics()).matchAll(/^# TYPE (\S+) (\S+)$/gm)
  return [
    ...(rows.registry.getMetricsAsArray() as unknown as Described[]).filter(({ name }) => name.startsWith('row_query_')),
    ...Array.from(ofWorkers, ([, name = '', type = '']): Described => ({ name, type, labelNames: [] }))
  ]
}

t.test('the document lists exactly the metrics, with their types and labels', async (t) => {
  const described = tableRows(document, 'metric', 'type', 'labels', 'meaning').map((cells) => cells.slice(0, 3))
  const real = (await metrics(t)).map(({ name, type, labelNames }) => [code(name), type, labelNames.map(code).join(', ')])
  t.same(described.toSorted(), real.toSorted())
})

t.test('every metric in an example or explanation exists', async (t) => {
  const known = new Set((await metrics(t)).map(({ name }) => name))
  const named = (document.match(/\brow_query_[a-z_]+/g) ?? []).map((name) => name.replace(/_bucket$/, ''))
  t.same(named.filter((name) => !known.has(name)), [])
})

t.test("every field of a request's line stands in the document, and no other does", async (t) => {
  t.same(tableRows(document, 'field', 'meaning').map(([name]) => name).toSorted(), Object.keys(lineOf(new RequestRecord(true, true))).map(code).toSorted())
})

t.test('every code of an error of the service or database is explained', async (t) => {
  const symptoms = tableRows(document, 'symptom', 'what it means', 'what to do').map(([symptom]) => symptom).join()
  const trouble = [...catalogue].filter(([, status]) => status >= 500).map(([name]) => name)
  t.same(trouble.filter((name) => !symptoms.includes(code(name))), [])
})
