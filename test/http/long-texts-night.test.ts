// night: hundreds of values of megabytes
/** No value of megabytes makes a check of it fail: it is stored, or refused for what it is. */
import t from 'tap'
import { onEachEngine, sharedOnEachEngine, TOKEN, type EngineName } from '../support/service.ts'
import { groupsOn, type TypedColumn } from '../support/typed-columns.ts'

/** Base64 of 3.3 MB, digits that no check reads one by one, and characters of two units. */
const TEXTS = ['A'.repeat(4_400_000), '0'.repeat(4_400_000), '😀'.repeat(2_200_000)]

/** One column of each type, without those that differ only in their length or character set. */
function columnsOn (engine: EngineName): Array<TypedColumn & { readonly name: string }> {
  const byType = Map.groupBy(
    groupsOn(engine).flat(), ({ declaration }) => declaration.replace(/\(.*|unsigned| srid.*|collate.*/, '').trim()
  )
  return Array.from(byType.values(), ([column], index) => ({ ...column as TypedColumn, name: `c${index}` }))
}

const test = sharedOnEachEngine(t, {
  options: { bodyLimit: 20_000_000, limits: { bodyMemory: 1_000_000_000, importRow: 20_000_000 } },
  schema: (engine) => [
    `create table typed (id integer primary key${engine === 'sqlite' ? '' : ' auto_increment'},
      ${columnsOn(engine).map(({ name, declaration }) => `${name} ${declaration}`).join(', ')})`
  ]
})

await test('a text of megabytes is stored or refused, over HTTP and by an ' +
  'import, for each type', async (t, { engine, post, server }) => {
  const wrong: string[] = []
  for (const { name, declaration } of columnsOn(engine)) {
    for (const text of TEXTS) {
      const sent = await post('typed', `{"verb":"insert","data":{"${name}":"${text}"}}`)
      const imported = await server.app.inject({
        method: 'POST',
        url: '/api/shop/typed',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-ndjson' },
        payload: `{"${name}":"${text}"}\n`
      })
      for (const [way, code] of [['HTTP', sent.json.error?.code], ['an import', imported.json().error?.code]]) {
        if (![undefined, 'INVALID_VALUE'].includes(code)) {
          wrong.push(`${declaration}, ${text.slice(0, 2)} by ${way}: ${code}`)
        }
      }
      if ((sent.status === 200) !== (imported.statusCode === 200)) {
        wrong.push(`${declaration}, ${text.slice(0, 2)}: ${sent.status} and ${imported.statusCode}`)
      }
    }
  }
  t.same(wrong, [])
})

await onEachEngine(t, 'bytes of megabytes can be in a unique key of rows that are sorted', {
  only: ['sqlite'],
  options: { bodyLimit: 40_000_000, limits: { bodyMemory: 2_000_000_000 } },
  schema: () => ['create table keyed (k blob primary key, n int)']
}, async (t, { post }) => {
  const [zeros, ending] = [Buffer.alloc(7_000_000), Buffer.alloc(100_000)]
  ending[ending.length - 1] = 1
  const data = [zeros, ending].map((bytes, n) => ({ k: bytes.toString('base64'), n }))
  t.match(await post('keyed', { verb: 'insert', data, onConflict: { key: ['k'] } }), {
    status: 200, json: { data: { inserted: 2 } }
  })
})
