/** The rules of a grant on rows: in their configured form, and with values for the claims of a caller. */
import type { Column, Rule, RuleTest } from '../catalog/catalog.ts'
import { mayBeNew, permissionDenied } from '../errors.ts'
import { findBySteps, stepsOf } from '../json/plain-values.ts'
import { isObject } from '../json/exact-json.ts'
import { describeType, isSame, ValueRefused, type ColumnType, type Value } from '../types/column-type.ts'

/** A constant or a claim. */
type RuleValue = string | number | boolean | { readonly $claim: string }

/** A configured rule on one column. A list matches any of its values. */
export type RuleOptions = RuleValue | null | ReadonlyArray<RuleValue | null> | {
  readonly $eq?: RuleValue | null
  readonly $is?: RuleValue | null
  readonly $in?: ReadonlyArray<RuleValue | null>
  readonly $null?: boolean
  readonly $gt?: RuleValue
  readonly $gte?: RuleValue
  readonly $lt?: RuleValue
  readonly $lte?: RuleValue
}

/** The payload of a JWT, or `claims` of a token's entry. */
export type Claims = Readonly<Record<string, unknown>>

type Operand = { readonly claim: string, readonly steps: readonly string[] } | { readonly constant: unknown }

/** `operator`: only of the kind `order`, which has one operand; `notNull` has none. */
interface ConfiguredTest {
  readonly kind: RuleTest['kind']
  readonly operator?: '>' | '>=' | '<' | '<='
  readonly operands: readonly Operand[]
}

export interface ConfiguredRule {
  readonly column: string
  readonly tests: readonly ConfiguredTest[]
  /** One value is allowed, which an insert may leave out. */
  readonly isEquality: boolean
}

const COMPARISONS = new Map([['$gt', '>'], ['$gte', '>='], ['$lt', '<'], ['$lte', '<=']] as const)

/** @throws Error whose message begins with the column */
export function readRules (rows: Readonly<Record<string, RuleOptions>>): ConfiguredRule[] {
  return Object.entries(rows).map(([column, given]) => {
    const tests = readTests(given)
    const rounded = tests
      .flatMap(({ operands }) => operands)
      .find((operand) => 'constant' in operand && !isExact(operand.constant))
    if (rounded !== undefined) {
      throw new Error(`${column}: a number beyond 2^53 is not exact; write it as a string of digits`)
    }
    if (isObject(given) && '$claim' in given && Object.keys(given).length > 1) {
      throw new Error(`${column}: $claim cannot be combined with operators; use {"$eq": {"$claim": …}}`)
    }
    return { column, tests, isEquality: tests.some((test) => test.kind === 'in' && test.operands.length === 1) }
  })
}

function readTests (rule: RuleOptions): ConfiguredTest[] {
  if (Array.isArray(rule)) return [{ kind: 'in', operands: rule.map(readOperand) }]
  if (!isObject(rule) || '$claim' in rule) return [equality(rule)]
  return Object.entries(rule).map(([name, operand]): ConfiguredTest => {
    if (name === '$eq' || name === '$is') return equality(operand)
    if (name === '$in') return { kind: 'in', operands: (operand as unknown[]).map(readOperand) }
    if (name === '$null') return operand === true ? equality(null) : { kind: 'notNull', operands: [] }
    return { kind: 'order', operator: COMPARISONS.get(name as '$gt') as '>', operands: [readOperand(operand)] }
  })
}

const equality = (operand: unknown): ConfiguredTest => ({ kind: 'in', operands: [readOperand(operand)] })

function readOperand (operand: unknown): Operand {
  if (!isObject(operand)) return { constant: operand }
  const claim = operand['$claim'] as string
  return { claim, steps: stepsOf(claim) }
}

/** `tenant = claim /tenant`. */
export function describeRule ({ column, tests }: ConfiguredRule): string {
  const textOf = (operand: Operand): string =>
    'claim' in operand ? `claim ${operand.claim}` : JSON.stringify(operand.constant)
  return tests.map(({ kind, operator = '=', operands }) => {
    if (kind === 'notNull') return `${column} not null`
    const texts = operands.map(textOf).join(', ')
    return operands.length === 1 ? `${column} ${operator} ${texts}` : `${column} in (${texts})`
  }).join(' and ')
}

/** False for an integer beyond 2^53, which JavaScript has already rounded. */
const isExact = (value: unknown): boolean =>
  typeof value !== 'number' || (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)))

/** Claims are replaced with their values. */
interface ResolvedRule {
  readonly column: string
  readonly tests: ReadonlyArray<Omit<ConfiguredTest, 'operands'> & { readonly values: readonly unknown[] }>
  readonly usesClaims: boolean
}

/** @throws PERMISSION_DENIED for a claim that is missing, null, a list or an object */
export function resolveRules (rules: readonly ConfiguredRule[], claims: Claims): ResolvedRule[] {
  return rules.map(({ column, tests }) => ({
    column,
    usesClaims: tests.some(({ operands }) => operands.some((operand) => 'claim' in operand)),
    tests: tests.map(({ operands, ...test }) => ({
      ...test,
      values: operands.map((operand) => ('claim' in operand ? findClaim(operand, claims) : operand.constant))
    }))
  }))
}

/** @throws PERMISSION_DENIED for a claim that is missing, null, a list or an object */
export function checkClaims (rules: readonly ConfiguredRule[], claims: Claims): void {
  for (const { tests } of rules) {
    for (const { operands } of tests) {
      for (const operand of operands) if ('claim' in operand) findClaim(operand, claims)
    }
  }
}

function findClaim ({ claim, steps }: { claim: string, steps: readonly string[] }, claims: Claims): unknown {
  const value = findBySteps(claims, steps)
  if (typeof value === 'bigint') return String(value)
  const isScalar = ['string', 'boolean', 'number'].includes(typeof value) || JSON.isRawJSON(value)
  if (!isScalar || !isExact(value)) throw permissionDenied(`The claim "${claim}" is missing or cannot be used`)
  return value
}

/** The table must appear not to exist. */
export class RuleBroken extends Error {}

/**
 * @throws RuleBroken if a column is missing or a constant does not fit it, PERMISSION_DENIED if a claim does not fit it
 */
export function bindRules (rules: readonly ResolvedRule[], columns: ReadonlyMap<string, Column>): Rule[] {
  return rules.map((rule) => {
    const column = columns.get(rule.column)
    if (column === undefined) throw new RuleBroken(`column "${rule.column}" does not exist`)
    if (column.type.comparison === 'none' || column.type.structured) {
      throw new RuleBroken(`column "${column.name}": ${describeType(column)} cannot have rules`)
    }
    return { column, tests: rule.tests.map((test) => bindTest(rule, test, column)) }
  })
}

function bindTest (
  rule: ResolvedRule,
  { kind, operator, values }: ResolvedRule['tests'][number],
  column: Column
): RuleTest {
  if (kind === 'notNull') return { kind }
  if (kind === 'in') {
    return { kind, values: values.map((value) => (value === null ? null : readStable(rule, column, value))) }
  }
  if (column.type.order === undefined) {
    throw new RuleBroken(`column "${column.name}": ${describeType(column)} cannot be compared with ${operator}`)
  }
  return { kind, operator: operator as '>', value: values.length === 0 ? '' : readStable(rule, column, values[0]) }
}

/** Whatever the claims are: the part of `bindRules` that needs none. */
export function findBrokenRule (
  rules: readonly ConfiguredRule[],
  columns: ReadonlyMap<string, Column>
): string | undefined {
  const constants = (operands: readonly Operand[]): unknown[] =>
    operands.flatMap((operand) => ('claim' in operand ? [] : [operand.constant]))
  try {
    bindRules(
      rules.map(({ column, tests }) => ({
        column,
        usesClaims: false,
        tests: tests.map(({ operands, ...test }) => ({ ...test, values: constants(operands) }))
      })),
      columns
    )
    return undefined
  } catch (error) {
    return (error as RuleBroken).message
  }
}

/**
 * Refuses a value that the column would store as another one (`acme ` in CHAR, 16777217 in FLOAT), because its rows
 * would belong to another caller.
 */
function readStable (rule: ResolvedRule, { name, type }: Column, value: unknown): Value {
  try {
    const parameter = type.read(value)
    if (type.keeps?.(value) === false || (type.order === undefined && !isStable(type, parameter))) {
      throw new ValueRefused('is not stored as it is')
    }
    return parameter
  } catch (error) {
    if (!(error instanceof ValueRefused)) throw error
    if (rule.usesClaims) {
      throw mayBeNew(permissionDenied('A claim does not fit the column that it is compared with'))
    }
    throw new RuleBroken(`column "${name}": ${error.message}`)
  }
}

function isStable (type: ColumnType, parameter: Value): boolean {
  const shown: unknown = JSON.parse(type.storedJson(parameter))
  return shown === null || isSame(type, type.read(shown), parameter)
}
