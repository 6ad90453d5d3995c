/** What runner.ts and its processes (worker.ts) say to each other. */

/** A process asks for its next file. */
export const NEXT = 'next file'

/** The answer: the path of the file from the project's root, or none; and its time limit in milliseconds. */
export interface NextFile { readonly file: string | undefined, readonly timeout: number }

/** What the plan of a test says before the number of assertions that passed in addition to those printed. */
export const COUNTED = 'passed without a line: '

/** The environment variable that has each assertion printed. */
export const EVERY_LINE = 'TEST_EVERY_LINE'

/**
 * The environment variable of the nightly run: products of many cases are taken whole (support/rotation.ts), and each
 * session with SQLite starts a process of its own (support/sqlite-processes.ts).
 */
export const NIGHT = 'TEST_NIGHT'

/** The environment variable that has files of expected responses renewed. */
export const WRITE = 'TEST_WRITE'

/**
 * The environment variable of a quick run: a test of each engine runs on one of them (support/rotation.ts).
 */
export const ONE_ENGINE = 'TEST_ONE_ENGINE'
