// night: many random cases
/**
 * The law of pages: joined, they are the table in the database's own order, whatever the types, keys, orders and NULLs.
 */
import t from 'tap'
import { createRandom, pick, type Random } from '../support/random.ts'
import { randomTable, type RandomTable } from '../support/random-tables.ts'
import { seed } from '../support/seed.ts'
import { type EngineName, type Service, sharedOnEachEngine } from '../support/service.ts'

const TABLES = 16
const ROWS = 18

const tablesOf = (engine: EngineName): RandomTable[] => {
  const random = createRandom(seed)
  return Array.from({ length: TABLES }, (_, index) => randomTable(engine, random, `t${index}`))
}

const randomRow = (random: Random, { columns }: RandomTable): string =>
  `{${columns.map(({ name, nullable, pool }) =>
    `"${name}":${nullable && random(4) === 0 ? 'null' : pick(random, pool)}`).join()}}`

interface Term { readonly name: string, readonly direction: string }

function randomOrder (random: Random, { columns }: RandomTable): Term[] {
  const names = new Set(Array.from({ length: random(4) }, () => pick(random, columns).name))
  return Array.from(names, (name) => ({ name, direction: pick(random, ['ASC', 'DESC']) }))
}

const toOrderBy = (order: readonly Term[]): string =>
  order.map(({ name, direction }) => `${name} ${direction}`).join(', ')

/** Rows as JSON texts, so that no digit is lost. */
function splitAnswer (text: string): { rows: string[], next: string } {
  const parsed = JSON.parse(text, (_key, value: unknown, { source }: { source?: string }) => typeof value === 'number'
    ? JSON.rawJSON(source as string)
    : value) as { success: boolean, data: { rows: unknown[], next?: unknown } }
  if (parsed.success !== true) throw new Error(text)
  return { rows: parsed.data.rows.map((row) => JSON.stringify(row)), next: JSON.stringify(parsed.data.next ?? null) }
}

interface Reading { readonly table: string, readonly orderBy: string, readonly limit: number, readonly extra?: string }

async function readAll (
  { post }: Service, { table, orderBy, limit, extra = '' }: Reading, between: () => Promise<void> = async () => {}
): Promise<string[]> {
  const rows: string[] = []
  for (let after = 'null', pages = 0; ; pages++) {
    const { text } = await post(
      table,
      `{"verb":"select","limit":${limit},"after":${after}${orderBy === '' ? '' : `,"orderBy":"${orderBy}"`}${extra}}`
    )
    const { rows: page, next } = splitAnswer(text)
    rows.push(...page)
    if (next === 'null') return rows
    if (pages > 200) throw new Error(`no end after ${next}`)
    after = next
    await between()
  }
}

const test = sharedOnEachEngine(t, { schema: (engine) => tablesOf(engine).flatMap(({ sql }) => sql.split(';\n')) })

await test('pages joined are the table in the order of the database', async (t, service) => {
  const { post, engine } = service
  const random = createRandom(seed + 1)
  const wrong: object[] = []
  let stored = 0
  for (const table of tablesOf(engine)) {
    for (let row = 0; row < ROWS; row++) {
      const { status, text } = await post(table.name, `{"verb":"insert","data":${randomRow(random, table)}}`)
      if (status !== 200 && status !== 409) throw new Error(`${text} ${table.sql}`)
      stored += Number(status === 200)
    }
    for (let round = 0; round < 3; round++) {
      const order = randomOrder(random, table)
      const direction = order.at(-1)?.direction ?? 'ASC'
      const whole = [
        ...order,
        ...table.key.filter((name) => !order.some((term) => term.name === name)).map((name) => ({ name, direction }))
      ]
      const reading: Reading = { table: table.name, orderBy: toOrderBy(order), limit: 1 + random(6) }
      const expected = splitAnswer(
        (await post(table.name, { verb: 'select', orderBy: toOrderBy(whole), limit: 1000 })).text
      ).rows
      const actual = await readAll(service, reading).catch((error: Error) => [error.message])
      if (actual.join() !== expected.join()) wrong.push({ sql: table.sql, reading, expected, actual })
    }
  }
  t.ok(stored > TABLES * ROWS / 3, `${stored} rows`)
  t.same(wrong.slice(0, 2), [], `seed ${seed}`)
})

await test('rows that are there all the time come once, whatever is inserted and ' +
  'deleted meanwhile', async (t, service) => {
  const { post, engine } = service
  const random = createRandom(seed + 2)
  const wrong: object[] = []
  for (const table of tablesOf(engine).slice(0, TABLES / 2)) {
    const selectAll = async (orderBy: string): Promise<string[]> => splitAnswer(
      (await post(table.name, `{"verb":"select","limit":1000${orderBy === '' ? '' : `,"orderBy":"${orderBy}"`}}`)).text
    ).rows
    const insert = (): Promise<unknown> => post(table.name, `{"verb":"insert","data":${randomRow(random, table)}}`)
    for (let row = 0; row < ROWS; row++) await insert()
    const order = randomOrder(random, table)
    const staying = new Set((await selectAll('')).filter(() => random(2) === 0))
    const actual = await readAll(service, {
      table: table.name,
      orderBy: toOrderBy(order),
      limit: 1 + random(3)
    }, async () => {
      await insert()
      const leaving = (await selectAll('')).filter((row) => !staying.has(row))
      if (leaving.length > 0) await post(table.name, `{"verb":"delete","filters":{"$is":${pick(random, leaving)}}}`)
    })
    const direction = order.at(-1)?.direction ?? 'ASC'
    const whole = [
      ...order,
      ...table.key.filter((name) => !order.some((term) => term.name === name)).map((name) => ({ name, direction }))
    ]
    const expected = (await selectAll(toOrderBy(whole))).filter((row) => staying.has(row))
    if (actual.filter((row) => staying.has(row)).join() !== expected.join()) {
      wrong.push({ sql: table.sql, order, expected, actual })
    }
  }
  t.same(wrong.slice(0, 2), [], `seed ${seed}`)
})
