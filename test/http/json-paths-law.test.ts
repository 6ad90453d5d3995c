// night: many random cases
/** `$at` against a reference: hostile documents, and random ones with random conditions. */
import fc from 'fast-check'
import t from 'tap'
import { isObject, parseExactJson } from '../../src/json/exact-json.ts'
import {
  BROKEN,
  bytesOf,
  compareNodes,
  document,
  documentsSchema as schema,
  find,
  isOpen,
  type Node,
  OBJECTS,
  OPERANDS,
  order,
  parseDocument,
  path,
  ROOTS,
  scalar,
  stepsOf,
  storeDocuments
} from '../support/json-model.ts'
import { seed } from '../support/seed.ts'
import { type EngineName, onEachEngine, type Service } from '../support/service.ts'

const PATHS = [
  '$', '$.a', '$.a[0]', '$.a.a', '$[0]', '$[0].a', '$[1][1]', '$.a[1].a', '$.a[0][0]', '$.a.a[0].b', '$."0"', '$.a."0"',
  '$.b', '$.A', '$[last]', '$.a[last]', '$.a[last-1]', '$[last-1]', '$[last].a', '$[last][last]', '$.a[last][last]',
  '$.a.a[last].b', '$.a[last-3]'
]
const ODD_PATHS = [
  '$.""', '$."a.b"', '$."a b"', '$."a\\"b"', '$."a\\\\b"', '$."é"', '$."\\u00e9"', '$."😀"', '$."$"', '$."[0]"',
  '$."*"', '$."\\n"', "$.\"a'b\"", '$."\\u0061"'
]
/** Operands that SQLite cannot hold. */
const UNSIGNED = ['9223372036854775808', '18446744073709551615']
const COMPARED = ['$eq', '$ne', '$is', '$gt', '$gte', '$lt', '$lte']

type Truth = boolean | null
const not = (truth: Truth): Truth => truth === null ? null : !truth
const any = (truths: Truth[]): Truth => truths.includes(true) ? true : truths.includes(null) ? null : false
const all = (truths: Truth[]): Truth => not(any(truths.map(not)))

function test (node: Node | undefined, name: string, operand: unknown, engine: EngineName): Truth {
  const isNull = node === undefined || node.type === 'null'
  const by = (value: unknown, pass: (order: number) => boolean, others = false): Truth => {
    if (isNull) return null
    const found = order(node, value, engine)
    return found === undefined ? others : pass(found)
  }
  const found = (where: (text: Buffer, part: Buffer) => boolean): Truth => isNull
    ? null
    : node.type === 'text' && where(bytesOf(node.value), bytesOf(operand as string))
  const isEqual = (value: unknown): Truth => value === null ? isNull : by(value, (found) => found === 0)
  const list = operand as unknown[]
  switch (name) {
    case '$eq': return isEqual(operand)
    case '$ne': return not(isEqual(operand))
    case '$is': return isEqual(operand) === true
    case '$gt': return by(operand, (found) => found > 0)
    case '$gte': return by(operand, (found) => found >= 0)
    case '$lt': return by(operand, (found) => found < 0)
    case '$lte': return by(operand, (found) => found <= 0)
    case '$between': return all([by(list[0], (found) => found >= 0), by(list[1], (found) => found <= 0)])
    case '$in': return any(list.map(isEqual))
    case '$nin': return not(any(list.map(isEqual)))
    case '$startsWith': return found((text, part) => text.subarray(0, part.length).equals(part))
    case '$contains': return found((text, part) => text.includes(part))
    case '$null': return isNull === operand
    default: return (node !== undefined) === operand
  }
}

interface Case { readonly path: string, readonly name: string, readonly operand: string }

async function check ({ engine, post }: Service, cases: readonly Case[], documents: ReadonlyMap<number, Node
  | undefined>): Promise<unknown[]> {
  const wrong: unknown[] = []
  for (const [index, { path, name, operand }] of cases.entries()) {
    const filter = `{"c":{"$at":{${JSON.stringify(path)}:{"${name}":${operand}}}}}`
    const value = parseExactJson(operand)
    for (const [filters, isNegated] of [
      [filter, false], ...index % 3 === 0 ? [[`{"$not":${filter}}`, true] as const] : []
    ] as const) {
      const { status, text, json } = await post(
        't', `{"verb":"select","columns":["id"],"orderBy":"id","limit":1000,"filters":${filters}}`
      )
      const found = new Set(status === 200 ? json.data.rows.map(({ id }: { id: number }) => id) : [text])
      const differing = [...documents].filter(([id, document]) => {
        const node = find(document, stepsOf(path), engine)
        const truth = test(node, name, value, engine)
        return !isOpen(node, engine) && (isNegated ? not(truth) : truth) === true !== found.has(id)
      }).map(([id]) => id)
      if (status !== 200 ||
        differing.length > 0) wrong.push({ filters, status, differing, ...status !== 200 && { text } })
      // strict mode makes errors of warnings in a write
      if (index % 7 > 0 || operand === '[]') continue
      const write = await post('t', `{"verb":"update","data":{"k":{"$inc":1}},"filters":${filters},"dryRun":true}`)
      if (write.json.data.updated !== found.size) wrong.push({ filters, update: write.text, select: found.size })
    }
  }
  return wrong
}

await onEachEngine(t, '$at in hostile documents', { schema }, async (t, service) => {
  const { engine } = service
  const texts = [...OBJECTS, ...ROOTS, ...BROKEN]
  const documents = await storeDocuments(service, texts)
  t.ok(documents.size > 65, `stores ${documents.size} documents`)
  const operands = engine === 'sqlite' ? OPERANDS : [...OPERANDS, ...UNSIGNED]
  const cases = PATHS.flatMap((path) => [
    ...(path === '$' || path === '$.a' ? operands : ['true', '1', '5', '"a"', '"x"', '"five"']).flatMap(
      (operand) => COMPARED.map((name): Case => ({ path, name, operand }))
    ),
    ...operands.filter((operand) => operand.startsWith('"') && (path === '$' || path === '$.a')).flatMap(
      (operand) => ['$startsWith', '$contains'].map((name): Case => ({ path, name, operand }))
    ),
    ...['null', ...operands.slice(0, 3)].flatMap(
      (operand) => ['$eq', '$ne', '$is'].map((name): Case => ({ path, name, operand }))
    ),
    ...['$null', '$exists'].flatMap((name) => ['true', 'false'].map((operand): Case => ({ path, name, operand }))),
    ...[[], ['null'], ['1', '"a"'], ['1', '"a"', 'null', 'true'], operands].flatMap(
      (list) => ['$in', '$nin'].map((name): Case => ({ path, name, operand: `[${list.join(',')}]` }))
    ),
    ...['[0,5]', '[1,9007199254740992]', '["a","b"]', '[false,true]', '[5,1]'].map(
      (operand): Case => ({ path, name: '$between', operand })
    )
  ])
  cases.push(
    ...ODD_PATHS.flatMap((path) => [{ path, name: '$gt', operand: '0' }, { path, name: '$exists', operand: 'true' }])
  )
  t.same(await check(service, cases, documents), [], `${cases.length} conditions`)
})

const operand = scalar.filter((each) => each !== 'null')
const condition: fc.Arbitrary<Case> = fc.oneof(
  fc.record({ path, name: fc.constantFrom(...COMPARED), operand }),
  fc.record({
    path,
    name: fc.constantFrom('$in', '$nin'),
    operand: fc.array(scalar, { maxLength: 4 }).map((list) => `[${list.join()}]`)
  }),
  fc.record({
    path, name: fc.constantFrom('$startsWith', '$contains'), operand: operand.filter((each) => each.startsWith('"'))
  }),
  fc.record({ path, name: fc.constantFrom('$null', '$exists'), operand: fc.constantFrom('true', 'false') })
)

await onEachEngine(t, '$at in random documents', { schema }, async (t, service) => {
  for (let run = 0; run < 6; run++) {
    const documents = await storeDocuments(service, fc.sample(document, { numRuns: 100, seed: seed + run }))
    const cases = fc.sample(condition, { numRuns: 150, seed: seed + run })
    const wrong = await check(service, cases, documents)
    t.same(wrong, [], `seed ${seed + run}`)
  }
})

/** The rows in the order of terms, then of their ids, by the reference. Without those whose place is open. */
async function checkOrder (
  { engine, post }: Service, terms: ReadonlyArray<readonly [path: string, direction: string]>,
  documents: ReadonlyMap<number, Node | undefined>
): Promise<object[]> {
  const { status, text, json } = await post('t', {
    verb: 'select',
    columns: ['id'],
    orderBy: [...terms.map(([path, direction]) => ({ c: { [path]: direction } })), { id: 'ASC' }],
    limit: 1000
  })
  if (status !== 200) return [{ terms, text }]
  const nodesOf = (id: number): Array<Node
    | undefined> => terms.map(([path]) => find(documents.get(id), stepsOf(path), engine))
  const isPlaced = (id: number): boolean => nodesOf(id).every((node) => !isOpenInOrder(node, engine))
  const expected = [...documents.keys()].filter(isPlaced).sort((one, other) => {
    const [left, right] = [nodesOf(one), nodesOf(other)]
    const found = terms.map(([, direction], index) => {
      const nulls = /asc nulls last|desc nulls first/i.test(direction) ? 'greatest' : 'lowest'
      return compareNodes(left[index], right[index], engine, nulls) * (/^desc/i.test(direction) ? -1 : 1)
    }).find((each) => each !== 0)
    return found ?? one - other
  })
  const ids = json.data.rows.map(({ id }: { id: number }) => id)
  const shown = ids.filter(isPlaced)
  const first = expected.findIndex((id, index) => id !== shown[index])
  return ids.length === documents.size && first < 0
    ? []
    : [{ terms, first, expected: expected.slice(first, first + 4), shown: shown.slice(first, first + 4) }]
}

/** MySQL counts a double beyond 2^53 as the number of the digits that it shows. */
const isOpenInOrder = (node: Node | undefined, engine: EngineName): boolean =>
  isOpen(node, engine) || (engine === 'mysql' && node?.type === 'number' && !Number.isSafeInteger(Number(node.text)) &&
    !/^-?\d{1,19}$/.test(node.text) && Math.abs(Number(node.text)) > 2 ** 53 && Math.abs(Number(node.text)) < 2 ** 65)

const DIRECTIONS = ['ASC', 'DESC', 'asc', 'ASC NULLS LAST', 'desc nulls first', 'ASC NULLS FIRST', 'DESC NULLS LAST']
const term = fc.tuple(path, fc.constantFrom(...DIRECTIONS))

await onEachEngine(t, 'orders by paths', { schema }, async (t, service) => {
  const hostile = await storeDocuments(service, [
    ...OBJECTS, ...ROOTS, ...BROKEN, ...OPERANDS.map((value) => `{"a":${value}}`), ...OPERANDS
  ])
  for (const path of [...PATHS, ...ODD_PATHS]) {
    for (const direction of DIRECTIONS.slice(0, path.length < 4
      ? 7
      : 2)) t.same(await checkOrder(service, [[path, direction]], hostile), [], `${path} ${direction}`)
  }
  for (let run = 0; run < 6; run++) {
    const documents = await storeDocuments(service, fc.sample(document, { numRuns: 150, seed: seed + run }))
    const orders = fc.sample(fc.uniqueArray(term, { minLength: 1, maxLength: 3, selector: ([path]) => path }), {
      numRuns: 80, seed: seed + run
    })
    for (const terms of orders) t.same(await checkOrder(service, terms, documents), [], `seed ${seed + run}`)
  }
})

t.test('the reference reads documents like JSON.parse', async (t) => {
  for (const text of [...OBJECTS, ...ROOTS, ...BROKEN]) {
    let isJson = true
    try { JSON.parse(text) } catch { isJson = false }
    t.equal(parseDocument(text) !== undefined, isJson, text)
  }
  t.ok(isObject(parseExactJson('{}')))
})
