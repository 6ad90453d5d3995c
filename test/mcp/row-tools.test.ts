import t from 'tap'
import { createGrant } from '../../src/access/grant.ts'
import type { Database } from '../../src/databases/database.ts'
import { createRowTools } from '../../src/mcp/row-tools.ts'
import { LIMITS } from '../support/sql.ts'

t.test('a select is tried again without a page only if the page was refused', async (t) => {
  let lookups = 0
  const databases = new Map<string, Database>()
  databases.get = () => { lookups++; return undefined }
  const [[, tool] = []] = createRowTools({ databases, verbs: ['select'], limits: LIMITS, resultLimit: 1000 } as never)
  await t.rejects(async () => await tool?.run(
    { database: 'shop', table: 'orders' }, { grant: createGrant('test', { permissions: ['select'] }) } as never
  ), { code: 'DATABASE_NOT_FOUND' })
  t.equal(lookups, 1)
})
