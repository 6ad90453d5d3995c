/** The body of an import: a stream of the bytes that a source of rows gives. */
import { writeJson, type Upload } from './send.ts'

/** Texts and rows are sent together up to so many characters, or for so many milliseconds. */
const SIZE = 65_536
const DELAY = 1000

type Iteration = AsyncIterator<unknown> | Iterator<unknown>

export class SourceUpload implements Upload {
  readonly #source: AsyncIterable<unknown> | Iterable<unknown>
  readonly type: string
  readonly query: string
  #parts: Iteration | undefined
  /** What the source has thrown. */
  failure: { readonly error: unknown } | undefined

  constructor (source: AsyncIterable<unknown> | Iterable<unknown>, type: string, options: object) {
    this.#source = source
    this.type = type
    const query = Object.entries(options)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    this.query = query.length === 0 ? '' : `?${query.join('&')}`
  }

  stream (): ReadableStream<Uint8Array> {
    const source = this.#source as AsyncIterable<unknown> & Iterable<unknown>
    const parts: Iteration = this.#parts = source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]()
    const encoder = new TextEncoder()
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        try {
          // a source that does not wait would keep the answer from being read
          await new Promise((resolve) => setTimeout(resolve))
          let text = ''
          const end = performance.now() + DELAY
          let part
          do {
            part = await parts.next()
            if (part.done === true || part.value instanceof Uint8Array) break
            text += typeof part.value === 'string' ? part.value : `${writeJson(part.value)}\n`
          } while (text === '' || (text.length < SIZE && performance.now() < end))
          if (text !== '') controller.enqueue(encoder.encode(text))
          if (part.done === true) controller.close()
          else if (part.value instanceof Uint8Array) controller.enqueue(part.value)
        } catch (error) {
          this.failure = { error }
          throw error
        }
      },
      cancel: () => this.leave()
    })
  }

  /** Leaves the source, which ends the body. */
  async leave (): Promise<void> {
    await this.#parts?.return?.()
  }
}
