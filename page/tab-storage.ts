/** What the page remembers for this tab, until it is closed: the token and the requests that were sent. */

export interface Entry {
  readonly path: string
  readonly name: string
  readonly body: string
  readonly status: number
  readonly at: number
}

const MAX_ENTRIES = 50
const MAX_LENGTH = 20_000

/** Storage of this tab, unless the browser refuses it. */
function findStorage (): Storage | undefined {
  try {
    return globalThis.sessionStorage
  } catch {
    return undefined
  }
}

export interface TabStorage {
  readonly token: string
  keepToken (token: string): void
  entries (): readonly Entry[]
  addEntry (entry: Entry): void
  clear (): void
}

export function openStorage (base: string): TabStorage {
  const storage = findStorage()
  const [tokenKey, entriesKey] = [`row-query token of ${base}`, `row-query requests of ${base}`]
  const entries = (): readonly Entry[] => {
    try {
      return JSON.parse(storage?.getItem(entriesKey) ?? '[]')
    } catch {
      return []
    }
  }
  return {
    get token () { return storage?.getItem(tokenKey) ?? '' },
    keepToken: (token) => storage?.setItem(tokenKey, token),
    entries,
    addEntry (entry) {
      if (entry.body.length > MAX_LENGTH) return
      const others = entries().filter(({ path, body }) => path !== entry.path || body !== entry.body)
      try {
        storage?.setItem(entriesKey, JSON.stringify([entry, ...others].slice(0, MAX_ENTRIES)))
      } catch { // it is full
        storage?.removeItem(entriesKey)
      }
    },
    clear: () => [tokenKey, entriesKey].forEach((key) => storage?.removeItem(key))
  }
}
