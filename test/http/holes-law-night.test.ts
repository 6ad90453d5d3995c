// night: many random bodies
/** The law of plans with holes over HTTP, with many more bodies than holes-law.test.ts has. */
import t from 'tap'
import { requireSameAnswers, schema } from '../fuzz/holes-http.ts'
import { onEachEngine } from '../support/service.ts'
import '../support/seed.ts'

await onEachEngine(t, 'bodies with references and parameters answer ' +
  'as with the values', { schema }, async (t, service) => {
  const { compared, answered } = await requireSameAnswers(t, service, service.engine === 'sqlite' ? 1500 : 500)
  t.comment(`${compared} compared, ${answered} answered`)
  t.ok(answered > compared / 4)
})
