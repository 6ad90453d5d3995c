/** What runner.ts and its processes (worker.ts) say to each other. */

/** A process asks for its next file. */
export const NEXT = 'next file'

/** The answer: the path of the file from the project's root, or none; and its time limit in milliseconds. */
export interface NextFile { readonly file: string | undefined, readonly timeout: number }
