/** The requests in the documents are sent, and their answers compared (test/support/stories.ts). */
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { codeBlocks, DOCUMENTS, readDocument } from '../support/markdown.ts'
import { storiesOf, tellStory } from '../support/stories.ts'

for (const document of DOCUMENTS) {
  for (const [number, story] of storiesOf(document).entries()) {
    t.test(`${document}, requests to the tables of its example ${number + 1}`, async (t) => {
      const path = `${t.testdir()}/shop.db`
      const database = new DatabaseSync(path)
      database.exec(story[0]?.text as string)
      database.close()
      await tellStory(t as Test, `sqlite:${path}`, story)
    })
  }
}

t.test('every request has a table before it', async (t) => {
  for (const document of DOCUMENTS) {
    const kinds = codeBlocks(readDocument(document)).map(({ kind }) => kind)
    const first = kinds.findIndex((kind) => /^json (request \S+ \d+|operations \d+)$/.test(kind))
    t.ok(first === -1 || kinds.slice(0, first).includes('sql'), document)
  }
})
