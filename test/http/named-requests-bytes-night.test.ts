// night: many random cases
import t, { type Test } from 'tap'
import { holdLaw } from '../support/named-law.ts'

await holdLaw(t as Test, {
  runs: 2000,
  most: 100,
  kinds: [
    'same', 'select', 'insert', 'update', 'delete', 'operations', 'member', 'GET', 'given', 'default', 'optional',
    'left out'
  ]
})
