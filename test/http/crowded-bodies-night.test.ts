// night: measures CPU
/** What a refused body of many keys costs, against `JSON.parse` of its text, whatever the way that it came. */
import t, { type Test } from 'tap'
import { VERBS } from '../../schemas/grants.ts'
import { openEntrances } from '../support/entrances.ts'
import { sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const LENGTH = 1_000_000
const ROUNDS = 9
/**
 * How often both are measured while the ratio is too high: other programs and collections of garbage come in between.
 */
const ATTEMPTS = 3

/** Repeats the text of an entry until the body has its length. `wrap`: around the entries. */
function fill (wrap: (entries: string) => string, entry: (index: number) => string): string {
  const entries: string[] = []
  for (let length = 0, index = 0; length < LENGTH; index++) {
    const text = entry(index)
    entries.push(text)
    length += text.length + 1
  }
  return wrap(entries.join())
}

const keyed = (value: string) => (index: number): string => `"k${index}":${value}`

const bodies: Record<string, string> = {
  filters: fill((entries) => `{"verb":"select","filters":{${entries}}}`, keyed('1')),
  operators: fill((entries) => `{"verb":"select","filters":{"id":{${entries}}}}`, (index) => `"$k${index}":1`),
  $and: fill((entries) => `{"verb":"select","filters":{"$and":[${entries}]}}`, () => '{"id":1}'),
  $some: fill((entries) => `{"verb":"select","filters":{"$some":{${entries}}}}`, keyed('{}')),
  include: fill((entries) => `{"verb":"select","include":{${entries}}}`, keyed('{}')),
  aggregates: fill((entries) => `{"verb":"select","aggregates":{${entries}}}`, keyed('{"$count":"*"}')),
  orderBy: fill((entries) => `{"verb":"select","orderBy":[${entries}]}`, () => '{"id":"ASC"}'),
  after: fill((entries) => `{"verb":"select","after":{${entries}}}`, keyed('1')),
  'unknown fields': fill((entries) => `{"verb":"select",${entries}}`, keyed('1')),
  data: fill((entries) => `{"verb":"insert","data":{${entries}}}`, keyed('1')),
  'data of a row of a list': fill((entries) => `{"verb":"insert","data":[{${entries}}]}`, keyed('1')),
  'data of an update': fill((entries) => `{"verb":"update","filters":{"id":1},"data":{${entries}}}`, keyed('1'))
}

/**
 * The most that a body may cost, in times of `JSON.parse`. That reads a list of equal small objects four times as fast
 * as an object of as many keys, while receiving, checking and copying it cost the same.
 */
const most = (name: string): number => name === '$and' || name === 'orderBy' ? 3.5 : 2.2

/** CPU of the process, in milliseconds: the least of some runs, because other programs only add to it. */
async function cpuOf (run: () => unknown): Promise<number> {
  await run() // V8 has not compiled it yet
  let least = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    await run()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}

const test = sharedOnEachEngine(t, {
  schema: shop, only: ['sqlite'], options: { mcp: { verbs: [...VERBS] }, bodyLimit: 2 * LENGTH }
})

await test('a refused body of many keys costs about twice what JSON.parse of its ' +
  'text costs, at most', async (t, service) => {
  const entrancesOf = await openEntrances(t as Test, service)
  for (const [name, text] of Object.entries(bodies)) {
    for (const [entrance, run] of Object.entries(entrancesOf(JSON.parse(text)))) {
      let ratio = Infinity
      for (let attempt = 0; attempt < ATTEMPTS && ratio >= most(name); attempt++) {
        ratio = Math.min(ratio, await cpuOf(run) / await cpuOf(() => JSON.parse(text)))
      }
      t.comment(`${name}, ${entrance}: ${ratio.toFixed(2)} of JSON.parse`)
      t.ok(ratio < most(name), `${name}, ${entrance}: ${ratio.toFixed(2)}`)
    }
  }
})
