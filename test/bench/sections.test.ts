import t from 'tap'
import { replaceSection } from '../../bench/report/sections.ts'

t.test('what stands between the marks is replaced, and nothing else', async (t) => {
  const document = '# Title\n\n<!-- benchmark -->\nold\n<!-- /benchmark -->\n\nMore.\n'
  const once = replaceSection(document, 'new\n')
  t.equal(once, '# Title\n\n<!-- benchmark -->\n\nnew\n\n<!-- /benchmark -->\n\nMore.\n')
  t.equal(replaceSection(once, 'new'), once)
})

t.test('a document without marks is refused', async (t) => {
  t.throws(() => replaceSection('# Title', 'new'), { message: /there is no <!-- benchmark -->/ })
  t.throws(() => replaceSection('<!-- /benchmark --> <!-- benchmark -->', 'new'))
})
