/** The body of a success. */
import type { WriteOptions } from '../plan/plan.ts'
import type { ResponseSink } from './response-sink.ts'
import { ENVELOPE } from './output.ts'

/** The body of the response to a write. `sink`: contains the rows that the write returns. */
export function finishWrite (
  { dryRun }: WriteOptions,
  members: string,
  sink: ResponseSink | undefined
): string | Buffer {
  const all = dryRun === true ? `${members},"dryRun":true` : members
  return sink === undefined ? `{"success":true,"data":{${all}}}` : sink.finishWrite(all)
}

// The response to several operations, made from the responses to each of them.

const END = '}'

/** The data of a response, without its envelope. */
export function dataOf (response: string | Buffer): string | Buffer {
  return response.slice(ENVELOPE.length, -END.length)
}

/** `responses`: those in the order of the operations. Returns a string if all of them are short. */
export function respondToOperations (responses: ReadonlyArray<string | Buffer>, dryRun: boolean): string | Buffer {
  const parts: Array<string | Buffer> = [`${ENVELOPE}{"results":[`]
  for (const [index, response] of responses.entries()) {
    if (index > 0) parts.push(',')
    parts.push(dataOf(response))
  }
  parts.push(`]${dryRun ? ',"dryRun":true' : ''}}}`)
  if (parts.every((part) => typeof part === 'string')) return parts.join('')
  return Buffer.concat(parts.map((part) => typeof part === 'string' ? Buffer.from(part) : part))
}
