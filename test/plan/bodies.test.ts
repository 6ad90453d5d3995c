/**
 * What bodies become on each server is what the files in bodies/ say, which
 * `npm test -- --sqlite-only --write test/plan/bodies.test.ts` renews.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { WRITE } from '../protocol.ts'
import { bodyFiles, FOLDER, readSections } from '../support/body-files.ts'

for (const file of bodyFiles()) {
  t.test(file, async (t) => {
    const sections = readSections(file)
    if (process.env[WRITE] !== undefined) {
      writeFileSync(join(FOLDER, file), sections.map(({ expected }) => expected).join(''))
    } else for (const { name, found, expected } of sections) t.equal(expected, found, name)
  })
}
