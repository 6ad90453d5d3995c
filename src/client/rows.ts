/** Reads the rows of a stream. */
import { connectionFailed } from './errors.ts'
import { parseJson } from './json.ts'

interface Reading {
  readonly signal: AbortSignal | undefined
  /** Called at the end. */
  readonly forget: () => void
}

/** @throws RowQueryError NO_ANSWER where the connection ends before the rows; the reason of the signal */
export async function * readRows ({ body }: Response, toLarge: (digits: string) => unknown, { signal, forget }: Reading): AsyncGenerator<unknown> {
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
    // a line without its end; not its text, which is a part of a row
    if (rest !== '') throw new Error('The last line has no end')
  } catch (cause) {
    signal?.throwIfAborted()
    throw connectionFailed(cause)
  } finally {
    forget()
    reader.cancel().catch(() => {})
  }
}
