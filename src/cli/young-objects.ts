import { setFlagsFromString } from 'node:v8'

/**
 * V8 counts which places in the code make objects that outlive a collection, and makes those among the old ones from then on. In a
 * server each request outlives some, whatever its place; once some of its objects are made old, they keep the others alive, and
 * memory and its collection grow until the next full one (`node --trace-gc` shows it). So: no guesses.
 */
export function keepRequestsYoung (): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
