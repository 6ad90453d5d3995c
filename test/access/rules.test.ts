import t from 'tap'
import { checkClaims, describeRule, findBrokenRule, readRules, type RuleOptions } from '../../src/access/rules.ts'
import { findIgnoringCase } from '../../src/catalog/catalog.ts'
import { mysqlColumn } from '../support/tables.ts'

const described: Array<[rule: RuleOptions, text: string]> = [
  ['acme', 'c = "acme"'],
  [null, 'c = null'],
  [{ $claim: '/a~1b' }, 'c = claim /a~1b'],
  [{ $is: true }, 'c = true'],
  [[], 'c in ()'],
  [['new', { $claim: '/s' }, null], 'c in ("new", claim /s, null)'],
  [{ $gt: 1, $lte: { $claim: '/n' }, $null: false }, 'c > 1 and c <= claim /n and c not null'],
  [{ $null: true }, 'c = null']
]

t.test('a rule is described in one line', async (t) => {
  for (const [rule, text] of described) t.equal(readRules({ c: rule }).map(describeRule).join(), text)
})

const broken: Array<[declaration: string, rule: RuleOptions, reason: RegExp | undefined]> = [
  ['int', 5, undefined],
  ['int', { $claim: '/a' }, undefined],
  ['int', { $gt: { $claim: '/a' } }, undefined],
  ['int', 'five', /expected an integer/],
  ['int', { $gte: 1.5 }, /expected an integer/],
  ['varchar(3)', ['abc', 'abcd'], /longer than 3 characters/],
  ['varchar(3)', { $lt: 'b' }, /cannot be compared with </],
  ['char(5)', 'ab ', /is not stored as it is/],
  ['char(5)', 'ab', undefined],
  ["enum('a')", 'b', /expected one of/],
  ["set('a')", 'a', /cannot have rules/],
  ['json', 1, /cannot have rules/],
  ['point', { $null: true }, /cannot have rules/]
]

t.test('a rule that does not apply to its column is found without claims', async (t) => {
  for (const [declaration, rule, reason] of broken) {
    const found = findBrokenRule(readRules({ c: rule }), new Map([['c', mysqlColumn('c', declaration)]]))
    t.match(found, reason, `${declaration} ${JSON.stringify(rule)}: ${found}`)
  }
  t.match(findBrokenRule(readRules({ C: 1 }), new Map([['c', mysqlColumn('c', 'int')]])), /"C" does not exist/, 'names are exact')
})

t.test('a name is found whatever its case, the exact one first', async (t) => {
  const names = new Map([['a', 1], ['A', 2], ['Bc', 3]])
  t.same(['a', 'A', 'bC', 'd'].map((name) => findIgnoringCase(names, name)), [1, 2, 3, undefined])
})

t.test('a claim is a part of the JSON value, not of what represents it', async (t) => {
  const claims = { list: ['a'], number: JSON.rawJSON('12345678901234567890'), name: 'x' }
  const check = (claim: string) => checkClaims(readRules({ c: { $claim: claim } }), claims)
  for (const claim of ['/list/0', '/number', '/name']) t.doesNotThrow(() => check(claim), claim)
  for (const claim of ['/list', '/list/length', '/list/00', '/number/rawJSON', '/name/length', '/none']) t.throws(() => check(claim), { code: 'PERMISSION_DENIED' }, claim)
})
