import type { AnswerMemoryBudget } from './budget.ts'

/** The number of bytes that are taken from the budget at a time. */
const STEP = 1_048_576

/** The memory that one answer has taken from the budget. */
export class AnswerMemory {
  readonly #budget: AnswerMemoryBudget
  #taken = 0

  constructor (budget: AnswerMemoryBudget) {
    this.#budget = budget
  }

  /** The number of bytes taken. */
  get taken (): number {
    return this.#taken
  }

  /** Takes more, for an answer of `length` bytes that becomes no larger than `maxBytes`. Returns false if the budget is exhausted. */
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
