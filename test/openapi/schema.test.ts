import t from 'tap'
import { orNull, plainText } from '../../src/openapi/schema.ts'

const cases: Array<[text: string, written: string]> = [
  ['the price, in EUR; a < b, c <= d [deprecated] (see below)', 'the price, in EUR; a < b, c <= d [deprecated] (see below)'],
  ['<img src=x onerror=alert(1)>', '&lt;img src=x onerror=alert(1)>'],
  ['</script><script>', '&lt;/script>&lt;script>'],
  ['<!-- <?php <javascript:alert(1)>', '&lt;!-- &lt;?php &lt;javascript:alert(1)>'],
  ['[x](javascript:alert(1)) ![](http://example.com/x.png)', '[x]\\(javascript:alert(1)) ![]\\(http://example.com/x.png)'],
  ['[x][y]\n[y]: javascript:alert(1)', '[x]\\[y]\n[y]\\: javascript:alert(1)']
]

for (const [text, written] of cases) t.test(`${JSON.stringify(text)} is escaped for Markdown`, async (t) => { t.equal(plainText(text), written) })

t.test('null is allowed once, however often it is allowed', async (t) => {
  for (const schema of [{ type: 'string' }, { type: 'string', enum: ['a'] }]) t.same(orNull(orNull(schema))['type'], ['string', 'null'])
})
