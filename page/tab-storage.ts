/** What the page remembers for this tab, until it is closed: the token and the requests that were sent. */
import type { Sent } from './service.ts'

/** `at`: milliseconds since 1970. */
export interface Entry extends Sent { readonly at: number }

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
  /** Whether the form of a select is open. */
  readonly isQueryOpen: boolean
  keepQueryOpen (isOpen: boolean): void
  entries (): readonly Entry[]
  addEntry (sent: Sent): void
  /** Calls the listener after each change of the entries. @returns what ends that */
  watch (listener: () => void): () => void
  clear (): void
}

export function openStorage (base: string): TabStorage {
  const storage = findStorage()
  const keys = ['token', 'requests', 'form'].map((name) => `row-query ${name} of ${base}`)
  const [tokenKey, entriesKey, formKey] = keys as [string, string, string]
  const entries = (): readonly Entry[] => {
    try {
      return JSON.parse(storage?.getItem(entriesKey) ?? '[]')
    } catch {
      return []
    }
  }
  const listeners = new Set<() => void>()
  return {
    get token () { return storage?.getItem(tokenKey) ?? '' },
    keepToken: (token) => storage?.setItem(tokenKey, token),
    get isQueryOpen () { return storage?.getItem(formKey) === 'open' },
    keepQueryOpen: (isOpen) => isOpen ? storage?.setItem(formKey, 'open') : storage?.removeItem(formKey),
    entries,
    addEntry (sent) {
      if (sent.body.length > MAX_LENGTH) return
      const others = entries().filter(({ path, body, accept, file }) => path !== sent.path || body !== sent.body || accept !== sent.accept || file !== sent.file)
      try {
        storage?.setItem(entriesKey, JSON.stringify([{ ...sent, at: Date.now() }, ...others].slice(0, MAX_ENTRIES)))
      } catch { // it is full
        storage?.removeItem(entriesKey)
      }
      listeners.forEach((listener) => listener())
    },
    watch (listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    clear: () => keys.forEach((key) => storage?.removeItem(key))
  }
}
