import { setFlagsFromString } from 'node:v8'

/**
 * Flags that adapt the garbage collector of V8 to a server, in which most objects live for one request. They change only performance;
 * `node --trace-gc` and `--trace-deopt` show their effect. docs/operations.md has the measurements.
 *
 * - no-allocation-site-pretenuring: V8 allocates objects in the old generation if objects from the same place in the code have often survived
 *   a collection. In a server, each collection finds objects of running requests. Once allocated as old objects, they stay in memory until
 *   the next full collection, and keep other objects alive.
 * - external-memory-accounted-in-global-limit: V8 starts a full collection for every 64 MB of memory outside its heap, such as buffers. Large
 *   answers would cause several a second. With the flag, as in later versions of V8, external memory counts towards the limit of the heap.
 * - no-memory-reducer-favors-memory: when the program is idle, V8 collects garbage to release memory, and then also drops the hidden classes
 *   that no object has at that time, and the machine code that depends on them. The next requests are many times slower.
 * - heap-growing-percent: V8 lets the heap grow to 1.1 to 4 times its live size before the next full collection, and to less if collections
 *   take much time. Large answers after an idle period caused ten full collections a second. The flag sets the factor to 2.5.
 */
const FLAGS = [
  { flag: '--no-allocation-site-pretenuring', since: 12 },
  { flag: '--external-memory-accounted-in-global-limit', since: 13 },
  { flag: '--no-memory-reducer-favors-memory', since: 13 },
  { flag: '--heap-growing-percent=150', since: 13 }
]

/**
 * Returns the flags that a version of V8, such as `13.6.233.17-node.54`, supports: V8 prints a warning for an unknown flag. Node 22 has V8 12,
 * Node 24 has V8 13.
 */
export function garbageFlags (version: string): string[] {
  return FLAGS.filter(({ since }) => Number.parseInt(version) >= since).map(({ flag }) => flag)
}

/** Must be called before the first request. V8 reads these flags while the program runs. */
export function tuneGarbageCollection (): void {
  garbageFlags(process.versions.v8).forEach((flag) => setFlagsFromString(flag))
}
