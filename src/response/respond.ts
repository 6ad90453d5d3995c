/** The body of a success. */
import type { WriteTerms } from '../plan/plan.ts'
import type { ResponseSink } from './response-sink.ts'
import { ENVELOPE } from './output.ts'

/** The body of the response to a write. `sink`: contains the rows that the write returns. */
export function finishWrite ({ dryRun }: WriteTerms, members: string, sink: ResponseSink | undefined): string | Buffer {
  const all = dryRun === true ? `${members},"dryRun":true` : members
  return sink === undefined ? `{"success":true,"data":{${all}}}` : sink.finishWrite(all)
}

// The answer to several operations, made from the answers to each of them.

const END = '}'

/** The data of an answer, without its envelope. */
export function dataOf (answer: string | Buffer): string | Buffer {
  return answer.slice(ENVELOPE.length, -END.length)
}

/** `answers`: the answers in the order of the operations. Returns a string if all of them are short. */
export function respondToOperations (answers: ReadonlyArray<string | Buffer>, dryRun: boolean): string | Buffer {
  const parts: Array<string | Buffer> = [`${ENVELOPE}{"results":[`]
  for (const [index, answer] of answers.entries()) {
    if (index > 0) parts.push(',')
    parts.push(dataOf(answer))
  }
  parts.push(`]${dryRun ? ',"dryRun":true' : ''}}}`)
  if (parts.every((part) => typeof part === 'string')) return parts.join('')
  return Buffer.concat(parts.map((part) => typeof part === 'string' ? Buffer.from(part) : part))
}
