import type { AnswerBudget } from './budget.ts'

/** Bytes of the budget that are taken at a time. */
const STEP = 1_048_576

/** What one answer has taken of the budget. */
export class AnswerMemory {
  readonly #budget: AnswerBudget
  #taken = 0

  constructor (budget: AnswerBudget) {
    this.#budget = budget
  }

  /** Bytes that it has taken. */
  get taken (): number {
    return this.#taken
  }

  /** Takes more, for an answer of `length` bytes that becomes no larger than `maxBytes`. Returns false where the budget has no more. */
  extend (length: number, maxBytes: number): boolean {
    const more = Math.max(Math.min(STEP, maxBytes - this.#taken), length - this.#taken)
    if (!this.#budget.take(more, this.#taken + more)) return false
    this.#taken += more
    return true
  }

  /** Gives everything back. */
  release (): void {
    this.#budget.give(this.#taken)
    this.#taken = 0
  }
}
