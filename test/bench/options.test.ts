import t from 'tap'
import { CONTENDERS, HAND_WRITTEN, MAIN } from '../../bench/contenders/contenders.ts'
import { SERVICE } from '../../bench/contenders/service.ts'
import { isWanted, readOptions } from '../../bench/options.ts'
import { WORKLOADS } from '../../bench/workloads.ts'

t.test('everything takes part unless parts of names say otherwise', async (t) => {
  const all = readOptions([])
  t.match(all, { quick: false, workloads: undefined, contenders: undefined })
  t.ok(CONTENDERS.every(({ name }) => isWanted(name, all?.contenders)))
  const some = readOptions(['--workloads', 'by key, insert', '--contenders', 'service,hand', '--rounds', '2', '--seconds', '0.5'])
  t.match(some, { rounds: 2, seconds: 0.5 })
  t.same(WORKLOADS.filter(({ name }) => isWanted(name, some?.workloads)).map(({ name }) => name), ['row by key', 'insert', 'update by key', 'insert of 100 rows'])
  t.same(CONTENDERS.filter(({ name }) => isWanted(name, some?.contenders)).map(({ name }) => name), [SERVICE, ...HAND_WRITTEN])
})

t.test('a quick run is shorter in every way', async (t) => {
  const [quick, full] = [readOptions(['--quick']), readOptions([])]
  for (const key of ['starts', 'rounds', 'seconds', 'warmUp', 'warmUpRequests'] as const) t.ok((quick?.[key] as number) < (full?.[key] as number), key)
})

t.test('what is no option, or no number, is told', async (t) => {
  t.throws(() => readOptions(['--fast']), /--fast/)
  t.throws(() => readOptions(['--rounds', 'many']), { message: '--rounds many: must be a number above 0' })
  t.throws(() => readOptions(['--seconds', '0']), { message: '--seconds 0: must be a number above 0' })
  t.equal(readOptions(['--help']), undefined)
})

t.test('those that are compared before all come first, so that their turns stand together', async (t) => {
  t.same(CONTENDERS.slice(0, MAIN.length).map(({ name }) => name), MAIN)
})
