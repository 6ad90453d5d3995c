/** The requests of docs/relations.md have the same answers on MariaDB and MySQL as on SQLite (requests.test.ts), on tables like those of five applications. */
import t, { type Test } from 'tap'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { storiesOf, tellStory } from '../support/stories.ts'

for (const engine of await engines()) {
  for (const [number, story] of storiesOf('docs/relations.md').entries()) {
    t.test(`docs/relations.md, requests to the tables of its example ${number + 1} on ${engine.name}`, async (t) => {
      const { url, drop } = await createTestDatabase(engine, (story[0]?.text as string).split(';\n').filter((statement) => statement.trim() !== ''))
      t.teardown(drop)
      await tellStory(t as Test, url, story)
    })
  }
}
