/**
 * The requests in the documents are sent, and their answers compared. A block `sql` creates the tables of the requests that follow it, and
 * `json grant` the token that sends them; without it, the token may do everything.
 *
 *     json request <table> <status>      json operations <status>      json answer: all of it, or its `data`
 */
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { codeBlocks, DOCUMENTS, readDocument, type CodeBlock } from '../support/markdown.ts'
import { startService, type Answer } from '../support/service.ts'

/** Blocks from one `sql` to the next one. */
function storiesOf (document: string): CodeBlock[][] {
  const blocks = codeBlocks(readDocument(document)).filter(({ kind }) => /^(sql|json (grant|request \S+ \d+|operations \d+|answer))$/.test(kind))
  return blocks.flatMap(({ kind }, index) => {
    if (kind !== 'sql') return []
    const end = blocks.findIndex((each, other) => other > index && each.kind === 'sql')
    return [blocks.slice(index, end === -1 ? undefined : end)]
  })
}

async function start (t: Test, [sql, second]: CodeBlock[]) {
  const path = `${t.testdir()}/shop.db`
  const database = new DatabaseSync(path)
  database.exec(sql?.text as string)
  database.close()
  const grant = second?.kind === 'json grant' ? { tokens: [{ ...JSON.parse(second.text), sha256: hashToken('the token') }] } : {}
  const options = second?.kind === 'json grant' ? { token: 'the token' } : {}
  const { post, operate } = await startService(t, `sqlite:${path}`, grant)
  return { post: (table: string, text: string) => post(table, text, options), operate: (text: string) => operate(text, options) }
}

for (const document of DOCUMENTS) {
  for (const [number, blocks] of storiesOf(document).entries()) {
    t.test(`${document}, requests to the tables of its example ${number + 1}`, async (t) => {
      const { post, operate } = await start(t as Test, blocks)
      let answer: Answer | undefined
      for (const { kind, text } of blocks) {
        const [, what, ...words] = kind.split(' ')
        if (what === 'answer') {
          const shown = JSON.parse(text)
          t.strictSame(shown.success === undefined ? answer?.json.data : answer?.json, shown, text)
          continue
        }
        if (what !== 'request' && what !== 'operations') continue
        answer = what === 'request' ? await post(words[0] as string, text) : await operate(text)
        t.equal(answer.status, Number(words.at(-1)), `${text} ${answer.text}`)
      }
      t.ok(answer, 'it has requests')
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
