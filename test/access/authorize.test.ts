import t from 'tap'
import { getGrant } from '../../src/access/authorize.ts'
import { createGrant } from '../../src/access/grant.ts'

t.test('a request without a grant is refused, whichever route it reaches', async (t) => {
  const grant = createGrant('test', { permissions: ['select'] })
  t.equal(getGrant({ rowQueryGrant: grant }), grant)
  t.throws(() => getGrant({ rowQueryGrant: null }), { code: 'UNAUTHENTICATED' })
})
