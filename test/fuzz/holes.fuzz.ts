import fc from 'fast-check'
import t from 'tap'
import { onEachEngine } from '../support/service.ts'
import { Counterexample, isEnough, isWanted, only, seed } from './campaign.ts'
import { drawnOf, prepareLaw, schema } from './holes-http.ts'

/** Shapes with one seed, which is enough to reproduce a failure. */
const SHAPES = 40
/** After which a run ends. */
const FAILURES = 20
/** Of FUZZ_BODIES, because each body is sent three times, and on every engine. */
const SHARE = 1 / 4

t.comment(`FUZZ_SEED=${seed}`)
await onEachEngine(t, 'bodies with references and parameters answer as with the values', {
  schema, ...only !== undefined && { only }
}, async (t, service) => {
  const { tables, seen, hold } = await prepareLaw(t, service)
  const drawn = tables.filter(({ name }) => isWanted(name)).map((table) => ({ table, bodies: drawnOf(table) }))
  const start = Date.now()
  let current = seed
  for (let failures = 0; !isEnough(start, seen.get('bodies') ?? 0, SHARE) && failures < FAILURES; current++) {
    for (const { table, bodies } of drawn) {
      try {
        await hold(table, fc.sample(bodies, { seed: current, numRuns: SHAPES }))
      } catch (error) {
        failures++
        t.fail(`${table.name}: FUZZ_SEED=${current}`, { at: null, stack: '' })
        t.comment(error instanceof Counterexample ? error.message : (error as Error).stack)
      }
    }
    if ((current - seed) % 5 === 4) t.comment(`FUZZ_SEED=${current}: ${seen.get('bodies')} bodies`)
  }
  t.pass(`FUZZ_SEED=${seed} to ${current - 1}: ${[...seen].map((each) => each.join(' ')).join(', ')}`)
})
