/** What the page keeps in this browser, beyond the tab: never a token, nor a row. */

const PREFIX = 'row-query '

export function readKept (name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name) ?? 'null') ?? undefined
  } catch { // the browser refuses it, or it is another program's
    return undefined
  }
}

/** Undefined removes it. */
export function writeKept (name: string, value: unknown): void {
  try {
    value === undefined ? localStorage.removeItem(PREFIX + name) : localStorage.setItem(PREFIX + name, JSON.stringify(value))
  } catch {} // it is full, or refused
}

/** Removes everything whose name begins so. */
export function forgetKept (beginning: string): void {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX + beginning)) localStorage.removeItem(key)
  } catch {}
}
