import t from 'tap'
import { coresOf } from '../../bench/measure/cores.ts'

t.test('the cores of a process are read from its status', async (t) => {
  for (const [list, cores] of [['0', [0]], ['0-1', [0, 1]], ['2,5-7', [2, 5, 6, 7]]] as const) {
    t.same(coresOf(`Name:\tnode\nCpus_allowed:\tff\nCpus_allowed_list:\t${list}\nMems_allowed_list:\t0\n`), cores)
  }
})
