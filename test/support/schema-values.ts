/** Generates random values that a JSON Schema of a document allows, as a tool without knowledge of the service does. */
import fc from 'fast-check'
import { getOrCreate } from '../../src/bounded-map.ts'
import { createRandom, pick, type Random } from './random.ts'

interface AnySchema { readonly [keyword: string]: any }

/** Levels of objects below which optional properties are left out. */
const MAX_DEPTH = 7
const MAX_ITEMS = 3
/** Texts for each pattern. */
const SAMPLES = 25
const TEXTS = [
  '', 'a', 'text', 'Zoë', "it's", '"quoted"', '50%', 'a_b', 'back\\slash', ' space ', '0', 'null', 'line\nbreak', '名前',
  '🚲', 'x'.repeat(70)
]
const JSON_VALUES: readonly unknown[] = [
  null, true, false, 0, -1, 1.5, 1e21, 'text', '', [], [1, 'a', null], {}, { a: 1 }, { a: { b: [] }, $c: 1 }, { $x: 1 },
  { $eq: { $x: 1 } }
]

/** Values of formats without a pattern. */
const FORMATS: Readonly<Record<string, (random: Random) => string>> = {
  date: (random) => new Date(Date.UTC(1 + random(9998), random(12), 1 + random(28))).toISOString().slice(0, 10),
  'date-time': (random) => new Date(random(2 ** 31) * 1000 + random(1000)).toISOString(),
  uuid: (random) => '12345678-1234-4234-8234-123456789abc'.replace(/\d/g, () => random(16).toString(16)).replace(
    /^(.{14})./, '$14'
  ).replace(/^(.{19})./, '$18'),
  ipv4: (random) => Array.from({ length: 4 }, () => random(256)).join('.'),
  ipv6: (random) => pick(random, [
    '::1', '2001:db8::ff', '::ffff:1.2.3.4', Array.from({ length: 8 }, () => random(65536).toString(16)).join(':')
  ])
}

export interface SchemaValues {
  /** A value of the schema. Keywords that only forbid combinations are not obeyed: the caller validates the value. */
  (schema: AnySchema): unknown
}

/** Values that are drawn for a property with rules of its own, until one obeys them. */
const MAX_DRAWN = 8

/** `obeys`: whether a value obeys a schema; rules that a property has are obeyed too then. */
export function createSchemaValues (
  document: AnySchema, seed: number, obeys: (schema: AnySchema, value: unknown) => boolean = () => true
): SchemaValues {
  const random = createRandom(seed)
  const chance = (percent: number): boolean => random(100) < percent
  const patterns = new Map<string, string[]>()

  const resolve = ({ $ref, ...siblings }: AnySchema): AnySchema => {
    if ($ref === undefined) return siblings
    const target = ($ref as string).slice(2).split('/').reduce<AnySchema>(
      (node, step) => node[step.replaceAll('~1', '/').replaceAll('~0', '~')], document
    )
    const { properties, required, ...rest } = siblings
    return { ...resolve(target), ...rest }
  }

  const ofPattern = (pattern: string): string => {
    const samples = getOrCreate(patterns, pattern, () => fc.sample(
      fc.stringMatching(new RegExp(pattern, 'u'), { size: 'small' }), { seed: random(2 ** 30), numRuns: SAMPLES }
    ))
    return pick(random, samples)
  }

  const text = ({ pattern, format, minLength = 0, maxLength = 100 }: AnySchema): string => {
    if (pattern !== undefined) return ofPattern(pattern)
    if (format !== undefined && FORMATS[format] !== undefined) return FORMATS[format](random)
    const characters = [...(chance(10) && maxLength <= 1000 ? 'y'.repeat(maxLength) : pick(random, TEXTS))].slice(
      0, maxLength
    )
    return characters.join('').padEnd(minLength, 'z')
  }

  const number = (schema: AnySchema): number => {
    const { type, multipleOf, format } = schema
    const isWhole = type === 'integer'
    const minimum = schema['minimum'] ?? schema['exclusiveMinimum'] ?? (isWhole ? -(2 ** 53) + 1 : -1e300)
    const maximum = schema['maximum'] ?? schema['exclusiveMaximum'] ?? (isWhole ? 2 ** 53 - 1 : 1e300)
    const edges = [schema['minimum'], schema['maximum'], 0, 1, -1, 7].filter(
      (edge) => edge !== undefined && edge >= minimum && edge <= maximum
    )
    if (chance(40) && edges.length > 0) return pick(random, edges)
    // small numbers are likelier
    const span = chance(50)
      ? Math.min(maximum - minimum, 1000)
      : Number.isFinite(maximum - minimum) ? maximum - minimum : maximum
    const from = Math.max(minimum, Math.min(0, maximum - span))
    const value = from + random(2 ** 32) / 2 ** 32 * span
    if (isWhole) return Math.min(maximum, Math.ceil(value))
    if (multipleOf !== undefined) {
      return Number(
        (Math.floor(value / multipleOf) * multipleOf).toFixed(Math.min(100, Math.round(-Math.log10(multipleOf))))
      )
    }
    return format === 'float' ? Math.fround(value) : value
  }

  const list = (
    { prefixItems = [], items = {}, minItems = 0, maxItems = Infinity, uniqueItems = false }: AnySchema, depth: number
  ): unknown[] => {
    const length = Math.min(maxItems, minItems + random(MAX_ITEMS + 1))
    const values: unknown[] = []
    for (let attempt = 0; values.length < length && attempt < 10 * length; attempt++) {
      const value = generate(prefixItems[values.length] ?? items, depth + 1)
      if (!uniqueItems || !values.some((each) => JSON.stringify(each) === JSON.stringify(value))) values.push(value)
    }
    return values
  }

  const object = ({
    properties = {},
    required = [],
    additionalProperties = true,
    propertyNames = {},
    minProperties = 0,
    maxProperties = Infinity,
    dependentSchemas = {}
  }: AnySchema, depth: number): object => {
    const optional = Object.keys(properties).filter((name) => !required.includes(name) && properties[name] !== false)
    const names = new Set<string>(required)
    const wanted = depth > MAX_DEPTH
      ? 0
      : optional.length <= 12 ? optional.filter(() => chance(25)).length : 1 + random(3)
    const most = Math.min(maxProperties, Math.max(minProperties, names.size + wanted))
    while (names.size < most && optional.length > 0) {
      const [name] = optional.splice(random(optional.length), 1)
      // combinations of combinations end somewhere
      if (depth > MAX_DEPTH - 2 && ['$and', '$or', '$not', '$is', '$some', '$none'].includes(name as string) &&
        optional.length > 0) continue
      names.add(name as string)
    }
    const entries = [...names].flatMap((name): Array<[string, unknown]> => {
      for (let drawn = 0; drawn < MAX_DRAWN; drawn++) {
        const value = generate(properties[name], depth + 1)
        if (dependentSchemas[name] === undefined ||
          obeys(dependentSchemas[name], { [name]: value })) return [[name, value]]
      }
      return []
    })
    if (additionalProperties !== false && (depth <= MAX_DEPTH || entries.length < minProperties)) {
      const more = Math.max(minProperties - entries.length, random(3))
      for (let index = 0; index < more && entries.length < maxProperties; index++) {
        const name = propertyNames.enum !== undefined
          ? pick(random, propertyNames.enum) as string
          : propertyNames.pattern === undefined ? `key${random(5)}` : ofPattern(propertyNames.pattern)
        if (!Object.hasOwn(properties, name)) {
          entries.push([name, generate(additionalProperties === true ? {} : additionalProperties, depth + 1)])
        }
      }
    }
    return Object.fromEntries(entries)
  }

  const ofType: Readonly<Record<string, (schema: AnySchema, depth: number) => unknown>> = {
    null: () => null,
    boolean: () => chance(50),
    string: text,
    integer: number,
    number,
    array: list,
    object
  }

  function generate (given: AnySchema, depth: number): unknown {
    const schema = resolve(given)
    const union = schema['oneOf'] ?? schema['anyOf']
    if (union !== undefined) {
      const { oneOf, anyOf, ...rest } = schema
      return generate({ ...rest, ...resolve(pick(random, union)) }, depth)
    }
    if (schema['enum'] !== undefined) return pick(random, schema['enum'])
    if (schema['type'] === undefined) return pick(random, JSON_VALUES)
    const type = Array.isArray(schema['type']) ? pick(random, schema['type']) : schema['type']
    return ofType[type]?.({ ...schema, type }, depth)
  }

  return (schema) => generate(schema, 0)
}
