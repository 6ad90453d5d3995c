/** Names for schemas and operations that are good names in the languages that clients are generated for. */

/** The words of any text, each with a capital: `order_items` -> `OrderItems`, `2024 täglich` -> `2024Taglich`. */
export function joinWords (text: string): string {
  const words = text.normalize('NFKD').replace(/\p{M}/gu, '')
    .replace(/([a-z\d])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .match(/[A-Za-z\d]+/g) ?? []
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()).join('')
}

/** The same as a name by itself, which begins with a letter: `2024_logs` -> `Table2024Logs`. */
export function pascalCase (text: string): string {
  const name = joinWords(text)
  return /^[A-Z]/.test(name) ? name : 'Table' + name
}

export interface Names {
  /** A name that is free with each of the endings, numbered if need be; it is taken from then on. */
  take (name: string, endings?: readonly string[]): string
}

/** Names of one document. Those that differ in case alone are the same: some languages put each into a file. */
export function createNames (taken: readonly string[]): Names {
  const used = new Set(taken.map((name) => name.toLowerCase()))
  // where the last search for a number ended: hundreds of tables may have the same name here, in scripts without Latin letters
  const numbers = new Map<string, number>()
  return {
    take (name, endings = ['']) {
      for (let number = numbers.get(name) ?? 1; ; number++) {
        const candidate = number === 1 ? name : `${name}${number}`
        const all = endings.map((ending) => (candidate + ending).toLowerCase())
        if (all.some((each) => used.has(each))) continue
        for (const each of all) used.add(each)
        numbers.set(name, number)
        return candidate
      }
    }
  }
}
