/** The results of the operations of one run: the parts of the answer, and the values for references. */
import { at, invalidValue, overloaded, pointer, resultTooLarge } from '../errors.ts'
import { findBySteps } from '../json/pointer.ts'
import type { ResultReference } from '../plan/result-reference.ts'
import { parseExactJson } from '../json/exact-json.ts'
import type { AnswerBudget, AnswerMemoryBudget } from '../response/budget.ts'
import { dataOf } from '../response/respond.ts'

export class Results {
  readonly #maxBytes: number
  readonly #budget: AnswerBudget
  readonly #answers: Array<string | Buffer> = []
  /** Parsed results that references lead to. */
  readonly #parsed = new Map<number, unknown>()
  #bytes = 0

  /** `maxBytes`: bytes that the whole answer may have; the budget may allow less. */
  constructor (maxBytes: number, budget: AnswerBudget) {
    this.#maxBytes = Math.min(maxBytes, budget.largest)
    this.#budget = budget
  }

  /** The bytes that are left. */
  get room (): number {
    return this.#maxBytes - this.#bytes
  }

  /** The memory for the next answer. */
  get budget (): AnswerMemoryBudget {
    return this.#budget.after(this.#bytes)
  }

  get answers (): ReadonlyArray<string | Buffer> {
    return this.#answers
  }

  /** Adds the answer of the next operation. @throws RESULT_TOO_LARGE, OVERLOADED */
  add (answer: string | Buffer): void {
    const size = Buffer.byteLength(answer)
    if (size > this.room) throw resultTooLarge(`the answer would be larger than ${this.#maxBytes} bytes; request fewer rows, or name fewer "columns"`)
    if (!this.#budget.take(size, this.#bytes + size)) throw overloaded()
    this.#bytes += size
    this.#answers.push(answer)
  }

  /** Frees the memory. */
  drop (): void {
    this.#budget.give(this.#bytes)
    this.#bytes = 0
  }

  /** Sets the value of a reference. @throws INVALID_VALUE if it leads to nothing */
  resolve (reference: ResultReference): void {
    const value = findBySteps(this.#resultOf(reference.operation), reference.steps)
    if (value === undefined) throw nothingAt(reference)
    reference.value = value
  }

  #resultOf (index: number): unknown {
    if (!this.#parsed.has(index)) this.#parsed.set(index, parseExactJson(dataOf(this.#answers[index] as string | Buffer).toString()))
    return this.#parsed.get(index)
  }
}

function nothingAt ({ operation, steps, path }: ResultReference) {
  const column = path.findLast((step) => typeof step === 'string' && !step.startsWith('$')) as string
  const place = steps.reduce((place, step) => place + pointer(step), pointer(operation))
  return at(path, invalidValue(column, `"${place}" leads to nothing`))
}
