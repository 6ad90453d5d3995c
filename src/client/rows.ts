/** Reads the rows of a stream. */
import { connectionFailed } from './errors.ts'
import { parseJson } from './json.ts'

/** @throws RowQueryError NO_ANSWER if the connection ends before the rows do, or if they are not rows of the service; the reason of the signal */
export async function * readRows ({ body }: Response, toLarge: (digits: string) => unknown, signal: AbortSignal | undefined): AsyncGenerator<unknown> {
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const lines = (rest + decoder.decode(value, { stream: !done })).split('\n')
      rest = lines.pop() as string
      for (const line of lines) {
        signal?.throwIfAborted()
        yield parseJson(line, toLarge)
      }
      if (done) break
    }
    // an incomplete line
    if (rest !== '') throw rest
  } catch (cause) {
    signal?.throwIfAborted()
    throw connectionFailed(cause)
  } finally {
    reader.cancel().catch(() => {})
  }
}
