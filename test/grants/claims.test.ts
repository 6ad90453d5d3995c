/** Claims in rules: what can be used, and what is refused. */
import t from 'tap'
import type { TokenOptions } from '../../schemas/options.ts'
import { onEachEngine, type EngineName } from '../support/service.ts'
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

/** A column, a claim that it stores, and others that it stores as another value, or not at all. */
const stored: Array<[declaration: string, claim: unknown, ...others: unknown[]]> = [
  ['char(5)', 'ab', 'ab ', 'ab   '],
  ['float', 16777216, 16777217, 16777215.5, '0'],
  ['float', 0.1, 0.10000000149, 0.1000000001],
  ['float(12,3)', 1234567.9, 1234567.875, 1234567.891],
  ['double', 0.1, '0.1'],
  ['binary(4)', 'YWIAAA==', 'YWI=', 'YWIA'],
  ['bit(5)', '00101', '101', '0101'],
  ['varchar(10) character set latin1', 'é€', '😀', 'ł', 'é😀'],
  ['varchar(10) character set ascii', 'e', 'é'],
  ['varchar(10) character set utf8mb3', 'ł', 'ł😀'],
  ['varchar(10) character set latin2', 'ł', '😀'],
  ["enum('😀','b') character set utf8mb4 collate utf8mb4_general_ci", 'b', '😁', '😀']
]
const storedTokens = stored.flatMap(([, ...claims], index) => claims.map((k, place) => tokenFor(`c${index}-${place}`, { [`c${index}`]: { rows: { k: { $claim: '/k' } } } }, { k })))
const isOn = (engine: EngineName, declaration: string): boolean => engine !== 'sqlite' || declaration === 'double'

await onEachEngine(t, 'a claim that a column would store as another value is refused', {
  schema: (engine) => stored.flatMap(([declaration], index) => isOn(engine, declaration) ? [`create table c${index} (k ${declaration} not null, n int)`] : []),
  tokens: storedTokens
}, async (t, { post, sql, engine }) => {
  for (const [index, [declaration, ...claims]] of stored.entries()) {
    if (!isOn(engine, declaration)) continue // SQLite has no lengths and no character sets
    const table = `c${index}`
    for (const [place, claim] of claims.entries()) {
      const isStored = place === 0
      const options = { token: `${table}-${place}` }
      t.equal((await post(table, { verb: 'insert', data: { n: place } }, options)).status, isStored ? 200 : 403, `${declaration}: ${claim} is ${isStored ? 'stored' : 'refused'}`)
      const seen = await post(table, { verb: 'select' }, options)
      t.match([seen.status, seen.json.data.rows], isStored ? [200, [{ k: claim, n: 0 }]] : [403, undefined], `${declaration}: ${claim} sees ${isStored ? 'its row' : 'nothing'}`)
    }
    t.same((await sql(`select n from ${table}`)).map(({ n }) => n), [0])
  }
})
