import { Type, type TSchema } from '@sinclair/typebox'
import t from 'tap'
import { findConfigErrors } from '../src/config-errors.ts'

const described: Array<[mistake: string, schema: TSchema, value: unknown]> = [
  ['a: is required', Type.Object({ a: Type.Integer() }), {}],
  ['a: is required (how many)', Type.Object({ a: Type.Integer({ description: 'how many' }) }), {}],
  ['b: is not a setting; the settings are a', Type.Object({ a: Type.Optional(Type.Integer()) }, { additionalProperties: false }), { b: 1 }],
  ['B: is not a valid name (letters)', Type.Record(Type.String({ pattern: '^[a-z]$' }), Type.Integer(), { additionalProperties: false, description: 'letters' }), { B: 1 }],
  ['configuration: must be an integer from 1 to 9', Type.Integer({ minimum: 1, maximum: 9 }), 10],
  ['configuration: must be an integer of at least 1 (size)', Type.Integer({ minimum: 1, description: 'size' }), 1.5],
  ['configuration: must be true or false', Type.Boolean(), 'yes'],
  ['configuration: must be a string', Type.String(), 1],
  ['configuration: must be three letters', Type.String({ pattern: '^[a-z]{3}$', description: 'three letters' }), 'a'],
  ['configuration: must be a string (three letters)', Type.String({ pattern: '^[a-z]{3}$', description: 'three letters' }), 1],
  ['configuration: must be a string that is not empty', Type.String({ minLength: 1 }), ''],
  ['configuration: must be a string of 0 to 2 characters', Type.String({ maxLength: 2 }), 'abc'],
  ['configuration: must be a string of 1 to 2 characters', Type.String({ minLength: 1, maxLength: 2 }), 'abc'],
  ['configuration: must be "*" or a list that is not empty', Type.Union([Type.Literal('*'), Type.Array(Type.String(), { minItems: 1 })]), 'x'],
  ['0: must be a string', Type.Union([Type.Literal('*'), Type.Array(Type.String())]), [1]],
  ['a.b: must be a string or a number or null', Type.Union([Type.Number(), Type.Object({ a: Type.Object({ b: Type.Union([Type.String(), Type.Number(), Type.Null()]) }) })]), { a: { b: true } }],
  ['configuration: must be a list', Type.Array(Type.String()), 'x'],
  ['configuration: must be a list that is not empty, without duplicates', Type.Array(Type.String(), { minItems: 1, uniqueItems: true }), ['x', 'x']],
  ['configuration: must be an object', Type.Object({}), []],
  ['configuration: must be an object that is not empty', Type.Record(Type.String(), Type.String(), { minProperties: 1 }), {}],
  ['a.0.b/~c: must be a string', Type.Object({ a: Type.Array(Type.Record(Type.String(), Type.String())) }), { a: [{ 'b/~c': 1 }] }]
]

for (const [mistake, schema, value] of described) {
  t.test(`an error is described as "${mistake}"`, async (t) => {
    t.same(findConfigErrors(schema, value), [mistake])
  })
}

t.test('each invalid setting has one line, with the name of its flag or variable', async (t) => {
  const schema = Type.Object({ a: Type.String({ minLength: 1, pattern: '^x' }), b: Type.Integer() })
  t.same(findConfigErrors(schema, { a: '' }, new Map([['a', '--a']])), ['b: is required', '--a: must be a string that is not empty'])
  t.same(findConfigErrors(schema, { a: 'x', b: 1 }), [])
})
