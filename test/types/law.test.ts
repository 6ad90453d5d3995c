// night: many random cases
/** The round-trip law: a value that select returns is accepted by data and filters, with the same meaning. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { engines } from '../servers/engines.ts'
import { seed } from '../support/seed.ts'
import { onEachEngine, type EngineName, type Service } from '../support/service.ts'
import { quoted } from '../support/quoted.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from '../support/typed-columns.ts'

const ROWS = 220
/**
 * Rows that one select looks for, each by its id and one of its values: two of the 256 conditions that filters may
 * have.
 */
const BATCH = 110

/** Parses JSON with numbers as text, independently of the service's parser. */
const parse = (text: string): any => JSON.parse(text, (_key: string, value: unknown, { source }: { source?: string }) =>
  typeof value === 'number' ? JSON.rawJSON(source as string) : value)

function columnsFor (engine: EngineName, group: readonly TypedColumn[]): TypedColumn[] {
  return group.filter(({ only }) => only === undefined || only === engine)
}

/** The stored value as the database shows it, without the service. */
function storedBytes (engine: EngineName, { bytes }: TypedColumn, name: string): string {
  if (engine === 'sqlite') {
    const text = `case typeof(${name}) when 'real' then printf('%!.20e', ${name}) else hex(${name}) end`
    return `typeof(${name}) || ${text}`
  }
  return bytes === undefined ? `hex(${name})` : bytes(name)
}

async function hold (t: Test, service: Service, columns: readonly TypedColumn[]): Promise<void> {
  const { post, sql, engine } = service
  const names = columns.map((_column, index) => `c${index}`)
  const samples = columns.map(({ values }, index) => fc.sample(fc.option(values, { freq: 20, nil: 'null' }), {
    numRuns: ROWS, seed: seed + index
  }))

  for (let row = 0; row < ROWS; row++) {
    const data = names.map(
      (name, index) => `"${name}":${JSON.stringify(quoted(parse(samples[index]?.[row] as string)))}`
    )
    const { status, text } = await post('one', `{"verb":"insert","data":{"id":${row + 1},${data.join(',')}}}`)
    if (status !== 200) { t.fail(`insert refused: ${text}`, { data, seed }); return }
  }
  const { text } = await post('one', { verb: 'select', orderBy: 'id', limit: 1000 })
  const { rows } = parse(text).data
  t.equal(rows.length, ROWS)

  for (const row of rows) {
    const again = await post('two', JSON.stringify({
      verb: 'insert', data: Object.fromEntries(Object.entries(row).map(([name, value]) => [name, quoted(value)]))
    }))
    if (again.status !== 200) {
      t.fail(`what was selected is not accepted by data: ${again.text}`, { row: JSON.stringify(row), seed })
      return
    }
  }
  const list = names.map((name, index) => `${storedBytes(engine, columns[index] as TypedColumn, name)} as ${name}`)
    .join(', ')
  const [one, two] = [
    await sql(`select id, ${list} from one order by id`), await sql(`select id, ${list} from two order by id`)
  ]
  t.same(two, one, 'the same bytes are stored')

  const changed = []
  for (const row of rows) {
    const found = await post('one', JSON.stringify({ verb: 'select', columns: ['id'], filters: { $is: row } }))
    if (found.text !== `{"success":true,"data":{"rows":[{"id":${row.id.rawJSON}}],"count":1}}`) {
      changed.push({ row: JSON.stringify(row), answer: found.text })
    }
  }
  t.same(changed, [], `a row that was selected, sent back under $is, is found (seed ${seed})`)

  for (const [index, name] of names.entries()) {
    const found = new Set<number>()
    for (let from = 0; from < rows.length; from += BATCH) {
      const $or = rows.slice(from, from + BATCH).map((row: any) => ({ id: row.id, [name]: quoted(row[name]) }))
      const { status, text, json } = await post(
        'one', JSON.stringify({ verb: 'select', columns: ['id'], filters: { $or }, limit: BATCH })
      )
      if (status !== 200) {
        t.fail(`a selected ${columns[index]?.declaration} is not accepted by filters: ${text}`, { seed })
        return
      }
      for (const { id } of json.data.rows) found.add(id)
    }
    t.same(
      rows.filter(({ id }: any) => !found.has(Number(id.rawJSON))).map((row: any) => JSON.stringify(row[name])), [],
      `a filter made of a selected ${columns[index]?.declaration} finds its row (seed ${seed})`
    )
  }
}

for (const [name, group] of [...Object.entries(mysqlGroups), ...Object.entries(sqliteGroups)]) {
  const wanted = Object.hasOwn(sqliteGroups, name) ? ['sqlite'] : (await engines()).map((engine) => engine.name)
  const schemaFor = (engine: EngineName): string[] => {
    const columns = columnsFor(engine, group).map(
      ({ declaration }, index) => `c${index} ${declaration}${engine === 'sqlite' ? '' : ' null'}`
    )
    return columns.length === 0
      ? []
      : ['one', 'two'].map((table) => `create table ${table} (id integer not null primary key, ${columns.join(', ')})`)
  }
  await onEachEngine(t, `the law holds for ${name}`, {
    only: wanted as EngineName[], schema: schemaFor
  }, async (t, service) => {
    const columns = columnsFor(service.engine, group)
    if (columns.length === 0) { t.pass(`${service.engine} has none of these types`); return }
    await hold(t, service, columns)
  })
}
