/** Documents of JSON, and a reference of what is at a path in them and in which order the values are. */
import fc from 'fast-check'
import { numberText } from '../../src/json/exact-json.ts'
import type { EngineName, Service } from './service.ts'

export const OBJECTS = [
  '{}', '{"a":null}', '{"a":true}', '{"a":false}', '{"a":0}', '{"a":-0}', '{"a":1}', '{"a":1.0}', '{"a":1.5}',
  '{"a":"1"}', '{"a":"true"}', '{"a":"null"}', '{"a":""}', '{"a":"a"}', '{"a":"A"}', '{"a":"a "}', '{"a":"ab"}',
  '{"a":[]}', '{"a":{}}', '{"a":[1]}', '{"a":[[1]]}', '{"a":["a",null,true,2]}', '{"a":{"a":1}}',
  '{"a":{"a":[{"b":"x"}]}}', '{"a":[{"a":5},{"a":"five"}]}', '{"a":{"0":1}}', '{"a":[null]}',
  '{"a":"\\u00e9"}', '{"a":"é"}', '{"a":"e\\u0301"}', '{"a":"\\ud83d\\ude00"}', '{"a":"😀"}', '{"a":"\\uffff"}',
  '{"a":"a\\u0000b"}', '{"a":"a\\u0000"}', '{"a":"\\u0000"}', '{"a":"\\"\\\\\\/\\b\\f\\n\\r\\t"}', '{"a":"\\ud800"}',
  '{"a":"%_!\'`"}',
  '{"a":9007199254740991}', '{"a":9007199254740992}', '{"a":9007199254740993}', '{"a":9223372036854775807}',
  '{"a":9223372036854775808}', '{"a":-9223372036854775808}', '{"a":18446744073709551615}', '{"a":18446744073709551616}',
  '{"a":1e2}', '{"a":1E+2}', '{"a":1e400}', '{"a":-1e400}', '{"a":1e-400}', '{"a":0.1}', '{"a":0.30000000000000004}',
  '{"a":123456789012345678901234567890}', '{"a":1.7976931348623157e308}', '{"a":5e-324}', '{"a":9007199254740993.0}',
  '{"":1,"a.b":2,"a b":3,"a\\"b":4,"a\\\\b":5,"é":6,"😀":7,"$":8,"[0]":9,"*":10,"\\n":11,"a\'b":12,"A":13}',
  '{"\\u0061":1}', '{"a":1,"a":2}', '{"a":"x","a":null}'
]
export const ROOTS = [
  'null', 'true', 'false', '0', '5', '-1.5', '"a"', '"null"', '""', '[]', '[null]', '["a"]', '[1,[2,[3]]]', '[{"a":1}]',
  '  { "a" : 1 }  '
]
/** Texts that MariaDB and SQLite can store, and MySQL cannot. */
export const BROKEN = ['', 'x', '{"a":1', '{"a":1}x', '{a:1}', "{'a':1}", '[1,]', 'NaN', '{"a":Infinity}', '\u0000']

export const OPERANDS = [
  'true', 'false', '0', '-0', '1', '1.0', '1.5', '5', '100', '"1"', '"true"', '"null"', '""', '"a"', '"A"', '"a "',
  '"é"', '"😀"', '"\uffff"', '"a\\u0000b"', '"a\\u0000"', '"%"', '"\\"\\\\/\\b\\f\\n\\r\\t"',
  '9007199254740991', '9007199254740992', '9007199254740993', '9223372036854775807', '-9223372036854775808', '0.1',
  '0.30000000000000004', '1e300', '1.7976931348623157e308', '5e-324', '1e19'
]
// The reference. A parsed document keeps the texts of numbers and keys.

export type Node = { type: 'null' | 'true' | 'false' } | { type: 'number', text: string } | {
  type: 'text', value: string
} |
  { type: 'list', items: Node[] } | { type: 'object', members: Array<{ raw: string, value: Node }> }

/** Undefined for a text that is not JSON. */
export function parseDocument (text: string): Node | undefined {
  let rest = text
  const space = (): void => { rest = rest.replace(/^[ \t\n\r]+/, '') }
  const take = (pattern: RegExp): string => {
    const found = pattern.exec(rest)?.[0]
    if (found === undefined) throw new SyntaxError()
    rest = rest.slice(found.length)
    return found
  }
  // eslint-disable-next-line no-control-regex
  const string = (): string => take(/^"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/)
  const items = (close: string, item: () => void): void => {
    take(/^./)
    space()
    if (!rest.startsWith(close)) {
      for (item(); rest.startsWith(','); item()) take(/^,/)
    }
    if (take(/^./) !== close) throw new SyntaxError()
  }
  const value = (): Node => {
    space()
    const node = read()
    space()
    return node
  }
  const read = (): Node => {
    switch (rest[0]) {
      case '"': return { type: 'text', value: JSON.parse(string()) }
      case '[': {
        const list: Node[] = []
        items(']', () => { list.push(value()) })
        return { type: 'list', items: list }
      }
      case '{': {
        const members: Array<{ raw: string, value: Node }> = []
        items('}', () => {
          space()
          const raw = string()
          space()
          take(/^:/)
          members.push({ raw, value: value() })
        })
        return { type: 'object', members }
      }
      case 't': case 'f': case 'n': return { type: take(/^(?:true|false|null)/) as 'null' }
      default: return { type: 'number', text: take(/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/) }
    }
  }
  try {
    const node = value()
    return rest === '' ? node : undefined
  } catch {
    return undefined
  }
}

type Steps = Array<string | number | { readonly fromEnd: number }>
export const stepsOf = (path: string): Steps => Array.from(path.matchAll(
  /\.(\w+)|\.("(?:[^"\\]|\\.)*")|\[(\d+)\]|\[(last)(?:-(\d+))?\]/g
), (
  [, name, quoted, index, last, others = '0']
) => last !== undefined
  ? { fromEnd: 1 + Number(others) }
  : index !== undefined ? Number(index) : name ?? JSON.parse(quoted as string))

export function find (node: Node | undefined, steps: Steps, engine: EngineName): Node | undefined {
  return steps.reduce<Node | undefined>((found, step) => {
    if (found?.type === 'list') {
      return typeof step === 'string'
        ? undefined
        : typeof step === 'number' ? found.items[step] : found.items.at(-step.fromEnd)
    }
    if (found?.type !== 'object' || typeof step !== 'string') return undefined
    // MariaDB compares keys with their escapes
    const named = found.members.filter(
      ({ raw }) => engine === 'mariadb' ? raw === JSON.stringify(step) : JSON.parse(raw) === step
    )
    return named.at(engine === 'mysql' ? -1 : 0)?.value
  }, node)
}

const LIMITS: Readonly<Record<EngineName, readonly [bigint, bigint]>> = {
  mysql: [-(2n ** 63n), 2n ** 64n - 1n], mariadb: [-(2n ** 63n), 2n ** 64n - 1n], sqlite: [-(2n ** 63n), 2n ** 63n - 1n]
}

function numberOf (text: string, engine: EngineName): number | bigint {
  const [min, max] = LIMITS[engine]
  if (/^-?\d+$/.test(text) && BigInt(text) >= min && BigInt(text) <= max) return BigInt(text)
  const number = Number(text)
  return engine === 'mariadb' ? Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, number)) : number
}

/** UTF-8 of a text, also of lone surrogates. */
export const bytesOf = (text: string): Buffer => Buffer.concat(Array.from(text, (character) => {
  const code = character.codePointAt(0) as number
  return code >= 0xd800 && code < 0xe000
    ? Buffer.from([0xe0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63])
    : Buffer.from(character)
}))

/** The order of a stored value and an operand; undefined for values of two types. */
export function order (node: Node, operand: unknown, engine: EngineName): number | undefined {
  if (typeof operand === 'string') {
    return node.type === 'text' ? Buffer.compare(bytesOf(node.value), bytesOf(operand)) : undefined
  }
  if (typeof operand === 'boolean') {
    return node.type === 'true' || node.type === 'false' ? Number(node.type === 'true') - Number(operand) : undefined
  }
  if (node.type !== 'number') return undefined
  const [one, other] = [numberOf(node.text, engine), numberOf(numberText(operand) as string, engine)]
  return one < other ? -1 : Number(one > other)
}

/** The rank of a type in an order; 0 is where rows have no value. */
const rankOf = (node: Node | undefined): number => {
  switch (node?.type) {
    case undefined: case 'null': return 0
    case 'true': case 'false': return 1
    case 'number': return 2
    case 'text': return 3
    default: return 4
  }
}

/** The order of two values, either of which may be missing. `nulls`: whether no value is the greatest. */
export function compareNodes (one: Node
  | undefined, other: Node | undefined, engine: EngineName, nulls: 'lowest' | 'greatest' = 'lowest'): number {
  const [left, right] = [one, other].map((node) => rankOf(node) || (nulls === 'greatest' ? 5 : 0)) as [number, number]
  if (left !== right || one === undefined || other === undefined) return left - right
  switch (other.type) {
    case 'true': case 'false': return order(one, other.type === 'true', engine) as number
    case 'number': return order(one, JSON.rawJSON(other.text), engine) as number
    case 'text': return order(one, other.value, engine) as number
    default: return 0
  }
}

/** Whether the contract leaves open what a stored number of MariaDB equals. */
export const isOpen = (node: Node | undefined, engine: EngineName): boolean =>
  engine === 'mariadb' && node?.type === 'number' && /[.eE]/.test(node.text) && Math.abs(Number(node.text)) >= 2 ** 53

export const documentsSchema = {
  sqlite: ['create table t (id integer primary key, c json, k int)'],
  mysql: ['create table t (id int primary key, c json, k int) default charset=utf8mb4']
}

/** Stores documents as far as the engine accepts them. */
export async function storeDocuments ({ engine, sql }: Service, texts: readonly string[]): Promise<Map<number, Node
  | undefined>> {
  const documents = new Map<number, Node | undefined>()
  await sql('delete from t')
  await sql('insert into t values (0, null, 0)')
  documents.set(0, undefined)
  for (const [index, text] of texts.entries()) {
    try {
      await sql('insert into t values (?, ?, 0)', [index + 1, text])
      documents.set(index + 1, parseDocument(text))
    } catch (error) {
      if (engine === 'sqlite') throw error
    }
  }
  return documents
}

const key = fc.constantFrom('a', 'b', 'a b', 'é', '"', '\\', '', 'a-', '[', '$')
export const scalar = fc.oneof(
  fc.constantFrom(...OPERANDS, 'null'), fc.integer({ min: -3, max: 3 }).map(String),
  fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀', '\0', '%', '"'), maxLength: 3 }).map(
    (text) => JSON.stringify(text)
  ),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number))
)
export const { document } = fc.letrec<{ document: string }>((tie) => ({
  document: fc.oneof({ maxDepth: 3 }, { weight: 2, arbitrary: scalar },
    {
      weight: 2,
      arbitrary: fc.uniqueArray(fc.tuple(key, tie('document')), {
        maxLength: 3, selector: ([name]) => name
      }).map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`)
    },
    { weight: 2, arbitrary: fc.array(tie('document'), { maxLength: 3 }).map((items) => `[${items.join()}]`) })
}))
export const path = fc.array(fc.oneof(
  key.map((name) => name === 'a' ? '.a' : `.${JSON.stringify(name)}`),
  fc.constantFrom('[0]', '[0]', '[1]', '[last]', '[last]', '[last-1]')
), { maxLength: 3 }).map((steps) => `$${steps.join('')}`)
