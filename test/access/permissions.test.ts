import t from 'tap'
import type { Body } from '../../schemas/body.ts'
import { FIELDS, type Field } from '../../schemas/fields.ts'
import { VERBS, type Verb } from '../../schemas/grants.ts'
import { requirePermissions } from '../../src/access/grant.ts'

const DENIED = { code: 'PERMISSION_DENIED' }
const require = (body: object, ...permissions: Verb[]) => () => {
  requirePermissions(new Set(permissions), body as Body)
}

t.test('a field that does more than its verb needs a permission, unless it is false', async (t) => {
  for (const [field, { needs = {} }] of Object.entries<Field>(FIELDS)) {
    for (const [verb, needed] of Object.entries(needs) as Array<[Verb, Verb]>) {
      t.throws(require({ verb, [field]: true }, verb), { ...DENIED, message: new RegExp(`"${field}".*${needed}`) })
      t.doesNotThrow(require({ verb, [field]: true }, verb, needed), `${field} of ${verb}`)
      t.doesNotThrow(require({ verb, [field]: false }, verb), `${field} of ${verb} that asks for nothing`)
      t.throws(require({ verb }, ...VERBS.filter((each) => each !== verb)), DENIED)
    }
  }
})

t.test('onConflict needs the permission update only if it may change rows', async (t) => {
  const upsert = (data: object, set?: object) => require(
    { verb: 'insert', data, onConflict: { key: ['a', 'b'], ...set !== undefined && { set } } }, 'insert'
  )
  for (const [data, set] of [
    [{ a: 1, b: 2 }], [[{ a: 1, b: 2 }, { b: 2 }]], [{ a: 1, c: 3 }, []]
  ] as Array<[object, object?]>) t.doesNotThrow(upsert(data, set), JSON.stringify([data, set]))
  for (const [data, set] of [
    [{ a: 1, b: 2, c: 3 }], [[{ a: 1, b: 2 }, { a: 1, c: 2 }]], [{ a: 1 }, ['a']], [{ a: 1 }, { c: 1 }]
  ] as Array<[object, object?]>) t.throws(upsert(data, set), DENIED, JSON.stringify([data, set]))
})
