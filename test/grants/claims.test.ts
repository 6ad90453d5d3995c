/** Claims in rules: what can be used, and what is refused. */
import t from 'tap'
import type { TokenOptions } from '../../schemas/options.ts'
import { onEachEngine } from '../support/service.ts'
import { tenants, tokenFor } from './support.ts'

const claim = (pointer: string) => ({ orders: { rows: { tenant: { $claim: pointer } } } })
const number = (pointer: string) => ({ orders: { rows: { id: { $claim: pointer } } }, nowhere: { rows: { id: { $claim: pointer } } } })

const used: Array<[why: string, token: TokenOptions, ids: number[]]> = [
  ['a text', tokenFor('text', claim('/tenant'), { tenant: 'acme' }), [1, 2, 3]],
  ['a claim in an object and a list', tokenFor('deep', claim('/org/names/1'), { org: { names: ['x', 'zeta'] } }), [4, 5, 6]],
  ['a pointer with escapes', tokenFor('escaped', claim('/a~1b/m~0n'), { 'a/b': { 'm~n': 'acme' } }), [1, 2, 3]],
  ['a claim that is called like what every object has', tokenFor('proto', claim('/__proto__/constructor'), JSON.parse('{"__proto__": {"constructor": "acme"}}')), [1, 2, 3]],
  ['a number', tokenFor('number', number('/id'), { id: 5 }), [5]],
  ['digits for an integer', tokenFor('digits', number('/id'), { id: '5' }), [5]],
  ['a text that only the collation finds equal', tokenFor('other', claim('/tenant'), { tenant: 'Acme' }), []],
  ['a text with spaces at the end', tokenFor('spaces', claim('/tenant'), { tenant: 'acme ' }), []],
  ['an empty text', tokenFor('empty', claim('/tenant'), { tenant: '' }), []],
  ['several claims', tokenFor('several', { orders: { rows: { tenant: [{ $claim: '/tenant' }, 'zeta'], id: { $gte: { $claim: '/least' } } } } }, { tenant: 'acme', least: 3 }), [3, 4, 5, 6]]
]

const refused: Array<[why: string, token: TokenOptions]> = [
  ['no claims', tokenFor('none', claim('/tenant'))],
  ['a claim that is missing', tokenFor('missing', claim('/tenant'), { other: 'acme' })],
  ['null', tokenFor('null', claim('/tenant'), { tenant: null })],
  ['a list', tokenFor('list', claim('/tenant'), { tenant: ['acme'] })],
  ['an object', tokenFor('object', claim('/tenant'), { tenant: { name: 'acme' } })],
  ['a text where an object is expected', tokenFor('flat', claim('/tenant/name'), { tenant: 'acme' })],
  ['what every object inherits', tokenFor('inherited', claim('/constructor/name'), {})],
  ['a text that is no number', tokenFor('word', number('/id'), { id: 'five' })],
  ['a number for a text', tokenFor('seven', claim('/tenant'), { tenant: 7 })],
  ['a number that has been rounded', tokenFor('rounded', number('/id'), { id: 2 ** 53 })],
  ['a fraction for an integer', tokenFor('fraction', number('/id'), { id: 1.5 })],
  ['a text that is too long', tokenFor('long', claim('/tenant'), { tenant: 'x'.repeat(21) })],
  ['one of several', tokenFor('one', { orders: { rows: { tenant: ['acme', { $claim: '/tenant' }] } } }, {})]
]

await onEachEngine(t, 'a rule has the value of a claim', { schema: tenants, tokens: used.map(([, token]) => token) }, async (t, { post }) => {
  for (const [why, { name }, ids] of used) {
    const { status, json } = await post('orders', { verb: 'select', columns: ['id'], orderBy: 'id' }, { token: name })
    t.same([status, json.data.rows?.map(({ id }: { id: number }) => id)], [200, ids], why)
  }
})

await onEachEngine(t, 'a claim that cannot be used is 403, for every verb', { schema: tenants, tokens: refused.map(([, token]) => token) }, async (t, { post, engine, statements }) => {
  statements()
  for (const [why, { name }] of refused) {
    if (why === 'a text that is too long' && engine === 'sqlite') continue // SQLite has no lengths
    for (const body of [{ verb: 'select' }, { verb: 'insert', data: {} }, { verb: 'insert', data: [{}, {}] }, { verb: 'update', data: { total: 1 }, filters: { id: 1 } }, { verb: 'delete', filters: { id: 1 } }]) {
      const { status, json } = await post('orders', body, { token: name })
      t.match({ status, ...json.error }, { status: 403, code: 'PERMISSION_DENIED', details: [] }, `${why}: ${body.verb}`)
    }
    t.equal((await post('orders', { verb: 'delete' }, { token: name })).status, 400, 'the body is checked before')
  }
  t.same(statements(), [], 'no statement runs')
  t.equal((await post('nowhere', { verb: 'select' }, { token: 'rounded' })).status, 403, 'before a table that is not there')
})

await onEachEngine(t, 'a claim that a column would store as another value is refused', {
  schema: () => ['create table codes (code char(5) not null, n int)', "insert into codes values ('ab', 1)"],
  tokens: [tokenFor('exact', { codes: { rows: { code: { $claim: '/code' } } } }, { code: 'ab' }), tokenFor('padded', { codes: { rows: { code: { $claim: '/code' } } } }, { code: 'ab ' })],
  only: ['mariadb', 'mysql']
}, async (t, { post, sql }) => {
  t.match((await post('codes', { verb: 'select' }, { token: 'exact' })).json.data, { count: 1 })
  t.equal((await post('codes', { verb: 'insert', data: { n: 2 } }, { token: 'padded' })).status, 403)
  t.equal((await post('codes', { verb: 'insert', data: { n: 2, code: 'ab ' } }, { token: 'exact' })).status, 403)
  t.same((await sql('select n from codes')).map(({ n }) => n), [1])
})
