import t from 'tap'
import { Results } from '../../src/verbs/operations.ts'
import { ResponseMemory, ResponseBudget } from '../../src/response/budget.ts'

const MEGABYTE = 1_048_576
const answer = (megabytes: number): Buffer => Buffer.alloc(megabytes * MEGABYTE)

t.test('the answers to operations may be as large together as one answer, and larger ones never fit', async (t) => {
  const budget = new ResponseBudget(8 * MEGABYTE)
  const results = new Results(Infinity, budget)
  for (let each = 0; each < 3; each++) results.add(answer(2))
  t.throws(() => results.add(answer(2)), { code: 'RESULT_TOO_LARGE', message: /larger than 6291456 bytes/ })
  t.throws(() => results.add('{}'), { code: 'RESULT_TOO_LARGE' }, 'nor does a small one')
  results.drop()
  t.ok(new ResponseMemory(budget).extend(6 * MEGABYTE, 6 * MEGABYTE), 'the memory is released')
})

t.test('the answer that is being made counts with those before it', async (t) => {
  const budget = new ResponseBudget(8 * MEGABYTE)
  const results = new Results(Infinity, budget)
  results.add(answer(3))
  t.match({ ...results.budget }, { largest: 3 * MEGABYTE, before: 3 * MEGABYTE })
  const memory = new ResponseMemory(results.budget)
  t.ok(memory.extend(3 * MEGABYTE, 3 * MEGABYTE))
  memory.release()
  // another request holds what would be free
  t.ok(new ResponseMemory(budget).extend(MEGABYTE, MEGABYTE))
  t.throws(() => results.add(answer(3)), { code: 'OVERLOADED' }, 'it may fit later')
})
