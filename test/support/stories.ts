/**
 * The requests of a document, by the tables that they are sent to. A block `sql` creates the tables of the requests
 * that follow it, and `json grant` the token that sends them; without it, the token may do everything.
 *
 *     json request <table> <status>      json operations <status>      json response: all of it, or its `data`
 */
import type { Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { codeBlocks, readDocument, type CodeBlock } from './markdown.ts'
import { startService, type Answer } from './service.ts'

/** Blocks from one `sql` to the next one. */
export function storiesOf (document: string): CodeBlock[][] {
  const blocks = codeBlocks(readDocument(document)).filter(
    ({ kind }) => /^(sql|json (grant|request \S+ \d+|operations \d+|response))$/.test(kind)
  )
  return blocks.flatMap(({ kind }, index) => {
    if (kind !== 'sql') return []
    const end = blocks.findIndex((each, other) => other > index && each.kind === 'sql')
    return [blocks.slice(index, end === -1 ? undefined : end)]
  })
}

/**
 * Sends the requests of a story to the database, whose tables are there, and compares the answers with those that the
 * document shows.
 */
export async function tellStory (t: Test, url: string, [, ...blocks]: CodeBlock[]): Promise<void> {
  const [first] = blocks
  const grant = first?.kind === 'json grant'
    ? { tokens: [{ ...JSON.parse(first.text), sha256: hashToken('the token') }] }
    : {}
  const options = first?.kind === 'json grant' ? { token: 'the token' } : {}
  const { post, operate } = await startService(t, url, grant)
  let answer: Answer | undefined
  for (const { kind, text } of blocks) {
    const [, what, ...words] = kind.split(' ')
    if (what === 'response') {
      const shown = JSON.parse(text)
      t.strictSame(shown.success === undefined ? answer?.json.data : answer?.json, shown, text)
      continue
    }
    if (what !== 'request' && what !== 'operations') continue
    answer = what === 'request' ? await post(words[0] as string, text, options) : await operate(text, options)
    t.equal(answer.status, Number(words.at(-1)), `${text} ${answer.text}`)
  }
  t.ok(answer, 'it has requests')
}
