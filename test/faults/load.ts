/** Requests without a break, and the books of what was answered: to be compared with what the database holds. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Running } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'

export interface Load {
  /** What each inserted row was answered: `200`, `503 DEADLOCK` … */
  readonly answers: ReadonlyMap<string, string>
  /** Answers by what they said. */
  counts (): Record<string, number>
  /** The longest time that an answer took, in milliseconds. */
  readonly slowest: number
  /** Rows that were written. */
  readonly written: number
  /**
   * The longest time in which nobody's row was written, in milliseconds, since this was asked last; one that goes on
   * counts.
   */
  longestPause (): number
  stop (): Promise<void>
}

export const ROWS = 'create table rows_written (id bigint not null auto_increment primary key, name varchar(40) not ' +
  'null, key (name))'

export const insert = (name: string) => ({ verb: 'insert', data: { name } })

/**
 * Inserts rows with names of their own by several clients at once; each goes on when it has its answer, and after a
 * refusal waits a moment. It ends with the test at the latest.
 */
export function startLoad (t: Test, { post }: Running, path: string, clients = 16): Load {
  const answers = new Map<string, string>()
  const state = { running: true, slowest: 0, written: 0, last: Date.now(), pause: 0 }
  const written = (now: number): void => {
    state.written++
    state.pause = Math.max(state.pause, now - state.last)
    state.last = now
  }
  const client = async (number: number): Promise<void> => {
    for (let row = 0; state.running; row++) {
      const name = `${number}-${row}`
      answers.set(name, 'none')
      const begin = Date.now()
      const { status, json } = await post(path, insert(name), TOKEN)
      answers.set(name, status === 200 ? '200' : `${status} ${json.error.code}`)
      state.slowest = Math.max(state.slowest, Date.now() - begin)
      if (status === 200) written(Date.now())
      else await sleep(20)
    }
  }
  const clientsDone = Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  // until it is stopped, which is where it then fails
  clientsDone.catch(() => {})
  const stop = async (): Promise<void> => {
    state.running = false
    await clientsDone
  }
  t.teardown(stop)
  return {
    answers,
    counts: () => Object.fromEntries(
      Map.groupBy(answers.values(), (answer) => answer).entries().map(([answer, all]) => [answer, all.length])
    ),
    get slowest () { return state.slowest },
    get written () { return state.written },
    longestPause () {
      const pause = Math.max(state.pause, Date.now() - state.last)
      state.pause = 0
      return pause
    },
    stop
  }
}

/** Rows that were answered 200 and are not there. */
export function lost ({ answers }: Load, names: string[]): string[] {
  const there = new Set(names)
  return [...answers].filter(([name, answer]) => answer === '200' && !there.has(name)).map(([name]) => name)
}

/** What a load may be answered, whatever happens to the database (docs/errors.md). */
const CONTRACT =
  /^(200|502 OUTCOME_UNKNOWN|503 (DATABASE_UNAVAILABLE|OVERLOADED|DEADLOCK|LOCK_TIMEOUT)|504 QUERY_TIMEOUT)$/
/** What was answered so is there, or may be. */
const MAY_BE_THERE = new Set(['200', '502 OUTCOME_UNKNOWN'])

/**
 * Holds the database to the books: what was answered 200 is there once, what may have happened at most once, and
 * nothing else at all.
 */
export function reconcile (t: Test, load: Load, names: string[]): void {
  const { answers, counts } = load
  const times = new Map<string, number>()
  for (const name of names) times.set(name, (times.get(name) ?? 0) + 1)
  t.comment(JSON.stringify(counts()))
  t.same(lost(load, names), [], 'nothing that was answered is lost')
  t.same([...times].filter(([, count]) => count > 1), [], 'nothing is there twice')
  t.same(
    names.filter((name) => !MAY_BE_THERE.has(answers.get(name) ?? '')), [],
    'nothing is there that was refused, or not asked for'
  )
  t.same(Object.keys(counts()).filter((answer) => !CONTRACT.test(answer)), [], 'every answer is one of the contract')
  t.ok(load.written > 0, 'rows were written')
}
