/** What `npm run cost` makes of its figures. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { type Cost, type Costs, costSection, costTable, findExcesses, renewLines } from '../../bench/cost/costs.ts'
import { IN_PROCESS, REQUESTS } from '../../bench/cost/requests.ts'
import { replaceSection } from '../../bench/report/sections.ts'

const before = { select: { ours: 400, packages: 200, node: 800, bytes: 30_000 } }

t.test('a request that makes 2 % more calls, of ours or in all, or takes 5 % more bytes ' +
  'exceeds its figures', async (t) => {
  const excesses = (more: Partial<typeof before.select>) => findExcesses(before, {
    select: { ...before.select, ...more }
  })
  t.same(excesses({ ours: 408, bytes: 31_500 }), [])
  t.same(excesses({ ours: 409 }), ['select: 409 calls of ours, 400 before'])
  t.same(excesses({ packages: 229 }), ['select: 1429 calls in all, 1400 before'])
  t.same(excesses({ bytes: 31_501 }), ['select: 31501 bytes, 30000 before'])
  t.same(excesses({ ours: 100, packages: 100, node: 100, bytes: 100 }), [])
  t.same(findExcesses(before, { insert: before.select }), [], 'a request without figures has nothing to exceed')
})

t.test('a request that is not steady keeps the line that it has, and one that is gone loses it', async (t) => {
  const [old, now] = [before.select, { ...before.select, ours: 390 }]
  t.same(renewLines(['select', 'insert', 'new'], { select: old, insert: old, gone: old }, { select: now }), {
    select: now, insert: old
  })
})

t.test('the table says by how much a figure differs', async (t) => {
  t.match(costTable({ select: { ...before.select, ours: 404 } }, before), / 404 \(\+1 %\) \|/)
  t.notOk(costTable(before).includes('%'))
})

const costs: Costs = JSON.parse(readFileSync(new URL('../../bench/costs.json', import.meta.url), 'utf8'))

t.test('a named select by key costs less than the same body, in calls and in bytes', async (t) => {
  const [named, body] = ['named select by key', 'select by key'].map((name) => costs.requests[name] as Cost)
  const callsOf = ({ ours, packages, node }: Cost): number => ours + packages + node
  t.ok(callsOf(named as Cost) < callsOf(body as Cost))
  t.ok((named as Cost).bytes < (body as Cost).bytes)
})

t.test('docs/benchmarks.md has the figures of bench/costs.json: npm run cost -- --write', async (t) => {
  const document = readFileSync(new URL('../../docs/benchmarks.md', import.meta.url), 'utf8')
  t.equal(replaceSection(document, costSection(costs), 'costs'), document)
  t.ok(Object.keys(costs.requests).every((name) => name in REQUESTS || name in IN_PROCESS))
})
