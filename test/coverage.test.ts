import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { coverageProblems, FLOOR, UNMEASURED } from './coverage.ts'
import { ROOT } from './support/markdown.ts'

const summary = (lines: number, branches: number, functions: number) => ({ lines: { pct: lines }, branches: { pct: branches }, functions: { pct: functions } })

t.test('coverage below a floor is reported with the floor', async (t) => {
  t.same(coverageProblems(summary(100, 100, 100)), [])
  t.same(coverageProblems(summary(FLOOR.lines, FLOOR.branches, FLOOR.functions)), [])
  t.same(coverageProblems(summary(90, 90.5, 100)), [`90 % of the lines are covered, of at least ${FLOOR.lines} %`, `90.5 % of the branches are covered, of at least ${FLOOR.branches} %`])
})

t.test('files that are not measured exist, so that none is left out of both runs', async (t) => {
  t.same(UNMEASURED.filter((file) => !existsSync(join(ROOT, file))), [])
  t.equal(new Set(UNMEASURED).size, UNMEASURED.length)
})
