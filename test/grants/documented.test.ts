/** The examples of docs/grants.md. */
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { startService } from '../support/service.ts'
import { codeBlocks, readDocument } from '../support/markdown.ts'

const examples = readDocument('docs/grants.md').split(/^## /m).filter((section) => section.startsWith('Example: '))
  .map((section) => ({ title: section.slice(0, section.indexOf('\n')), blocks: codeBlocks(section) }))
  .filter(({ blocks }) => blocks.some(({ kind }) => kind === 'json grant'))

t.ok(examples.length >= 4)

for (const { title, blocks } of examples) {
  t.test(title, async (t) => {
    const [sql, grant] = ['sql', 'json grant'].map((kind) => blocks.find((block) => block.kind === kind)?.text as string) as [string, string]
    const path = `${t.testdir()}/shop.db`
    const database = new DatabaseSync(path)
    database.exec(sql)
    database.close()
    const { post } = await startService(t as Test, `sqlite:${path}`, { tokens: [{ ...JSON.parse(grant), sha256: hashToken('the token') }] })
    let data: unknown
    for (const { kind, text } of blocks) {
      const [, what, table = '', status] = kind.split(' ')
      if (what === 'answer') t.same(data, JSON.parse(text))
      if (what !== 'request') continue
      const answer = await post(table, text, { token: 'the token' })
      t.equal(answer.status, Number(status), `${text} ${answer.text}`)
      data = answer.json.data
    }
  })
}
