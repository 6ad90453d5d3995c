/** The grants of commands that read and write rows themselves. */
import t from 'tap'
import type { RowQueryOptions } from '../../schemas/options.ts'
import { commandGrant, type GrantFlags } from '../../src/cli/command-grant.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { jwtSetting } from '../support/issuer.ts'
import { tokenFor, tokenOf } from '../grants/support.ts'

const NOW = Date.parse('2026-06-01')
const ofTenant = { orders: { rows: { tenant: { $claim: '/tenant' } } } }

const options: RowQueryOptions = {
  databases: { shop: { url: 'sqlite::memory:' }, crm: { url: 'sqlite::memory:' } },
  tokens: [
    tokenOf('reports', { permissions: ['select', 'insert'], expires: '2026-06-02' }),
    tokenOf('old', { expires: '2026-05-31' }),
    tokenFor('acme', ofTenant, { tenant: 'acme' }),
    tokenFor('claimless', ofTenant)
  ],
  jwt: [jwtSetting({ secret: 'x'.repeat(32), algorithms: ['HS256'] })],
  roles: { clerk: { permissions: ['select', 'update'], databases: { shop: ofTenant } }, reader: { permissions: ['select'], databases: '*' } }
}

const grantOf = (flags: GrantFlags) => commandGrant(flags, resolveSettings(options), NOW)

t.test('a token, a role with claims, or select on everything', async (t) => {
  t.match(grantOf({ name: 'reports' }), { grant: { name: 'reports', permissions: new Set(['select', 'insert']) }, token: { expiresAt: Date.parse('2026-06-02') } })
  t.match(grantOf({ name: 'acme' }).grant, { claims: { tenant: 'acme' } })
  t.match(grantOf({ role: 'reader' }), { grant: { name: 'reader', permissions: new Set(['select']) }, token: undefined })
  t.match(grantOf({ role: 'clerk', claims: '{"tenant": 9007199254740993}' }).grant, { claims: { tenant: 9007199254740993n } }, 'numbers are exact')
  t.match(grantOf({}), { grant: { permissions: new Set(['select']), databases: 'all' }, token: undefined })
})

const refused: Array<[GrantFlags, line: RegExp]> = [
  [{ name: 'nope' }, /^--token-name: no token is called "nope"$/],
  [{ name: 'old' }, /^--token-name: the token "old" has expired$/],
  [{ name: 'claimless' }, /^--token-name: The claim "\/tenant" is missing/],
  [{ role: 'nope' }, /^--role: no role is called "nope"$/],
  [{ role: 'clerk' }, /^--claims: The claim "\/tenant" is missing/],
  [{ role: 'clerk', claims: '{"tenant": null}' }, /^--claims: The claim "\/tenant" is missing or cannot be used$/],
  [{ role: 'clerk', claims: '{"tenant"' }, /^--claims: is not valid JSON/],
  [{ role: 'clerk', claims: '[7]' }, /^--claims: must be a JSON object$/],
  [{ role: 'clerk', claims: '{"tenant": 1, "tenant": 2}' }, /^--claims: has a key twice/],
  [{ claims: '{}' }, /^--claims: requires --role$/],
  [{ name: 'reports', claims: '{}' }, /^--claims: requires --role$/],
  [{ name: 'reports', role: 'clerk' }, /^--role: cannot be combined with --token-name$/]
]

for (const [flags, line] of refused) {
  t.test(`${JSON.stringify(flags)} is a configuration error`, async (t) => {
    t.throws(() => grantOf(flags), { code: 'ROW_QUERY_INVALID_CONFIG', errors: [line] })
  })
}
