// night: measures CPU time
/**
 * The time to plan a body and to look up its statement is proportional to the length of the body, whatever it contains.
 */
import t from 'tap'
import { alone } from '../../src/catalog/catalog.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { planOrder } from '../../src/plan/order.ts'
import { findFormat } from '../../src/http/stream.ts'
import { compilePlan, LIMITS, orders } from '../support/sql.ts'

const times = <T> (count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const nested = (filters: object, levels = 31): object => levels === 0 ? filters : { $not: nested(filters, levels - 1) }
const columns = ['id', 'ratio', 'total', 'name']

/**
 * The largest bodies that `bodyLimit` and the limits on filters allow; those with many branches are the most expensive.
 */
const bodies: Record<string, object> = {
  '256 comparisons of four columns': {
    $or: times(128, (index) => ({ [columns[index % 4] as string]: { $gte: value(index), $lt: value(index + 4) } }))
  },
  '256 conditions, each the opposite of another': {
    $or: times(128, (index) => [{ id: index }, { $not: { id: index } }]).flat()
  },
  '256 patterns': { $or: times(256, (index) => ({ name: { $contains: `${index}${'%'.repeat(990)}` } })) },
  '256 conditions at the deepest level': nested({ $or: times(256, (id) => ({ id })) }),
  '10,000 values': { id: times(10_000, (index) => index) }
}

/** An empty group counts as a condition. */
const refused: Record<string, object> = {
  '100,000 empty groups': { id: 1, $and: times(100_000, () => ({})) },
  '50,000 deeply nested empty groups': { id: 1, $and: [nested({ $and: times(50_000, () => ({ $or: [] })) }, 29)] }
}

/** Many times what is usual: CPU time grows too when the other core is busy. What this holds off takes seconds. */
const MAX_MILLISECONDS = 300

function value (index: number): unknown {
  return [index, index, `${index}.00`, `name ${index}`][index % 4]
}

t.test('the time to plan a body does not exceed what its length explains', async (t) => {
  for (const [name, filters] of Object.entries({ ...bodies, ...refused })) {
    const runs = times(5, () => {
      const plan = (): unknown => compilePlan(createPlan(
        { verb: 'delete', filters: filters as Record<string, unknown> }, alone(orders.mysql), LIMITS
      ), 'mysql')
      const start = process.cpuUsage()
      if (name in refused) t.throws(plan, { code: 'INVALID_BODY' })
      else plan()
      const { user, system } = process.cpuUsage(start)
      return (user + system) / 1000
    })
    const best = Math.min(...runs)
    t.comment(`${name}: ${best.toFixed(2)} ms`)
    t.ok(best < MAX_MILLISECONDS, `${name} took ${best} ms of CPU`)
  }
})

t.test('the time to parse orderBy is linear in its length', async (t) => {
  // of this process, whatever else the machine does
  const start = process.cpuUsage()
  for (const part of [' ', 'a ', ' desc', ',', '\n', 'é']) {
    t.throws(() => planOrder(`a${part.repeat(1_000_000 / part.length)}b`, { table: orders.mysql }))
  }
  t.ok(process.cpuUsage(start).user < 2_000_000)
})

t.test('no header takes long, whatever its form', async (t) => {
  const length = 8000
  for (const accept of [
    `text/csv${'a'.repeat(length)};b=${' '.repeat(length)}"`, `csv${'a'.repeat(length)}"`, `csv${';a'.repeat(length)}"`,
    `csv${',"'.repeat(length)}`, `csv${';q="'.repeat(length)}`, `text/csv${' '.repeat(length)}x`
  ]) {
    const since = performance.now()
    findFormat(accept)
    t.ok(
      performance.now() - since < 500,
      `${accept.slice(0, 20)}: ${performance.now() - since} ms for ${accept.length} characters`
    )
  }
})
