import { setFlagsFromString } from 'node:v8'

/**
 * How V8 is to collect garbage in a server, where much is short-lived and some of it always in use. These are heuristics that V8 may
 * change at any time, and none changes what a program does; `node --trace-gc` and `--trace-deopt` show what they do.
 *
 * - V8 counts which places in the code make objects that outlive a collection, and makes those among the old ones from then on. In
 *   a server each collection finds some requests on their way; objects that are made old for that keep others alive when they are
 *   dead, and memory grows until the next full collection.
 * - Memory outside of V8's heap, such as buffers, would lead to a full collection for every 64 MB: with long lists several times a
 *   second. It is weighed together with the heap instead, as later versions of V8 do.
 * - In a quiet while V8 collects once more to give memory back, and then also lets go of the shapes that no object has just now. With
 *   no request under way that is every shape of a request, and the machine code that was made for them goes too: the next requests
 *   cost many times as much until it is made again. Such a collection is to be like any other.
 * - V8 lets memory grow to 1.1 to 4 times of what is alive before it collects again, the less the more time collecting takes
 *   beside the program, and long lists brought it to ten full collections a second after a quiet while. It is always 2.5 times.
 */
const FLAGS = [
  { flag: '--no-allocation-site-pretenuring', since: 12 },
  { flag: '--external-memory-accounted-in-global-limit', since: 13 },
  { flag: '--no-memory-reducer-favors-memory', since: 13 },
  { flag: '--heap-growing-percent=150', since: 13 }
]

/**
 * What a V8 of that version, such as `13.6.233.17-node.54`, is told; it would complain on standard error of a flag that it does not
 * know. 12 comes with Node 22, 13 with Node 24.
 */
export function garbageFlags (version: string): string[] {
  return FLAGS.filter(({ since }) => Number.parseInt(version) >= since).map(({ flag }) => flag)
}

/** Before the first request; flags that are read while the program runs. */
export function tuneGarbageCollection (): void {
  garbageFlags(process.versions.v8).forEach((flag) => setFlagsFromString(flag))
}
