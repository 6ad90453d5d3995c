import { setFlagsFromString } from 'node:v8'

/** The version of V8 (Node 24) that came with the later flags; one that does not know a flag complains on standard error. */
const FIRST_TO_KNOW = 13

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
 * - V8 lets memory grow to 1.1 to 4 times of what is alive before it collects again, the less the more there is to collect, and long
 *   lists brought it to ten full collections a second after a quiet while. It is always 2.5 times.
 */
export function tuneGarbageCollection (): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
  if (Number.parseInt(process.versions.v8) < FIRST_TO_KNOW) return
  setFlagsFromString('--external-memory-accounted-in-global-limit')
  setFlagsFromString('--no-memory-reducer-favors-memory')
  setFlagsFromString('--heap-growing-percent=150')
}
