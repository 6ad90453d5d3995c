import t from 'tap'
import { demoBanner } from '../../src/cli/banner.ts'

const where = { address: 'http://[::1]:81', prefix: '/rows', path: 'data/demo.db' }

t.test('the banner shows the created token in each request', async (t) => {
  const text = demoBanner({ ...where, docs: true, token: 'rq_made' })
  t.match(text, '\n  token    rq_made\n  page     http://[::1]:81/rows/docs#token=rq_made\n')
  t.equal(text.match(/curl -s http:\/\/\[::1\]:81\/rows\/demo\/\w+ -H "Authorization: Bearer rq_made"/g)?.length, 3)
})

t.test('the banner shows no configured token, and how to use one', async (t) => {
  const text = demoBanner({ ...where, docs: false, token: undefined })
  t.notMatch(text, '  page ')
  t.match(text, '\n  token    use a configured token: export it as API_TOKEN')
  t.equal(text.match(/"Authorization: Bearer \$API_TOKEN"/g)?.length, 3)
})
