// night: many grants and tables
/** Groups of columns of every type: each row is in one of them, and a row that was returned, sent back under $is, finds its group. */
import fc from 'fast-check'
import t from 'tap'
import { parseExactJson } from '../../src/json/exact-json.ts'
import { engines } from '../servers/engines.ts'
import { quoted } from '../support/quoted.ts'
import { seed } from '../support/seed.ts'
import { onEachEngine, type EngineName } from '../support/service.ts'
import { mysqlGroups, sqliteGroups, type TypedColumn } from '../support/typed-columns.ts'

const ROWS = 60
/** Filters of an aggregate that every row passes. */
const every = { id: { $gte: 0 } }

const columnsFor = (engine: EngineName, group: readonly TypedColumn[]): TypedColumn[] => group.filter(({ only, declaration }) => (only === undefined || only === engine) && !/json|geometry|point|vector/.test(declaration))

for (const [name, group] of [...Object.entries(mysqlGroups), ...Object.entries(sqliteGroups)]) {
  const only = Object.hasOwn(sqliteGroups, name) ? ['sqlite'] : (await engines()).filter((engine) => columnsFor(engine.name as EngineName, group).length > 0).map((engine) => engine.name)
  const schema = (engine: EngineName): string[] =>
    [`create table every (id integer not null primary key, ${columnsFor(engine, group).map(({ declaration }, index) => `c${index} ${declaration}${engine === 'sqlite' ? '' : ' null'}`).join(', ')})`]

  await onEachEngine(t, `groups of ${name}`, { only: only as EngineName[], schema }, async (t, { post, engine }) => {
    const columns = columnsFor(engine, group)
    // few values, so that groups have several rows
    const samples = columns.map(({ values }, index) => fc.sample(fc.option(fc.constantFrom(...fc.sample(values, { numRuns: 20, seed: seed + index })), { freq: 8, nil: 'null' }), { numRuns: ROWS, seed: seed + index }))
    for (let row = 0; row < ROWS; row++) {
      const data = samples.map((texts, index) => `"c${index}":${JSON.stringify(quoted(parseExactJson(texts[row] as string)))}`)
      t.match(await post('every', `{"verb":"insert","data":{"id":${row},${data.join()}}}`), { status: 200 })
    }
    for (const [index, { declaration }] of columns.entries()) {
      const column = `c${index}`
      const isRanked = !/^(enum|set|bit)/.test(declaration)
      const aggregates = { n: { $count: '*' }, filled: { $count: column }, different: { $countDistinct: column }, ...(isRanked && { least: { $min: column }, greatest: { $max: column, filters: every }, most: { $max: column } }), filtered: { $countDistinct: column, filters: every } }
      const { status, json, text } = await post('every', { verb: 'select', groupBy: [column], aggregates, orderBy: [{ [column]: 'ASC' }] })
      t.equal(status, 200, `${declaration}: ${text}`)
      const groups = json.data.rows as Array<Record<string, number | null>>
      t.equal(groups.reduce((sum, { n }) => sum + (n as number), 0), ROWS, `${declaration}: each row is in one group (seed ${seed})`)
      t.same(groups.filter((row) => row['filled'] !== (row[column] === null ? 0 : row['n']) || row['different'] !== Number(row[column] !== null) || row['filtered'] !== row['different'] || JSON.stringify(row['greatest']) !== JSON.stringify(row['most'])), [], `${declaration}: a group has one value (seed ${seed})`)
      const lost = []
      // as it was sent, with every digit of its numbers
      for (const row of text.slice('{"success":true,"data":{"rows":['.length).matchAll(/\{"c\d+":(?:"(?:[^"\\]|\\.)*"|[^{}"])*(?:"(?:[^"\\]|\\.)*"|[^{}"])*\}/g)) {
        const found = await post('every', `{"verb":"select","groupBy":["${column}"],"aggregates":${JSON.stringify(aggregates)},"having":{"$is":${row[0]}}}`)
        if (found.json.data?.count !== 1) lost.push({ row: row[0], answer: found.text })
      }
      t.same(lost, [], `${declaration}: a group that was returned is found (seed ${seed})`)
    }
  })
}
