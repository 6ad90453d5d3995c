/** JSON as a tree that can be invalid: duplicate keys, `__proto__`, numbers of any length, unknown literals. */

/** A leaf is text that is written unchanged. */
export type Json = string | List | Pairs
export interface List { readonly list: readonly Json[] }
export interface Pairs { readonly pairs: ReadonlyArray<readonly [key: string, value: Json]> }

export const list = (...items: Json[]): List => ({ list: items })
export const pairs = (...entries: Array<readonly [key: string, value: Json]>): Pairs => ({ pairs: entries })
export const text = (value: unknown): string => JSON.stringify(value)

export function write (json: Json): string {
  if (typeof json === 'string') return json
  if ('list' in json) return `[${json.list.map(write).join()}]`
  return `{${json.pairs.map(([key, value]) => `${JSON.stringify(key)}:${write(value)}`).join()}}`
}

/** Parses JSON with numbers as text, independently of the service's parser. @throws SyntaxError */
export function read (json: string): any {
  return JSON.parse(json, (_key: string, value: unknown, { source }: { source?: string }) =>
    typeof value === 'number' ? JSON.rawJSON(source as string) : value)
}

/** A position in a tree. `put` returns the tree with other values there, or without the position if there are none. */
export interface Place {
  readonly value: Json, readonly key: string | undefined, put (...values: Json[]): Json, rename (key: string): Json
}

export function placesOf (json: Json): Place[] {
  const root: Place = { value: json, key: undefined, put: (value) => value ?? '', rename: () => json }
  return [root, ...inner(json, (value) => value)]
}

function inner (json: Json, rebuild: (value: Json) => Json): Place[] {
  if (typeof json === 'string') return []
  if ('list' in json) {
    return json.list.flatMap((value, index) => {
      const put = (...values: Json[]): Json => rebuild({ list: json.list.toSpliced(index, 1, ...values) })
      return [{ value, key: undefined, put, rename: () => put(value) }, ...inner(value, put)]
    })
  }
  return json.pairs.flatMap(([key, value], index) => {
    const place = (entries: ReadonlyArray<readonly [string, Json]>): Json => rebuild({
      pairs: json.pairs.toSpliced(index, 1, ...entries)
    })
    const put = (...values: Json[]): Json => place(values.map((each) => [key, each]))
    return [{ value, key, put, rename: (name: string) => place([[name, value]]) }, ...inner(value, put)]
  })
}
