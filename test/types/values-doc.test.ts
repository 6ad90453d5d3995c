/** Checks every row of the tables in docs/values.md: inserts the value and compares the result of a select. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { onEachEngine, type EngineName } from '../support/service.ts'

interface Example { declaration: string, input: string, output: string, only: EngineName | undefined }

const [mysql = [], sqlite = []] = readFileSync(new URL('../../docs/values.md', import.meta.url), 'utf8').split(
  '\n## SQLite'
).map((part) =>
  Array.from(part.matchAll(
    /^\| `([^|]*)`(?: \((\w+)\))? \| `([^|]*)` \| `([^|]*)` \|/gm
  ), ([, declaration, engine, input, output]) =>
    ({ declaration, input, output, only: engine?.toLowerCase() }) as Example))

const on = (engine: EngineName): Example[] =>
  engine === 'sqlite' ? sqlite : mysql.filter(({ only }) => only === undefined || only === engine)
const exact = (text: string): unknown => JSON.parse(text, (_key, value: unknown, { source }: { source?: string }) =>
  typeof value === 'number' ? `number ${source}` : value)

await onEachEngine(t, 'the examples in docs/values.md are true', {
  schema: (engine) =>
    [`create table examples (id integer not null primary key,
      ${on(engine).map(({ declaration }, index) => `c${index} ${declaration} null`).join(', ')})`]
}, async (t, { engine, post }) => {
  const examples = on(engine)
  t.ok(examples.length > 8, `${examples.length} examples`)
  const data = examples.map(({ input }, index) => `"c${index}":${input}`).join(',')
  t.match((await post('examples', `{"verb":"insert","data":{"id":1,${data}}}`)).json, { success: true })
  const { text } = await post('examples', { verb: 'select' })
  const [row] = (exact(text) as { data: { rows: Array<Record<string, unknown>> } }).data.rows
  for (const [index, { declaration, output }] of examples.entries()) {
    t.same(row?.[`c${index}`], exact(output), declaration)
  }
})
